//! Names and units of a profile's events.

use super::imported::{ImportedProfile, SampleTypes};
use perf_data::abi;
use perf_data::abi::attr::AttrType;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::group_desc::{Group, GroupDesc};
use perf_data::abi::read_format::ReadFormat;
use perf_data::abi::sample_type::SampleType;
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::{Event, EventIndex};
use perf_data::stream::meta::Meta;
use std::ops::Range;

/// The unit that an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, of CPU time or off the CPU.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// Occurrences.
    Count,
}

/// An event of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileEvent {
    /// Recorded name, or one derived from the type and config.
    pub name: String,
    /// Unit of its values.
    pub unit: Unit,
    /// Whether its values are CPU time, and no other time, such as that off the CPU.
    pub is_cpu_time: bool,
    /// Whether each sample is an occurrence with its own time, rather than a number of them.
    pub is_tracepoint: bool,
    /// Period between two samples, if it is fixed or follows from the frequency.
    pub period: Option<u64>,
    /// Its sample types in the imported profile.
    pub sample_types: Option<SampleTypes>,
}

/// A group of events that were counted together (GROUP_DESC).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventGroup {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its events, the leader first.
    pub events: Range<EventIndex>,
    /// Whether each sample has the counts of all its events (PERF_SAMPLE_READ with PERF_FORMAT_GROUP).
    pub is_read_together: bool,
}

impl EventGroup {
    /// The groups of a recording with more than one event.
    pub fn list(meta: &Meta) -> Vec<Self> {
        let section = meta.features.get(&FeatureId::GROUP_DESC);
        let desc = section.and_then(|section| abi::parse::<GroupDesc>(section, meta.endian, ()).ok());
        let groups = desc.map(|(desc, _)| desc.groups).unwrap_or_default().into_iter();
        let list = meta.events.list();
        let group = |group: Group| {
            let events = group.leader_idx..group.leader_idx.checked_add(group.nr_members)?;
            let name = Some(group.name.to_text()).filter(|name| name != "{anon_group}");
            let leader = &list.get(events.start as usize)?.attr;
            let is_read_together =
                leader.sample_type.contains(SampleType::READ) && leader.read_format.contains(ReadFormat::GROUP);
            (events.len() > 1 && events.end as usize <= list.len()).then_some(Self { name, events, is_read_together })
        };
        groups.filter_map(group).collect()
    }
}

impl From<&Event> for ProfileEvent {
    fn from(event: &Event) -> Self {
        let name = event_name(event);
        let unit = event.unit.as_deref().and_then(Unit::by_name).unwrap_or_else(|| Unit::counted_by(event));
        Self {
            name,
            unit,
            is_cpu_time: unit == Unit::Nanoseconds && !event.is_off_cpu(),
            is_tracepoint: event.attr.kind == AttrType::TRACEPOINT,
            period: event.fixed_period(),
            sample_types: None,
        }
    }
}

impl ProfileEvent {
    /// Whether numbers of samples are known: the values of an imported profile are its counts, unless it also has those.
    pub fn counts_samples(&self) -> bool {
        self.sample_types.as_ref().is_none_or(|types| types.samples.is_some())
    }

    /// The period, if it is a time.
    pub fn nanoseconds(&self) -> Option<u64> {
        self.period.filter(|_| self.unit == Unit::Nanoseconds)
    }

    /// Creates an event of a recording that may have been converted from another profile.
    pub fn new(event: &Event, imported: Option<&ImportedProfile>) -> Self {
        let sample_types = |imported: &ImportedProfile| imported.sample_types.get(event.ids.first()?).cloned();
        Self { sample_types: imported.and_then(sample_types), ..Self::from(event) }
    }
}

impl Unit {
    /// Parses a unit that perf recorded for an event.
    fn by_name(name: &str) -> Option<Self> {
        match name {
            "ns" => Some(Self::Nanoseconds),
            "B" | "bytes" | "Bytes" => Some(Self::Bytes),
            _ => None,
        }
    }

    fn counted_by(event: &Event) -> Self {
        if event.attr.is_clock() || event.is_off_cpu() { Self::Nanoseconds } else { Self::Count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::abi::attr::{Attr, SoftwareEvent};
    use perf_data::abi::attr_flags::AttrFlags;

    #[test]
    fn clocks_count_nanoseconds() {
        let mut attr = Attr::read(&[0; 64], Endian::Little).unwrap();
        attr.kind = AttrType::SOFTWARE;
        attr.flags = AttrFlags::FREQ;
        attr.sample_period = 4000;
        let mut events = perf_data::stream::events::Events::default();
        events.add(attr.clone(), vec![]);
        attr.config = SoftwareEvent::PAGE_FAULTS.0;
        events.add(attr, vec![]);
        let events: Vec<ProfileEvent> = events.list().iter().map(Into::into).collect();
        assert_eq!((events[0].unit, events[0].period), (Unit::Nanoseconds, Some(250_000)));
        assert_eq!((events[1].unit, events[1].period), (Unit::Count, None));
    }
}
