//! Inserts FINISHED_ROUND records into records in time order, so that readers need not buffer all of them.

use super::replacement::{RecordBuffer, RecordPlacement};
use crate::abi;
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::container::block::Origin;
use crate::container::write::encoded;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// Records in a round.
const ROUND: u32 = 1 << 14;

/// Passes records on and inserts FINISHED_ROUND records.
///
/// perf processes a record without a time at once, and one with a time when the round after its own ends. Before a kernel
/// record without a time, two FINISHED_ROUND records flush the pending ones.
pub struct Rounds<S> {
    sink: S,
    /// Records with a time since the last FINISHED_ROUND.
    since: u32,
    /// Whether any record may still be pending in the reader.
    is_waiting: bool,
    marks: u64,
    mark: RecordBuffer,
}

impl<S: Sink> Rounds<S> {
    /// Puts it before a sink.
    pub fn new(sink: S) -> Self {
        Self { sink, since: 0, is_waiting: false, marks: 0, mark: RecordBuffer::default() }
    }

    /// Number of FINISHED_ROUND records added.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// The sink, on which the caller calls `begin` and `end`.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Passes on a record. FINISHED_ROUND records of the input are dropped.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn pass(&mut self, meta: &Meta, raw: &Raw<'_>, is_timed: bool) -> Result<()> {
        if raw.header().kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        if is_timed {
            self.is_waiting = true;
            self.since += 1;
            self.sink.record(meta, raw)?;
            if self.since < ROUND {
                return Ok(());
            }
            return self.mark(meta);
        }
        if self.is_waiting && raw.header().kind < RecordType::USER_START {
            self.is_waiting = false;
            self.mark(meta)?;
            self.mark(meta)?;
        }
        self.sink.record(meta, raw)
    }

    fn mark(&mut self, meta: &Meta) -> Result<()> {
        (self.since, self.marks) = (0, self.marks + 1);
        let header =
            RecordHeader { kind: RecordType::FINISHED_ROUND, misc: Misc::empty(), size: RecordHeader::SIZE as u16 };
        self.mark.record = encoded(abi::to_bytes(&header, meta.endian))?;
        self.mark.pass_at(&mut self.sink, meta, RecordPlacement { source: 0, base: 0, origin: Origin::File })
    }
}
