//! The events of a recording, and how records are assigned to them.

use super::event_ids::EventIds;
use crate::abi::Endian;
use crate::abi::attr::{Attr, AttrType};
use crate::abi::attr_flags::AttrFlags;
use crate::abi::bytes::{ByteReader, Integer};
use crate::abi::read_format::ReadFormat;
use crate::abi::record::{RecordContext, RecordType};
use crate::abi::sample::id::SampleId;
use crate::abi::sample::layout::SampleLayout;
use crate::abi::sample_type::{BranchSampleType, SampleType};
use crate::stream::raw::Raw;
use hashbrown::{HashMap, HashSet};

/// An event.
#[derive(Clone, Debug)]
pub struct Event {
    /// The attr that it was opened with.
    pub attr: Attr,
    /// IDs of its instances.
    pub ids: Vec<u64>,
    /// Its name, if recorded.
    pub name: Option<String>,
    /// The unit of its values, if recorded.
    pub unit: Option<String>,
    /// Layout of its samples.
    pub layout: SampleLayout,
    /// Size of the `sample_id` trailer of its other records; 0 without trailer.
    id_size: usize,
    /// Distance of the ID in the trailer from the end of the record, in bytes.
    id_from_end: Option<usize>,
    /// Whether unknown bits of `sample_type` may add fields to the trailer.
    may_extend_trailer: bool,
}

impl Event {
    fn new(attr: Attr, ids: Vec<u64>) -> Self {
        let layout = SampleLayout::from(&attr);
        let has_trailer = attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
        let id_size = if has_trailer { SampleId::size(attr.sample_type) } else { 0 };
        let id_from_end = SampleId::id_from_end(attr.sample_type).filter(|_| has_trailer).map(|words| 8 * words);
        let may_extend_trailer = has_trailer && !SampleType::KNOWN.contains(attr.sample_type);
        Self { attr, ids, name: None, unit: None, layout, id_size, id_from_end, may_extend_trailer }
    }

    /// Whether a record of the kernel should have a trailer, but has none with the known fields only.
    pub fn lacks_trailer(&self, raw: &Raw<'_>) -> bool {
        let header = raw.header();
        let context = || self.context(raw.endian());
        self.may_extend_trailer
            && header.kind.has_sample_id()
            && context().trailer(header.kind, header.misc, raw.body()).is_none()
    }

    /// The period between two samples, if it is fixed or follows from the frequency.
    pub fn fixed_period(&self) -> Option<u64> {
        let period = match (self.attr.flags.contains(AttrFlags::FREQ), self.attr.is_clock()) {
            // Each sample has the length of its wait; what the attr has is a threshold.
            _ if self.is_off_cpu() => None,
            (false, _) => Some(self.attr.sample_period),
            (true, true) => 1_000_000_000_u64.checked_div(self.attr.sample_period),
            (true, false) => None,
        };
        period.filter(|&period| period > 0)
    }

    /// Context for decoding its records.
    pub fn context(&self, endian: Endian) -> RecordContext {
        let sample_id_all = self.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
        RecordContext { endian, layout: self.layout, sample_id_all }
    }
}

/// All events, by position in the recording and by ID.
#[derive(Clone, Debug, Default)]
pub struct Events {
    list: Vec<Event>,
    by_id: EventIds,
    /// Attrs of events without IDs.
    without_ids: HashSet<Attr>,
    /// Tracepoints by their `config`.
    tracepoints: HashMap<u64, Vec<EventIndex>>,
    /// Whether records may have an unknown layout.
    may_be_partial: bool,
    /// Whether an event could not be read, so that a single known event does not own all records.
    is_incomplete: bool,
}

/// Index of an event in [`Events`].
pub type EventIndex = u32;

impl Events {
    /// Adds an event from a record. If it is known, by its first ID or for events without IDs by its attr, only new IDs are
    /// added.
    pub fn add_or_extend(&mut self, attr: Attr, ids: Vec<u64>) {
        match ids.first().map(|&id| self.by_id.get(id)) {
            Some(Some(index)) => {
                let event_ids = &mut self.list[index as usize].ids;
                for id in ids {
                    if self.by_id.get(id).is_none() {
                        self.by_id.insert(id, index);
                        event_ids.push(id);
                    }
                }
            }
            None if self.without_ids.contains(&attr) => {}
            _ => self.add(attr, ids),
        }
    }

    /// Adds the event in the body of a HEADER_ATTR like [`Self::add_or_extend`]. `None` if it cannot be decoded.
    pub fn add_attr_record(&mut self, body: &[u8], endian: Endian) -> Option<()> {
        let (attr, ids) = body.split_at_checked(Attr::declared_size(body, endian)?)?;
        let attr = Attr::read(attr, endian).ok()?;
        let ids = ByteReader::new(ids, endian).words(ids.len() as u64 / 8)?.iter().collect();
        self.add_or_extend(attr, ids);
        Some(())
    }

    /// The event with this ID.
    #[inline]
    pub fn by_id(&self, id: u64) -> Option<EventIndex> {
        self.by_id.get(id)
    }

    /// Marks the list as incomplete: an event could not be read.
    pub fn miss(&mut self) {
        self.is_incomplete = true;
    }

    /// Adds an event.
    pub fn add(&mut self, attr: Attr, ids: Vec<u64>) {
        if ids.is_empty() {
            self.without_ids.insert(attr.clone());
        }
        let index = self.list.len() as EventIndex;
        ids.iter().for_each(|&id| self.by_id.insert(id, index));
        if attr.kind == AttrType::TRACEPOINT {
            self.tracepoints.entry(attr.config).or_default().push(index);
        }
        let event = Event::new(attr, ids);
        self.may_be_partial |= event.layout.may_be_partial()
            || event.may_extend_trailer
            || !ReadFormat::KNOWN.contains(event.layout.read_format());
        self.list.push(event);
    }

    /// Whether some records may have an unknown layout: by the attrs, or by words in samples.
    #[inline]
    pub fn may_be_partial(&self) -> bool {
        self.may_be_partial
    }

    /// Sets the name of the event with this ID.
    pub fn name_by_id(&mut self, id: u64, name: &str) {
        if let Some(index) = self.by_id.get(id) {
            self.list[index as usize].name = Some(name.to_owned());
        }
    }

    /// Sets the unit of the event with this ID.
    pub fn unit_by_id(&mut self, id: u64, unit: &str) {
        if let Some(index) = self.by_id.get(id) {
            self.list[index as usize].unit = Some(unit.to_owned());
        }
    }

    /// Sets the name of an event by index.
    pub fn name_by_index(&mut self, index: usize, name: &str) {
        if let Some(event) = self.list.get_mut(index) {
            event.name = Some(name.to_owned());
        }
    }

    /// Sets the name of the events with this type and `config` that have none.
    pub fn name_by_type(&mut self, kind: AttrType, config: u64, name: &str) {
        let is_nameless = |event: &&mut Event| event.name.is_none();
        let of_type = self.list.iter_mut().filter(|event| (event.attr.kind, event.attr.config) == (kind, config));
        of_type.filter(is_nameless).for_each(|event| event.name = Some(name.to_owned()));
    }

    /// Sets the name of the tracepoints with this `config` that have none.
    pub fn name_by_config(&mut self, config: u64, name: &str) {
        for &index in self.tracepoints.get(&config).into_iter().flatten() {
            self.list[index as usize].name.get_or_insert_with(|| name.to_owned());
        }
    }

    /// Groups `members` events from `leader` on. If one of them requests branch counters, the kernel writes them to the samples
    /// of the whole group.
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

    /// The events, in the order of the recording.
    pub fn list(&self) -> &[Event] {
        &self.list
    }

    /// The event of a record; `None` if there are several and none has the record's ID.
    ///
    /// As in perf, a single event owns all records. Records with ID 0, which perf synthesizes, and records without ID belong to
    /// the first event.
    #[inline]
    pub fn find(&self, raw: &Raw<'_>) -> Option<(EventIndex, &Event)> {
        let first = self.list.first()?;
        if self.list.len() == 1 && !self.is_incomplete {
            return Some((0, first));
        }
        self.find_by_record_id(raw, first)
    }

    #[inline(never)]
    fn find_by_record_id(&self, raw: &Raw<'_>, first: &Event) -> Option<(EventIndex, &Event)> {
        let index = match self.record_id(raw, first) {
            None | Some(0) => 0,
            Some(id) => self.by_id(id)?,
        };
        Some((index, &self.list[index as usize]))
    }

    /// The ID in a record. All events of a recording have it at the same position, or perf could not read it.
    #[inline]
    fn record_id(&self, raw: &Raw<'_>, first: &Event) -> Option<u64> {
        let body = raw.body();
        if raw.header().kind == RecordType::SAMPLE {
            return word(body, first.layout.id_at()?, raw.endian());
        }
        let at = body.len().checked_sub(first.id_from_end?)?;
        if first.lacks_trailer(raw) {
            return None;
        }
        ByteReader::new(&body[at..], raw.endian()).u64()
    }

    /// Whether all records have times and event IDs, not only samples. Like perf, this checks the first event.
    #[inline]
    pub fn have_trailers(&self) -> bool {
        self.list.first().is_some_and(|first| first.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL))
    }

    /// Splits a record into its body and its trailer, if it has one.
    #[inline]
    pub fn split<'a>(&self, raw: &Raw<'a>) -> (&'a [u8], Option<SampleId>) {
        let body = raw.body();
        if !raw.header().kind.has_sample_id() {
            return (body, None);
        }
        let Some((_, event)) = self.find(raw) else { return (body, None) };
        if event.id_size == 0 {
            return (body, None);
        }
        let Some(at) = body.len().checked_sub(event.id_size) else { return (body, None) };
        if event.lacks_trailer(raw) {
            return (body, None);
        }
        let (body, trailer) = body.split_at(at);
        (body, SampleId::read(trailer, event.layout.sample_type(), raw.endian()))
    }

    /// Time of a record, if recorded. Records synthesized by perf have a time of 0 or all ones, which counts as none.
    #[inline]
    pub fn time(&self, raw: &Raw<'_>) -> Option<u64> {
        let time = match self.recorded_time(raw) {
            Some(time) => time,
            // Without trailers, FORK and EXIT contain the time in their bodies.
            None if matches!(raw.header().kind, RecordType::FORK | RecordType::EXIT) => match self.split(raw) {
                (body, None) => word(body, 2, raw.endian())?,
                _ => return None,
            },
            None => return None,
        };
        is_time(time).then_some(time)
    }

    /// The time field of a sample or trailer, valid or not.
    #[inline]
    pub fn recorded_time(&self, raw: &Raw<'_>) -> Option<u64> {
        if raw.header().kind == RecordType::SAMPLE {
            let (_, event) = self.find(raw)?;
            word(raw.body(), event.layout.time_at()?, raw.endian())
        } else if raw.header().kind < RecordType::USER_START {
            self.split(raw).1?.time
        } else {
            None
        }
    }
}

/// Whether a time is valid: records synthesized by perf have 0 or all ones.
#[inline]
pub fn is_time(time: u64) -> bool {
    time != 0 && time != u64::MAX
}

/// Word `index` of `body`.
#[inline]
fn word(body: &[u8], index: usize, endian: Endian) -> Option<u64> {
    let bytes = *body.get(8 * index..)?.first_chunk()?;
    Some(u64::from_bytes(bytes, endian))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::RecordHeader;
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
    fn records_are_assigned_to_events_by_id() {
        let sample_type = SampleType::IP | SampleType::TID | SampleType::TIME | SampleType::ID | SampleType::CPU;
        let mut events = Events::default();
        events.add(attr(sample_type, AttrFlags::SAMPLE_ID_ALL), vec![10, 11]);
        events.add(attr(sample_type, AttrFlags::SAMPLE_ID_ALL), vec![20]);
        let sample = record(RecordType::SAMPLE, &[0x400000, 1, 500, 20, 0]);
        assert_eq!(events.find(&raw(&sample)).unwrap().0, 1);
        assert_eq!(events.time(&raw(&sample)), Some(500));
        let exit = record(RecordType::EXIT, &[1, 1, 600, 7, 600, 11, 0]);
        assert_eq!(events.find(&raw(&exit)).unwrap().0, 0);
        let (body, id) = events.split(&raw(&exit));
        assert_eq!((body.len(), id.unwrap().time), (24, Some(600)));
        let unknown = record(RecordType::SAMPLE, &[0x400000, 1, 500, 30, 0]);
        assert!(events.find(&raw(&unknown)).is_none());
        let synthesized = record(RecordType::COMM, &[1, 0x61, 0, 0, 0, 0]);
        assert_eq!(events.find(&raw(&synthesized)).unwrap().0, 0);
        assert_eq!(events.time(&raw(&synthesized)), None, "a time of 0 is none");
    }

    #[test]
    fn duplicate_events_are_merged() {
        let mut events = Events::default();
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![]);
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![]);
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![5]);
        events.add_or_extend(attr(SampleType::IP, AttrFlags::empty()), vec![5, 6]);
        let ids: Vec<_> = events.list().iter().map(|event| &event.ids[..]).collect();
        assert_eq!(ids, [&[][..], &[5, 6]]);
    }

    #[test]
    fn a_single_event_does_not_own_samples_of_an_unreadable_event() {
        let mut events = Events::default();
        events.add(attr(SampleType::IP | SampleType::ID, AttrFlags::empty()), vec![5]);
        let sample = record(RecordType::SAMPLE, &[0x400000, 6]);
        assert!(events.find(&raw(&sample)).is_some());
        events.miss();
        assert!(events.find(&raw(&sample)).is_none());
    }

    #[test]
    fn without_trailers_the_time_of_a_fork_is_in_its_body() {
        let mut events = Events::default();
        events.add(attr(SampleType::IP | SampleType::TIME, AttrFlags::empty()), vec![]);
        assert_eq!(events.time(&raw(&record(RecordType::FORK, &[1, 1, 77]))), Some(77));
        assert_eq!(events.time(&raw(&record(RecordType::COMM, &[1, 1, 77]))), None);
    }
}
