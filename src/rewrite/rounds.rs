//! Rounds marked anew in records that come in the order of time, so that whoever reads them need not have all of them in memory.

use super::replacement::{Place, RecordBuffer};
use crate::abi;
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::container::block::Origin;
use crate::container::write::encoded;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// How many records are in a round.
const ROUND: u32 = 1 << 14;

/// Passes records on, and marks rounds.
///
/// perf takes a record without a time at once, and those with one when the round behind theirs has ended. Where one without a
/// time stands behind others, two marks before it have these taken first.
pub struct Rounds<S> {
    sink: S,
    /// How many with a time there were since the last mark.
    since: u32,
    /// Whether any of them may not be taken yet.
    is_waiting: bool,
    marks: u64,
    mark: RecordBuffer,
}

impl<S: Sink> Rounds<S> {
    /// Puts it before a sink.
    pub fn new(sink: S) -> Self {
        Self { sink, since: 0, is_waiting: false, marks: 0, mark: RecordBuffer::default() }
    }

    /// How many marks were added.
    pub fn marks(&self) -> u64 {
        self.marks
    }

    /// The sink, to be begun and ended.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// Passes on a record, of which must be said whether it has a time. The marks that were there are left out.
    ///
    /// # Errors
    /// What the sink says.
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
        self.mark.pass_at(&mut self.sink, meta, Place { source: 0, base: 0, origin: Origin::File })
    }
}
