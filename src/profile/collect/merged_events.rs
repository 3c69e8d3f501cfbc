//! Events that are one to the user: what they count differs in the PMU or the mode only, so that their values can be added up.
//!
//! On hybrid CPUs, perf records the default event once for each kind of cores, as `cpu_core/cycles/P` and `cpu_atom/cycles/P`.

use crate::profile::Row;
use crate::profile::event::ProfileEvent;
use crate::profile::weight::sample_weight::{derived, recorded};
use perf_data::abi::attr::{Attr, AttrType};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::printable;
use perf_data::stream::event_name::{NameParts, event_name};
use perf_data::stream::events::{Event, EventIndex};
use std::collections::BTreeSet;

/// Which events are added up.
#[derive(Debug, Default)]
pub(crate) struct MergedEvents {
    groups: Vec<EventGroup>,
    /// By event: the first of its group, or itself.
    representatives: Vec<EventIndex>,
}

/// Events that count the same in disjoint conditions.
#[derive(Debug)]
struct EventGroup {
    /// The common name.
    name: String,
    members: Vec<EventIndex>,
}

/// What an event counts, and when.
struct CountedEvent<'a> {
    index: EventIndex,
    parts: NameParts<'a>,
    attr: &'a Attr,
}

impl MergedEvents {
    /// Finds the events to add up among those with samples. Events that may count the same occurrence, such as `cycles` and
    /// `cycles:u`, are separate, and so are the columns of an imported profile.
    pub(crate) fn new(events: &[Event], profile_events: &[ProfileEvent], has_samples: &BTreeSet<EventIndex>) -> Self {
        let names: Vec<_> = events.iter().map(event_name).collect();
        let mut sets: Vec<(&ProfileEvent, Vec<CountedEvent<'_>>)> = Vec::new();
        for &index in has_samples {
            let at = index as usize;
            let (Some(Event { attr, .. }), Some(event)) = (events.get(at), profile_events.get(at)) else { continue };
            // A column of an imported profile.
            if event.sample_types.is_some() {
                continue;
            }
            let parts = NameParts::parse(&names[at], attr.kind == AttrType::TRACEPOINT);
            let counted = CountedEvent { index, parts, attr };
            let same = sets
                .iter_mut()
                .find(|(other, members)| other.unit == event.unit && members[0].parts.event == counted.parts.event);
            match same {
                Some((_, members)) => members.push(counted),
                None => sets.push((event, vec![counted])),
            }
        }
        let mut merged = Self { groups: Vec::new(), representatives: (0..events.len() as EventIndex).collect() };
        for (_, members) in sets {
            let others = |at: usize| &members[at + 1..];
            let are_disjoint =
                members.iter().enumerate().all(|(at, one)| others(at).iter().all(|other| one.is_disjoint(other)));
            if members.len() > 1 && are_disjoint {
                members.iter().for_each(|member| merged.representatives[member.index as usize] = members[0].index);
                let name = members[0].parts.event.clone();
                merged.groups.push(EventGroup { name, members: members.iter().map(|member| member.index).collect() });
            }
        }
        merged
    }

    /// Adds up no events.
    pub(crate) fn none(events: &[ProfileEvent]) -> Self {
        Self { groups: Vec::new(), representatives: (0..events.len() as EventIndex).collect() }
    }

    /// Whether no events are added up.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The event that stands for an event.
    pub(crate) fn representative(&self, event: EventIndex) -> EventIndex {
        match recorded(event) {
            Some(event) => derived(self.representative(event)),
            None => self.representatives.get(event as usize).copied().unwrap_or(event),
        }
    }

    /// Messages about what is added up, with the recorded names of the events.
    pub(crate) fn messages(&self, events: &[Event]) -> impl Iterator<Item = String> {
        /// Number of names in a message, in about two lines of a terminal.
        const MAX_NAMES: usize = 8;
        self.groups.iter().map(|EventGroup { name, members }| {
            let names = members.iter().map(|&member| event_name(&events[member as usize]));
            let names = printable::list(names, MAX_NAMES, "events");
            format!(
                "{}: adds up the samples of {names}; choose one with --event, or write a file for each with --split-by event",
                printable::name(name)
            )
        })
    }

    /// Gives the first event of each group the common name, and the period if all have the same.
    pub(crate) fn rename(&self, events: &mut [ProfileEvent]) {
        for EventGroup { name, members } in &self.groups {
            let period = events[members[0] as usize].period;
            let is_same = members.iter().all(|&member| events[member as usize].period == period);
            let first = &mut events[members[0] as usize];
            first.name.clone_from(name);
            first.period = period.filter(|_| is_same);
        }
    }

    /// The events that stand for these.
    pub(crate) fn merged(&self, events: &BTreeSet<EventIndex>) -> BTreeSet<EventIndex> {
        events.iter().map(|&event| self.representative(event)).collect()
    }

    /// Replaces the events of rows by those that stand for them.
    pub(crate) fn replace(&self, rows: &mut [Row]) {
        rows.iter_mut().for_each(|row| row.event = self.representative(row.event));
    }
}

impl CountedEvent<'_> {
    /// Whether no occurrence is counted by both.
    fn is_disjoint(&self, other: &Self) -> bool {
        let is_other_pmu = match (self.parts.pmu, other.parts.pmu) {
            (Some(one), Some(other)) => one != other,
            // Other types say nothing: imported events have that of an event with another name.
            _ => generic_pmu(self.attr).zip(generic_pmu(other.attr)).is_some_and(|(one, other)| one != other),
        };
        let by_name = [self, other].map(|counted| named_modes(counted.parts.modifiers));
        let by_attr = [self, other].map(|counted| modes(counted.attr));
        is_other_pmu || [by_name, by_attr].iter().any(|[one, other]| one & other == 0)
    }
}

/// The number of a generic event's PMU, which is in the upper half of `config`; without it, that of the CPU, as of raw events.
fn generic_pmu(attr: &Attr) -> Option<u64> {
    match (attr.kind, attr.config >> 32) {
        (AttrType::HARDWARE | AttrType::HW_CACHE, 0) => Some(AttrType::RAW.0.into()),
        (AttrType::HARDWARE | AttrType::HW_CACHE, extended) => Some(extended),
        _ => None,
    }
}

/// A bit for each combination of mode and machine in which an event counts.
fn modes(attr: &Attr) -> u8 {
    let excludes = |flag| attr.flags.contains(flag);
    combined(
        [AttrFlags::EXCLUDE_USER, AttrFlags::EXCLUDE_KERNEL, AttrFlags::EXCLUDE_HV].map(|flag| !excludes(flag)),
        [AttrFlags::EXCLUDE_HOST, AttrFlags::EXCLUDE_GUEST].map(|flag| !excludes(flag)),
    )
}

/// As [`modes`], by the modifiers of a name, without which an event counts in all modes.
fn named_modes(modifiers: &str) -> u8 {
    let counts_in =
        |letter: char, all: &str| !modifiers.contains(|mode| all.contains(mode)) || modifiers.contains(letter);
    combined(['u', 'k', 'h'].map(|letter| counts_in(letter, "ukh")), ['H', 'G'].map(|letter| counts_in(letter, "HG")))
}

/// A bit for each pair of a mode (user, kernel, hypervisor) and a machine (host, guest).
fn combined(modes: [bool; 3], machines: [bool; 2]) -> u8 {
    let all = machines.into_iter().flat_map(|machine| modes.map(|mode| machine && mode));
    all.enumerate().map(|(bit, counts)| u8::from(counts) << bit).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::stream::events::Events;

    /// The groups of events that are described by name, type, config and flags, all with samples.
    fn groups(described: &[(&str, AttrType, u64, AttrFlags)]) -> Vec<(String, Vec<EventIndex>)> {
        let mut events = Events::default();
        for (index, &(name, kind, config, flags)) in described.iter().enumerate() {
            let mut attr = Attr::read(&[0; 64], Endian::Little).unwrap();
            (attr.kind, attr.config, attr.flags) = (kind, config, flags);
            events.add(attr, vec![index as u64 + 1]);
            events.name_by_index(index, name);
        }
        let profile_events: Vec<ProfileEvent> = events.list().iter().map(Into::into).collect();
        let has_samples = (0..described.len() as EventIndex).collect();
        let merged = MergedEvents::new(events.list(), &profile_events, &has_samples);
        merged.groups.into_iter().map(|group| (group.name, group.members)).collect()
    }

    #[test]
    fn events_that_differ_in_pmu_or_mode_are_added_up() {
        let (hardware, none) = (AttrType::HARDWARE, AttrFlags::empty());
        let user = AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV;
        let kernel = AttrFlags::EXCLUDE_USER | AttrFlags::EXCLUDE_HV;
        let both = |name: &str| vec![(name.to_owned(), vec![0, 1])];
        let hybrid = |one, other| groups(&[(one, hardware, 4 << 32, none), (other, hardware, 10 << 32, none)]);
        assert_eq!(hybrid("cpu_core/cycles/P", "cpu_atom/cycles/P"), both("cycles"));
        assert_eq!(hybrid("cycles", "cycles"), both("cycles"), "names without PMU");
        let raw = |number| AttrType(number);
        assert_eq!(
            groups(&[("cortex_a53/cycles/", raw(8), 17, none), ("cortex_a72/cycles/u", raw(9), 17, user)]),
            both("cycles")
        );
        assert_eq!(groups(&[("cycles:u", hardware, 0, user), ("cycles:k", hardware, 0, kernel)]), both("cycles"));
        assert_eq!(groups(&[("cycles:u", hardware, 0, none), ("cycles:k", hardware, 0, none)]), both("cycles"));
        let point = AttrType::TRACEPOINT;
        assert_eq!(groups(&[("a:up:u", point, 7, user), ("a:up:k", point, 7, kernel)]), both("a:up"));
        let machines = [AttrFlags::EXCLUDE_GUEST, AttrFlags::EXCLUDE_HOST];
        assert_eq!(
            groups(&[("cycles:H", hardware, 0, machines[0]), ("cycles:G", hardware, 0, machines[1])]),
            both("cycles")
        );
    }

    #[test]
    fn events_that_may_count_the_same_are_separate() {
        let (hardware, none) = (AttrType::HARDWARE, AttrFlags::empty());
        let user = AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV;
        for described in [
            &[("cycles", hardware, 0, none), ("cycles:u", hardware, 0, user)][..],
            &[("cycles", hardware, 0, none), ("cpu/cycles/", AttrType::RAW, 0x3c, none)],
            &[("cycles:p", hardware, 0, none), ("cycles:pp", hardware, 0, none)],
            &[("cpu-clock", AttrType::SOFTWARE, 0, none), ("cpu-clock/max-stack=4/", AttrType::RAW, 0, none)],
            &[("cycles:u", hardware, 0, user), ("instructions:k", hardware, 1, none)],
            &[("a:u", AttrType::TRACEPOINT, 7, none), ("a:k", AttrType::TRACEPOINT, 8, none)],
        ] {
            assert_eq!(groups(described), [], "{described:?}");
        }
    }

    #[test]
    fn different_units_are_separate() {
        let mut events = Events::default();
        let attr = Attr::read(&[0; 64], Endian::Little).unwrap();
        for (index, name) in ["one/energy/", "other/energy/"].into_iter().enumerate() {
            events.add(attr.clone(), vec![index as u64 + 1]);
            events.name_by_index(index, name);
        }
        events.unit_by_id(1, "ns");
        let profile_events: Vec<ProfileEvent> = events.list().iter().map(Into::into).collect();
        assert!(MergedEvents::new(events.list(), &profile_events, &[0, 1].into()).is_empty());
    }
}
