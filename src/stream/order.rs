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
