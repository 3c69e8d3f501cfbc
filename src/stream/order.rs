//! Time order: what the kernel wrote to one buffer for each CPU, put back into the order in which it happened.
//!
//! perf drains the buffers one after the other and marks the end of each such round (FINISHED_ROUND). What is older than
//! the newest record of the round before can be passed on. Recordings without such marks are sorted as a whole, in runs
//! that go to temporary files when there are many.

use crate::abi::record::{RecordHeader, RecordType};
use crate::container::read::{Container, ReadOptions};
use crate::container::walk::payload;
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::packed_records;
use crate::stream::raw::{FoundEvent, Gap, Raw};
use crate::stream::record_buffer::Held;
use crate::stream::runs::{Entry, Runs};

/// Puts records in time order on their way to a sink. Records without a time, and perf's own, pass at once. Where only
/// samples have a time all pass at once, as perf has it: maps and names are then of the samples behind them in the file.
pub struct Order<S> {
    sink: S,
    options: ReadOptions,
    waiting: Vec<Entry>,
    runs: Runs,
    blocks: Held,
    /// In which state of the list of events those of what waits were found.
    events: u64,
    newest: u64,
    /// The newest time of the rounds that are finished.
    finished: u64,
}

impl<S: Sink> Order<S> {
    /// Puts an order before a sink. What waits beyond the [limits](ReadOptions::limits) goes to temporary files.
    pub fn new(sink: S, options: ReadOptions) -> Self {
        let blocks = Held::default();
        Self { sink, options, waiting: Vec::new(), runs: Runs::default(), blocks, events: 0, newest: 0, finished: 0 }
    }

    /// The sink.
    pub fn into_inner(self) -> S {
        self.sink
    }

    /// The sink, to be looked at.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink, to be changed.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Has a record wait until all of an earlier time have passed, and those of the same time that came before it: for who
    /// has an order of his own. Without rounds all wait until the end.
    ///
    /// # Errors
    /// Where what waits cannot be kept.
    pub fn wait(&mut self, time: u64, raw: &Raw<'_>) -> Result<()> {
        self.newest = self.newest.max(time);
        let found = raw.found_event();
        if self.waiting.is_empty() && self.runs.is_empty() {
            self.events = found.state;
        }
        let place = self.blocks.hold(raw).with_event(found.event.filter(|_| found.state == self.events));
        self.waiting.push(Entry { time, place });
        let spool = self.waiting.len() >= self.options.limits.waiting;
        if spool {
            self.waiting.sort();
            let added = self.runs.add(&self.waiting, self.options.spool_dir.as_deref());
            added.map_err(Error::io("temporary file", "cannot sort in it"))?;
            self.waiting.clear();
        }
        if self.blocks.bytes_in_memory() > self.options.limits.waiting_bytes {
            let moved = self.blocks.move_to_file(self.options.spool_dir.as_deref());
            moved.map_err(Error::io("temporary file", "cannot keep records in it"))?;
        }
        Ok(())
    }

    /// Passes on what waits and is not newer than `limit`.
    fn flush(&mut self, meta: &Meta, limit: u64) -> Result<()> {
        self.blocks.seal();
        self.waiting.sort();
        let ready = self.waiting.partition_point(|entry| entry.time <= limit);
        for index in 0..ready {
            let entry = self.waiting[index];
            while let Some(earlier) = self.runs.peek().filter(|&earlier| earlier < entry) {
                self.runs.pop();
                self.pass(meta, earlier)?;
            }
            self.pass(meta, entry)?;
        }
        self.waiting.drain(..ready);
        while let Some(entry) = self.runs.peek().filter(|entry| entry.time <= limit) {
            self.runs.pop();
            self.pass(meta, entry)?;
        }
        self.blocks.settle();
        Ok(())
    }

    #[inline]
    fn pass(&mut self, meta: &Meta, entry: Entry) -> Result<()> {
        let place = entry.place;
        let at = place.at();
        let block = self.blocks.block(place);
        let own = packed_records::one(block, at);
        let (block, at) = own.as_ref().map_or((block, at), |own| (own, 0));
        if let Some(header) = RecordHeader::peek(&block.bytes[at..], meta.endian) {
            // Only perf's own records have something behind them.
            let payload = match header.kind < RecordType::USER_START {
                true => 0,
                false => payload(&block.bytes, at, meta.endian),
            };
            if let Some(raw) = Raw::new(header, meta.endian, block, at, payload) {
                let found = FoundEvent { state: self.events, event: place.event() };
                self.sink.record(meta, &if place.event().is_some() { raw.with_event(found) } else { raw })?;
            }
        }
        self.blocks.release(place);
        Ok(())
    }
}

impl<S: Sink> Sink for Order<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.sink.begin(meta)
    }

    #[inline]
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if let Some(time) = meta.events.time(raw).filter(|_| meta.events.have_trailers()) {
            return self.wait(time, raw);
        }
        self.sink.record(meta, raw)?;
        // The files of a folder are read one after the other: no round ends in all of them.
        if raw.header().kind == RecordType::FINISHED_ROUND && meta.container != Container::Directory {
            self.flush(meta, self.finished)?;
            self.finished = self.newest;
        }
        Ok(())
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.sink.gap(meta, gap)
    }

    fn is_done(&self) -> bool {
        self.sink.is_done()
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.flush(meta, u64::MAX)?;
        self.sink.end(meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::abi::attr::Attr;
    use crate::abi::attr_flags::AttrFlags;
    use crate::abi::sample_type::SampleType;
    use crate::container::block::{Block, Origin};
    use crate::container::read::file::FileAttr;
    use std::collections::BTreeMap;

    /// The event that each record is of.
    #[derive(Default)]
    struct Found(Vec<Option<u32>>);

    impl Sink for Found {
        fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
            let anew = Raw::new(raw.header(), raw.endian(), raw.block(), raw.at(), 0).expect("it is a record");
            let index = |raw: &Raw<'_>| meta.events.of(raw).map(|(index, _)| index);
            assert_eq!(index(raw), index(&anew));
            self.0.push(index(raw));
            Ok(())
        }
    }

    fn attr() -> Attr {
        let mut attr = Attr::read(&[0; 64], Endian::Little).unwrap();
        attr.sample_type = SampleType::ID | SampleType::TIME;
        attr.flags = AttrFlags::SAMPLE_ID_ALL;
        attr
    }

    /// A sample of each time and id.
    fn samples(samples: &[(u64, u64)]) -> Block {
        let word = |word: u64| word.to_le_bytes();
        let sample = |&(time, id): &(u64, u64)| [word(24 << 48 | 9), word(time), word(id)].concat();
        let bytes: Vec<u8> = samples.iter().flat_map(sample).collect();
        Block { bytes: bytes.into(), source: 0, base: 0, origin: Origin::File, in_memory: true, serial: 1 }
    }

    fn ordered(
        ids: &[u64],
        told: &[(u64, u64)],
        added_behind: usize,
        added: &[u64],
        waiting: usize,
    ) -> Vec<Option<u32>> {
        let events = ids.iter().map(|&id| FileAttr { attr: attr(), ids: vec![id] });
        let mut meta = Meta::made_up("test".to_owned(), Endian::Little, events, BTreeMap::new());
        let mut options = ReadOptions::default();
        options.limits.waiting = waiting;
        let mut order = Order::new(Found::default(), options);
        let block = samples(told);
        for number in 0..told.len() {
            if number == added_behind {
                added.iter().for_each(|&id| meta.events.add(attr(), vec![id]));
            }
            let at = 24 * number;
            let header = RecordHeader::peek(&block.bytes[at..], Endian::Little).unwrap();
            order.record(&meta, &Raw::new(header, Endian::Little, &block, at, 0).unwrap()).unwrap();
        }
        order.end(&meta).unwrap();
        order.into_inner().0
    }

    #[test]
    fn records_are_of_the_same_events_when_they_have_waited() {
        let told = [(5, 20), (3, 10), (4, 30), (2, 99), (1, 20)];
        for waiting in [2, 1000] {
            // What is of no event has no time, and passes at once.
            let found = ordered(&[10, 20, 30], &told, 5, &[], waiting);
            assert_eq!(found, [None, Some(1), Some(0), Some(2), Some(1)]);
        }
    }

    #[test]
    fn events_that_are_told_while_records_wait_count_for_these_too() {
        let told = [(5, 20), (3, 10), (4, 30), (2, 99), (1, 20)];
        for waiting in [2, 1000] {
            // What would be all of a lone event is not, once there are others.
            let found = ordered(&[10], &told, 3, &[20, 30], waiting);
            assert_eq!(found, [None, Some(1), Some(0), Some(2), Some(1)]);
            let found = ordered(&[10, 20], &told, 3, &[30], waiting);
            assert_eq!(found, [None, None, Some(1), Some(0), Some(1)]);
        }
    }
}
