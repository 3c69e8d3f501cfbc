//! Time order: merges the ring buffers, of which the kernel has one for each CPU.
//!
//! perf drains the buffers one after the other and marks the end of each such round (FINISHED_ROUND). Records not newer than
//! the newest record of the previous round can be passed on. Recordings without rounds are sorted as a whole, in runs that are
//! spilled to temporary files.

use crate::abi::record::RecordType;
use crate::container::read::{Container, ReadOptions};
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::packed_records;
use crate::stream::raw::{Gap, Raw};
use crate::stream::record_buffer::BlockBuffer;
use crate::stream::runs::{RunEntry, Runs};

/// Sorts records by time on their way to a sink. Records without a time, and those of perf, pass immediately. If only samples
/// have times, everything passes immediately, as in perf: mappings and names then apply to the samples after them in the file.
pub struct Order<S> {
    sink: S,
    options: ReadOptions,
    waiting: Vec<RunEntry>,
    runs: Runs,
    blocks: BlockBuffer,
    newest: u64,
    /// The newest time of finished rounds.
    finished: u64,
}

impl<S: Sink> Order<S> {
    /// Creates the ordering stage before a sink. Records beyond the [limits](ReadOptions::limits) are spilled to temporary files.
    pub fn new(sink: S, options: ReadOptions) -> Self {
        let blocks = BlockBuffer::default();
        Self { sink, options, waiting: Vec::new(), runs: Runs::default(), blocks, newest: 0, finished: 0 }
    }

    /// The sink.
    pub fn into_inner(self) -> S {
        self.sink
    }

    /// The sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Queues a record until all earlier records, by time and then by arrival, have passed. For sinks with an order of their
    /// own. Without rounds, records wait until the end.
    ///
    /// # Errors
    /// If records cannot be spilled.
    pub fn wait(&mut self, time: u64, raw: &Raw<'_>) -> Result<()> {
        self.newest = self.newest.max(time);
        let position = self.blocks.add(raw);
        self.waiting.push(RunEntry { time, position });
        let spool = self.waiting.len() >= self.options.limits.waiting;
        if spool {
            self.waiting.sort();
            let added = self.runs.add(&self.waiting, self.options.spool_dir.as_deref());
            added.map_err(Error::io("temporary file", "cannot write"))?;
            self.waiting.clear();
        }
        if self.blocks.bytes_in_memory() > self.options.limits.waiting_bytes {
            let moved = self.blocks.move_to_file(self.options.spool_dir.as_deref());
            moved.map_err(Error::io("temporary file", "cannot write"))?;
        }
        Ok(())
    }

    /// Passes on the waiting records up to time `limit`.
    fn flush(&mut self, meta: &Meta, limit: u64) -> Result<()> {
        self.blocks.seal();
        self.waiting.sort();
        let count = self.waiting.partition_point(|entry| entry.time <= limit);
        for index in 0..count {
            let entry = self.waiting[index];
            while let Some(earlier) = self.runs.peek().filter(|&earlier| earlier < entry) {
                self.runs.pop();
                self.emit(meta, earlier)?;
            }
            self.emit(meta, entry)?;
        }
        self.waiting.drain(..count);
        while let Some(entry) = self.runs.peek().filter(|entry| entry.time <= limit) {
            self.runs.pop();
            self.emit(meta, entry)?;
        }
        self.blocks.settle();
        Ok(())
    }

    #[inline]
    fn emit(&mut self, meta: &Meta, entry: RunEntry) -> Result<()> {
        let Self { sink, blocks, .. } = self;
        let position = entry.position;
        let (block, at) = (blocks.block(position), position.at());
        if !packed_records::is_packed(block) {
            if let Some(raw) = Raw::read(block, at, meta.endian) {
                sink.record(meta, &raw.with_selection(position.is_selected()))?;
            }
        } else if let Some(own) = packed_records::unpack(block, at)
            && let Some(raw) = Raw::read(&own, 0, meta.endian)
        {
            sink.record(meta, &raw.with_selection(position.is_selected()))?;
        }
        blocks.release(position);
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
        // The files of a directory are read one after the other, so rounds do not span them.
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

    /// Event of each record.
    #[derive(Default)]
    struct Found(Vec<Option<u32>>);

    impl Sink for Found {
        fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
            let fresh = Raw::new(raw.header(), raw.endian(), raw.block(), raw.at(), 0).expect("a valid record");
            let index = |raw: &Raw<'_>| meta.events.find(raw).map(|(index, _)| index);
            assert_eq!(index(raw), index(&fresh));
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

    /// Samples of the given times and IDs.
    fn samples(samples: &[(u64, u64)]) -> Block {
        let word = |word: u64| word.to_le_bytes();
        let sample = |&(time, id): &(u64, u64)| [word(24 << 48 | 9), word(time), word(id)].concat();
        let bytes: Vec<u8> = samples.iter().flat_map(sample).collect();
        Block { bytes: bytes.into(), source: 0, base: 0, origin: Origin::File, in_memory: true, serial: 1 }
    }

    fn ordered(
        ids: &[u64],
        recorded: &[(u64, u64)],
        added_at: usize,
        added: &[u64],
        waiting: usize,
    ) -> Vec<Option<u32>> {
        let events = ids.iter().map(|&id| FileAttr { attr: attr(), ids: vec![id] });
        let mut meta = Meta::synthetic("test".to_owned(), Endian::Little, events, BTreeMap::new());
        let mut options = ReadOptions::default();
        options.limits.waiting = waiting;
        let mut order = Order::new(Found::default(), options);
        let block = samples(recorded);
        for number in 0..recorded.len() {
            if number == added_at {
                added.iter().for_each(|&id| meta.events.add(attr(), vec![id]));
            }
            let raw = Raw::read(&block, 24 * number, Endian::Little).unwrap();
            order.record(&meta, &raw).unwrap();
        }
        order.end(&meta).unwrap();
        order.into_inner().0
    }

    #[test]
    fn waiting_does_not_change_the_event_of_a_record() {
        let recorded = [(5, 20), (3, 10), (4, 30), (2, 99), (1, 20)];
        for waiting in [2, 1000] {
            // A record of an unknown event has no time, and passes immediately.
            let events = ordered(&[10, 20, 30], &recorded, 5, &[], waiting);
            assert_eq!(events, [None, Some(1), Some(0), Some(2), Some(1)]);
        }
    }

    #[test]
    fn events_added_while_records_wait_apply_to_them() {
        let recorded = [(5, 20), (3, 10), (4, 30), (2, 99), (1, 20)];
        for waiting in [2, 1000] {
            // Records owned by a single event are looked up again once there are others.
            let events = ordered(&[10], &recorded, 3, &[20, 30], waiting);
            assert_eq!(events, [None, Some(1), Some(0), Some(2), Some(1)]);
            let events = ordered(&[10, 20], &recorded, 3, &[30], waiting);
            assert_eq!(events, [None, None, Some(1), Some(0), Some(1)]);
        }
    }
}
