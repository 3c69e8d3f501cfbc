//! Merges the events of several recordings, and assigns their IDs and record layouts.
//!
//! perf finds the event of a record by its ID, and requires the ID to be at the same position in the samples, and in the
//! trailers, of all events. If events differ in that, all get a PERF_SAMPLE_IDENTIFIER, which is first in samples and last in
//! trailers.

use super::clock::REALTIME;
use super::member::Member;
use super::options::MergeOptions;
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::event_desc::{EventDesc, EventDescs};
use perf_data::abi::feature::group_desc::{Group, GroupDesc};
use perf_data::abi::feature::string::PerfStr;
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::file::FileAttr;
use perf_data::error::{Error, Result};
use perf_data::stream::event_name::event_name;
use perf_data::stream::events::Event;
use perf_data::stream::meta::Meta;
use std::ops::Range;

/// The merged events, and how the events of each recording map to them.
#[derive(Debug)]
pub(crate) struct Merged {
    /// The merged events.
    pub events: Vec<MergedEvent>,
    groups: Vec<(PerfStr, Range<usize>)>,
    /// The mapping of each recording.
    pub plans: Vec<Plan>,
}

/// A merged event.
#[derive(Debug)]
pub(crate) struct MergedEvent {
    /// Attr.
    pub attr: Attr,
    /// Name.
    pub name: String,
    /// Whether a recording has the name.
    is_named: bool,
    /// IDs.
    pub ids: Vec<u64>,
}

/// How the events of a recording map to merged events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Merged IDs by recorded ID.
    pub ids: HashMap<u64, u64>,
    /// The events of the recording.
    pub events: Vec<EventPlan>,
    /// Layout of records without a known event: that of the first merged event.
    pub first: Layout,
    /// Whether all IDs and layouts are unchanged.
    pub is_same: bool,
}

/// How an event of a recording maps to a merged event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventPlan {
    /// Layout of the merged event.
    pub layout: Layout,
    /// ID for records without one, or with an unknown one.
    pub id: u64,
}

/// The layout of an event's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Sample fields.
    pub sample_type: SampleType,
    /// Whether other records have trailers.
    pub has_trailers: bool,
}

impl Layout {
    fn from_attr(attr: &Attr) -> Self {
        Self { sample_type: attr.sample_type, has_trailers: attr.flags.contains(AttrFlags::SAMPLE_ID_ALL) }
    }

    /// Fields of trailers.
    pub(crate) fn trailer(self) -> SampleType {
        if self.has_trailers { self.sample_type } else { SampleType::empty() }
    }
}

/// Identifies equal events: name and settings, without those that only affect the start of recording.
type EventIdentity = (String, Attr);

fn key(event: &Event, attr: &Attr) -> EventIdentity {
    // Versions of perf differ in the size of the attr.
    let mut attr = attr.resized(Attr::SIZE_KNOWN);
    attr.size = 0;
    attr.flags.remove(AttrFlags::DISABLED | AttrFlags::ENABLE_ON_EXEC);
    (event_name(event), attr)
}

/// The event groups of a recording; an event without a group is its own unit.
fn units(meta: &Meta) -> Vec<(Option<PerfStr>, Range<usize>)> {
    let count = meta.events.list().len();
    let section = meta.features.get(&FeatureId::GROUP_DESC);
    let desc = section.and_then(|section| abi::parse::<GroupDesc>(section, meta.endian, ()).ok());
    let mut units = Vec::new();
    let mut next = 0;
    for group in desc.into_iter().flat_map(|(desc, _)| desc.groups) {
        let start = group.leader_idx as usize;
        let end = start.saturating_add(group.nr_members as usize);
        if start >= next && end <= count && start < end {
            units.extend((next..start).map(|event| (None, event..event + 1)));
            units.push((Some(group.name), start..end));
            next = end;
        }
    }
    units.extend((next..count).map(|event| (None, event..event + 1)));
    units
}

/// Merges equal events.
///
/// # Errors
/// Fails if there are no event IDs left.
pub(crate) fn merge(members: &[Member], options: &MergeOptions) -> Result<Merged> {
    let (mut events, mut groups): (Vec<MergedEvent>, _) = (Vec::new(), Vec::new());
    let mut starts: HashMap<(Vec<EventIdentity>, usize), usize> = HashMap::new();
    let mut numbers = Vec::new();
    for member in members {
        let list = member.meta.events.list();
        let mut member_numbers = vec![0; list.len()];
        let mut seen: HashMap<Vec<EventIdentity>, usize> = HashMap::new();
        for (group, range) in units(&member.meta) {
            let attrs: Vec<_> = list[range.clone()].iter().map(|event| aligned(&event.attr, options)).collect();
            let keys: Vec<_> = list[range.clone()].iter().zip(&attrs).map(|(event, attr)| key(event, attr)).collect();
            // Equal settings within one recording are separate events.
            let nth = seen.entry(keys.clone()).or_default();
            *nth += 1;
            let start = *starts.entry((keys, *nth)).or_insert_with(|| {
                let start = events.len();
                for (event, attr) in list[range.clone()].iter().zip(attrs) {
                    let (name, is_named) = (event_name(event), event.name.is_some());
                    events.push(MergedEvent { attr, name, is_named, ids: Vec::new() });
                }
                groups.extend(group.map(|name| (name, start..events.len())));
                start
            });
            range.enumerate().for_each(|(member, event)| member_numbers[event] = start + member);
        }
        numbers.push(member_numbers);
    }
    let ids = number_ids(members, &numbers, &mut events, options)?;
    lay_out(&mut events);
    let first = events.first().map(|event| Layout::from_attr(&event.attr)).unwrap_or_default();
    let plan = |((member, ids), numbers): ((&Member, HashMap<u64, u64>), &Vec<usize>)| {
        let event_plan = |&number: &usize| {
            let event = &events[number];
            EventPlan { layout: Layout::from_attr(&event.attr), id: 0 }
        };
        let list = member.meta.events.list();
        let mut plans: Vec<_> = numbers.iter().map(event_plan).collect();
        for ((plan, event), &number) in plans.iter_mut().zip(list).zip(numbers) {
            let own = event.ids.first().and_then(|id| ids.get(id));
            plan.id = own.or(events[number].ids.first()).copied().unwrap_or(0);
        }
        let is_same_layout = |(event, plan): (&Event, &EventPlan)| Layout::from_attr(&event.attr) == plan.layout;
        let is_first = list.first().is_none_or(|event| Layout::from_attr(&event.attr) == first);
        let is_same = ids.iter().all(|(id, new)| id == new)
            && is_first
            && numbers.first().is_none_or(|&number| number == 0)
            && (events.len() == 1 || list.len() > 1)
            && list.iter().zip(&plans).all(is_same_layout);
        Plan { ids, events: plans, first, is_same }
    };
    let plans = members.iter().zip(ids).zip(&numbers).map(plan).collect();
    Ok(Merged { events, groups, plans })
}

/// The attr with the clock of the result.
fn aligned(attr: &Attr, options: &MergeOptions) -> Attr {
    let mut attr = attr.clone();
    if options.align_wall {
        if attr.stored_size() < AFTER_CLOCKID {
            attr = attr.resized(AFTER_CLOCKID);
            attr.size = AFTER_CLOCKID as u32;
        }
        attr.flags.insert(AttrFlags::USE_CLOCKID);
        attr.clockid = REALTIME;
    }
    attr
}

/// End of `clockid` in the attr.
const AFTER_CLOCKID: usize = 96;

/// Assigns event IDs. A running kernel never reuses an ID: on one clock, equal IDs of equal events are the same counter, as in
/// the parts of a split. An ID that another event or another machine uses is replaced by a new one.
fn number_ids(
    members: &[Member],
    numbers: &[Vec<usize>],
    events: &mut [MergedEvent],
    options: &MergeOptions,
) -> Result<Vec<HashMap<u64, u64>>> {
    let is_one_kernel = !options.align_wall && !options.offset_pids;
    let all =
        || members.iter().flat_map(|member| member.meta.events.list()).flat_map(|event| event.ids.iter().copied());
    let mut highest = all().max().unwrap_or(0);
    let mut new = || {
        highest = highest.checked_add(1).ok_or_else(|| Error::incompatible("no event IDs left"))?;
        Ok(highest)
    };
    let mut used: HashMap<u64, usize> = HashMap::new();
    let mut maps = Vec::new();
    for (member, numbers) in members.iter().zip(numbers) {
        let mut map = HashMap::new();
        for (event, &number) in member.meta.events.list().iter().zip(numbers) {
            for &id in &event.ids {
                let new_id = match used.get(&id) {
                    Some(&other) if is_one_kernel && other == number => id,
                    None if id != 0 => id,
                    _ => new()?,
                };
                if used.insert(new_id, number).is_none() {
                    events[number].ids.push(new_id);
                }
                map.insert(id, new_id);
            }
        }
        maps.push(map);
    }
    // Among several events, readers find that of a record by its ID.
    if events.len() > 1 {
        for event in events.iter_mut().filter(|event| event.ids.is_empty()) {
            event.ids.push(new()?);
        }
    }
    Ok(maps)
}

/// Gives all events their ID at the same position, and all attrs the same size.
fn lay_out(events: &mut [MergedEvent]) {
    let position = |event: &MergedEvent| {
        let layout = Layout::from_attr(&event.attr);
        (SampleLayout::new(layout.sample_type).id_at(), SampleId::id_from_end(layout.sample_type), layout.has_trailers)
    };
    let positions: Vec<_> = events.iter().map(position).collect();
    let is_uniform = positions.iter().all(|position| *position == positions[0])
        && positions.iter().all(|position| position.0.is_some());
    if events.len() > 1 && !is_uniform {
        let has_trailers = positions.iter().any(|position| position.2);
        for event in events.iter_mut() {
            // IDENTIFIER is the first field of samples and the last one of trailers, whatever the other fields are.
            event.attr.sample_type |= SampleType::IDENTIFIER;
            event.attr.flags.set(AttrFlags::SAMPLE_ID_ALL, has_trailers);
        }
    }
    // A file has one size for all attrs.
    let size = events.iter().map(|event| event.attr.stored_size()).max().unwrap_or(0);
    for event in events.iter_mut().filter(|event| event.attr.stored_size() != size) {
        event.attr = event.attr.resized(size);
        event.attr.size = size as u32;
    }
}

impl Merged {
    /// The events as containers store them.
    pub(crate) fn attrs(&self) -> impl Iterator<Item = FileAttr> {
        self.events.iter().map(|event| FileAttr { attr: event.attr.clone(), ids: event.ids.clone() })
    }

    /// The EVENT_DESC feature; `None` if no recording has event names.
    pub(crate) fn event_desc(&self) -> Option<EventDescs> {
        let attr_size = self.events.iter().map(|event| event.attr.stored_size()).max()? as u32;
        let desc = |event: &MergedEvent| EventDesc {
            attr: event.attr.clone(),
            name: PerfStr::new(event.name.as_bytes()),
            ids: event.ids.clone(),
        };
        let is_named = self.events.iter().any(|event| event.is_named);
        is_named.then(|| EventDescs { attr_size, events: self.events.iter().map(desc).collect() })
    }

    /// The GROUP_DESC feature; `None` if there are no groups.
    pub(crate) fn group_desc(&self) -> Option<GroupDesc> {
        let group = |(name, range): &(PerfStr, Range<usize>)| Group {
            name: name.clone(),
            leader_idx: range.start as u32,
            nr_members: range.len() as u32,
        };
        (!self.groups.is_empty()).then(|| GroupDesc { groups: self.groups.iter().map(group).collect() })
    }
}

impl Plan {
    /// The merged ID of a recorded event ID; other values are unchanged.
    pub(crate) fn merged_id(&self, id: u64) -> u64 {
        self.ids.get(&id).copied().unwrap_or(id)
    }

    /// The merged ID of a recorded ID in a record of this event.
    #[inline]
    pub(crate) fn id(&self, id: u64, event: &EventPlan) -> u64 {
        self.ids.get(&id).copied().unwrap_or(event.id)
    }
}

/// The byte order of the result: that of the first recording.
pub(crate) fn endian(members: &[Member]) -> Endian {
    members.first().map_or(Endian::Little, |member| member.meta.endian)
}
