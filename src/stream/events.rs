//! The events of a recording, and to which of them a record belongs.

use crate::abi::Endian;
use crate::abi::attr::{Attr, AttrType};
use crate::abi::attr_flags::AttrFlags;
use crate::abi::bytes::Reader;
use crate::abi::record::{RecordContext, RecordType};
use crate::abi::sample_id::SampleId;
use crate::abi::sample_layout::SampleLayout;
use crate::abi::sample_type::BranchSampleType;
use crate::stream::raw::Raw;
use hashbrown::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// An event, as far as it is known.
#[derive(Clone, Debug)]
pub struct Event {
    /// How it was opened.
    pub attr: Attr,
    /// Ids of its instances.
    pub ids: Vec<u64>,
    /// Its name, where the recording tells it.
    pub name: Option<String>,
    /// The unit of its values, where the recording tells it.
    pub unit: Option<String>,
    /// How its samples are laid out.
    pub layout: SampleLayout,
    /// Size of the trailer of its other records, 0 where they have none.
    id_size: usize,
    /// How many bytes before the end of such a record the id in its trailer begins.
    id_from_end: Option<usize>,
}

impl Event {
    fn new(attr: Attr, ids: Vec<u64>) -> Self {
        let layout = SampleLayout::from(&attr);
        let has_trailer = attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
        let id_size = if has_trailer { SampleId::size(attr.sample_type) } else { 0 };
        let id_from_end = SampleId::id_from_end(attr.sample_type).filter(|_| has_trailer).map(|words| 8 * words);
        Self { attr, ids, name: None, unit: None, layout, id_size, id_from_end }
    }

    /// What must be known to read its records.
    pub fn context(&self, endian: Endian) -> RecordContext {
        RecordContext { layout: self.layout, ..RecordContext::new(&self.attr, endian) }
    }
}

/// All events, by their order in the recording and by their ids.
#[derive(Clone, Debug, Default)]
pub struct Events {
    list: Vec<Event>,
    by_id: HashMap<u64, u32>,
    /// Attrs of events without ids.
    without_ids: HashSet<Attr>,
    /// Tracepoints by their `config`.
    tracepoints: HashMap<u64, Vec<EventIndex>>,
    /// Whether there are events that could not be read, so that no record goes without saying to one that could.
    is_incomplete: bool,
    /// Another one whenever a record may be of another event than before; no other list has it, but for an unchanged copy.
    state: u64,
}

/// Number of an event in [`Events`].
pub type EventIndex = u32;

impl Events {
    /// Adds an event that a record tells. One that is there already, by its first id or else by its attr, only gets the ids
    /// that are new.
    pub fn add_or_extend(&mut self, attr: Attr, ids: Vec<u64>) {
        match ids.first().map(|id| self.by_id.get(id)) {
            Some(Some(&index)) => {
                self.state = next_state();
                let known = &mut self.list[index as usize].ids;
                for id in ids {
                    self.by_id.entry(id).or_insert_with(|| {
                        known.push(id);
                        index
                    });
                }
            }
            None if self.without_ids.contains(&attr) => {}
            _ => self.add(attr, ids),
        }
    }

    /// Adds the event that the body of a HEADER_ATTR tells, as [`Self::add_or_extend`] does. `None` where it cannot be read.
    pub fn add_attr_record(&mut self, body: &[u8], endian: Endian) -> Option<()> {
        let (attr, ids) = body.split_at_checked(Attr::declared_size(body, endian)?)?;
        let attr = Attr::read(attr, endian).ok()?;
        let ids = Reader::new(ids, endian).words(ids.len() as u64 / 8)?.iter().collect();
        self.add_or_extend(attr, ids);
        Some(())
    }

    /// The event that has this id.
    pub fn by_id(&self, id: u64) -> Option<EventIndex> {
        self.by_id.get(&id).copied()
    }

    /// Notes that there is an event that cannot be read.
    pub fn miss(&mut self) {
        self.is_incomplete = true;
        self.state = next_state();
    }

    /// Adds an event.
    pub fn add(&mut self, attr: Attr, ids: Vec<u64>) {
        if ids.is_empty() {
            self.without_ids.insert(attr.clone());
        }
        self.state = next_state();
        let index = self.list.len() as EventIndex;
        self.by_id.extend(ids.iter().map(|&id| (id, index)));
        if attr.kind == AttrType::TRACEPOINT {
            self.tracepoints.entry(attr.config).or_default().push(index);
        }
        self.list.push(Event::new(attr, ids));
    }

    /// Names the event that has this id.
    pub fn name_by_id(&mut self, id: u64, name: &str) {
        if let Some(&index) = self.by_id.get(&id) {
            self.list[index as usize].name = Some(name.to_owned());
        }
    }

    /// Tells the unit of the event that has this id.
    pub fn unit_by_id(&mut self, id: u64, unit: &str) {
        if let Some(&index) = self.by_id.get(&id) {
            self.list[index as usize].unit = Some(unit.to_owned());
        }
    }

    /// Names an event by its place.
    pub fn name_by_index(&mut self, index: usize, name: &str) {
        if let Some(event) = self.list.get_mut(index) {
            event.name = Some(name.to_owned());
        }
    }

    /// Names tracepoints by their `config`, those that have no name yet.
    pub fn name_by_config(&mut self, config: u64, name: &str) {
        for &index in self.tracepoints.get(&config).into_iter().flatten() {
            self.list[index as usize].name.get_or_insert_with(|| name.to_owned());
        }
    }

    /// Takes a group: an event, and how many follow it in the group, itself counted. Where one of them asks for the counts
    /// of branches, the kernel writes them to the samples of all.
    pub fn group(&mut self, leader: usize, members: usize) {
        let Some(group) = self.list.get_mut(leader..leader.saturating_add(members)) else { return };
        let counters = BranchSampleType::COUNTERS;
        if group.iter().any(|event| event.attr.branch_sample_type.contains(counters)) {
            for event in group {
                let layout = event.layout;
                event.layout = layout.with_branch_sample_type(layout.branch_sample_type() | counters);
            }
        }
    }

    /// The events in the recording's order.
    pub fn list(&self) -> &[Event] {
        &self.list
    }

    /// The event that a record belongs to; `None` where there are several and the record's id is of none of them.
    ///
    /// As in perf: a lone event has all records; an id of 0 (records that perf made up) and records without any id are the
    /// first event's.
    #[inline]
    pub fn of(&self, raw: &Raw<'_>) -> Option<(EventIndex, &Event)> {
        let first = self.list.first()?;
        if self.list.len() == 1 && !self.is_incomplete {
            return Some((0, first));
        }
        let index = raw.event(self.state, || match self.id_of(raw, first) {
            None | Some(0) => Some(0),
            Some(id) => self.by_id(id),
        })?;
        Some((index, &self.list[index as usize]))
    }

    /// The id in a record. All events of a recording have it at the same place, or perf could not read it.
    #[inline]
    fn id_of(&self, raw: &Raw<'_>, first: &Event) -> Option<u64> {
        let body = raw.body();
        if raw.header().kind == RecordType::SAMPLE {
            return word(body, first.layout.id_at()?, raw.endian());
        }
        let at = body.len().checked_sub(first.id_from_end?)?;
        Reader::new(&body[at..], raw.endian()).u64()
    }

    /// Whether all records tell events and times, and not samples alone: perf takes the first event's word for it.
    #[inline]
    pub fn have_trailers(&self) -> bool {
        self.list.first().is_some_and(|first| first.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL))
    }

    /// The trailer of a record, and the body without it; all of the body where it has none.
    #[inline]
    pub fn split<'a>(&self, raw: &Raw<'a>) -> (&'a [u8], Option<SampleId>) {
        let body = raw.body();
        if !raw.header().kind.has_sample_id() {
            return (body, None);
        }
        let Some((_, event)) = self.of(raw) else { return (body, None) };
        if event.id_size == 0 {
            return (body, None);
        }
        let Some(at) = body.len().checked_sub(event.id_size) else { return (body, None) };
        let (body, trailer) = body.split_at(at);
        (body, SampleId::read(trailer, event.layout.sample_type(), raw.endian()))
    }

    /// When a record was written, where it says so. Records that perf made up have a time of 0 or all ones: none.
    #[inline]
    pub fn time(&self, raw: &Raw<'_>) -> Option<u64> {
        let time = match self.recorded_time(raw) {
            Some(time) => time,
            // Recorders without trailers tell the time of a fork or an exit in the record itself.
            None if matches!(raw.header().kind, RecordType::FORK | RecordType::EXIT) => match self.split(raw) {
                (body, None) => word(body, 2, raw.endian())?,
                _ => return None,
            },
            None => return None,
        };
        is_time(time).then_some(time)
    }

    /// What a sample or a trailer has as its time, whether or not it is one.
    #[inline]
    pub fn recorded_time(&self, raw: &Raw<'_>) -> Option<u64> {
        if raw.header().kind == RecordType::SAMPLE {
            let (_, event) = self.of(raw)?;
            word(raw.body(), event.layout.time_at()?, raw.endian())
        } else if raw.header().kind < RecordType::USER_START {
            self.split(raw).1?.time
        } else {
            None
        }
    }
}

/// A state that no list of events was in before.
fn next_state() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Whether a time is one: records that perf made up have 0 or all ones instead.
#[inline]
pub fn is_time(time: u64) -> bool {
    time != 0 && time != u64::MAX
}

/// The `index`th 8 bytes of `body` as a number.
#[inline]
fn word(body: &[u8], index: usize, endian: Endian) -> Option<u64> {
    let bytes = *body.get(8 * index..)?.first_chunk()?;
    Some(match endian {
        Endian::Little => u64::from_le_bytes(bytes),
        Endian::Big => u64::from_be_bytes(bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::RecordHeader;
    use crate::abi::sample_type::SampleType;
    use crate::container::block::{Block, Origin};

    fn attr(sample_type: SampleType, flags: AttrFlags) -> Attr {
        let mut attr = Attr::read(&[0; 64], Endian::Little).unwrap();
        attr.sample_type = sample_type;
        attr.flags = flags;
        attr
    }

    fn record(kind: RecordType, words: &[u64]) -> Block {
        let len = (RecordHeader::SIZE + 8 * words.len()) as u16;
        let mut bytes = vec![kind.0 as u8, 0, 0, 0, 0, 0, len as u8, (len >> 8) as u8];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Block { bytes: bytes.into(), source: 0, base: 0, origin: Origin::File, in_memory: true, serial: 1 }
    }

    fn raw(block: &Block) -> Raw<'_> {
        let header = RecordHeader::peek(&block.bytes, Endian::Little).unwrap();
        Raw::new(header, Endian::Little, block, 0, 0).unwrap()
    }

    #[test]
    fn samples_and_other_records_are_told_apart_by_id() {
        let sample_type = SampleType::IP | SampleType::TID | SampleType::TIME | SampleType::ID | SampleType::CPU;
        let mut events = Events::default();
        events.add(attr(sample_type, AttrFlags::SAMPLE_ID_ALL), vec![10, 11]);
        events.add(attr(sample_type, AttrFlags::SAMPLE_ID_ALL), vec![20]);
        let sample = record(RecordType::SAMPLE, &[0x400000, 1, 500, 20, 0]);
        assert_eq!(events.of(&raw(&sample)).unwrap().0, 1);
        assert_eq!(events.time(&raw(&sample)), Some(500));
        let exit = record(RecordType::EXIT, &[1, 1, 600, 7, 600, 11, 0]);
        assert_eq!(events.of(&raw(&exit)).unwrap().0, 0);
        let (body, id) = events.split(&raw(&exit));
        assert_eq!((body.len(), id.unwrap().time), (24, Some(600)));
        let unknown = record(RecordType::SAMPLE, &[0x400000, 1, 500, 30, 0]);
        assert!(events.of(&raw(&unknown)).is_none());
        let made_up = record(RecordType::COMM, &[1, 0x61, 0, 0, 0, 0]);
        assert_eq!(events.of(&raw(&made_up)).unwrap().0, 0);
        assert_eq!(events.time(&raw(&made_up)), None, "a time of 0 is none");
    }

    #[test]
    fn an_event_told_twice_is_there_once() {
        let mut events = Events::default();
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![]);
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![]);
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![5]);
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![5, 6]);
        let ids: Vec<_> = events.list().iter().map(|event| &event.ids[..]).collect();
        assert_eq!(ids, [&[][..], &[5, 6]]);
    }

    #[test]
    fn a_lone_event_does_not_take_the_samples_of_one_that_could_not_be_read() {
        let mut events = Events::default();
        events.add(attr(SampleType::IP | SampleType::ID, AttrFlags::empty()), vec![5]);
        let sample = record(RecordType::SAMPLE, &[0x400000, 6]);
        assert!(events.of(&raw(&sample)).is_some());
        events.miss();
        assert!(events.of(&raw(&sample)).is_none());
    }

    #[test]
    fn the_event_is_looked_up_anew_by_another_list_and_once_the_list_has_changed() {
        let sample_type = SampleType::IP | SampleType::ID;
        let list = |ids: [u64; 2]| {
            let mut events = Events::default();
            ids.into_iter().for_each(|id| events.add(attr(sample_type, AttrFlags::empty()), vec![id]));
            events
        };
        let (mut events, others) = (list([10, 20]), list([20, 10]));
        let block = record(RecordType::SAMPLE, &[0x400000, 20]);
        let sample = raw(&block);
        let event = |events: &Events, raw: &Raw<'_>| events.of(raw).map(|(index, _)| index);
        assert_eq!(
            [&events, &others, &events.clone()].map(|events| event(events, &sample)),
            [Some(1), Some(0), Some(1)]
        );
        let block = record(RecordType::SAMPLE, &[0x400000, 30]);
        let unknown = raw(&block);
        let before = events.clone();
        assert_eq!(event(&events, &unknown), None);
        events.add_or_extend(attr(sample_type, AttrFlags::empty()), vec![10, 30]);
        assert_eq!([&before, &events].map(|events| event(events, &unknown)), [None, Some(0)]);
    }

    #[test]
    fn without_trailers_a_fork_tells_its_time_itself() {
        let mut events = Events::default();
        events.add(attr(SampleType::IP | SampleType::TIME, AttrFlags::empty()), vec![]);
        assert_eq!(events.time(&raw(&record(RecordType::FORK, &[1, 1, 77]))), Some(77));
        assert_eq!(events.time(&raw(&record(RecordType::COMM, &[1, 1, 77]))), None);
    }
}
