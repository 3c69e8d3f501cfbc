//! Inserts FINISHED_ROUND records into records in time order, so that readers need not buffer all of them.

use super::replacement::{RecordBuffer, RecordPlacement};
use perf_data::abi::record::{Misc, RecordHeader, RecordType};
use perf_data::container::block::Origin;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::Stage;

/// Records in a round.
const ROUND: u32 = 1 << 14;

/// The stage that passes records on and inserts FINISHED_ROUND records.
///
/// perf processes a record without a time at once, and one with a time when the round after its own ends. Before a kernel
/// record without a time, two FINISHED_ROUND records flush the pending ones.
#[derive(Default)]
pub(crate) struct Rounds {
    /// Records with a time since the last FINISHED_ROUND.
    since: u32,
    /// Whether any record may still be pending in the reader.
    is_waiting: bool,
    marks: u64,
    mark: RecordBuffer,
}

impl Rounds {
    /// Number of FINISHED_ROUND records added.
    pub(crate) fn marks(&self) -> u64 {
        self.marks
    }

    /// Passes on a record. FINISHED_ROUND records of the input are dropped.
    ///
    /// # Errors
    /// Errors of the sink.
    pub(crate) fn pass<S: Sink + ?Sized>(
        &mut self,
        meta: &Meta,
        raw: &Raw<'_>,
        is_timed: bool,
        sink: &mut S,
    ) -> Result<()> {
        if raw.header().kind == RecordType::FINISHED_ROUND {
            return Ok(());
        }
        if is_timed {
            self.is_waiting = true;
            self.since += 1;
            sink.record(meta, raw)?;
            if self.since < ROUND {
                return Ok(());
            }
            return self.mark(meta, sink);
        }
        if self.is_waiting && raw.header().kind < RecordType::USER_START {
            self.is_waiting = false;
            self.mark(meta, sink)?;
            self.mark(meta, sink)?;
        }
        sink.record(meta, raw)
    }

    fn mark<S: Sink + ?Sized>(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        (self.since, self.marks) = (0, self.marks + 1);
        let header =
            RecordHeader { kind: RecordType::FINISHED_ROUND, misc: Misc::empty(), size: RecordHeader::SIZE as u16 };
        self.mark.record = header.to_bytes(meta.endian).into();
        self.mark.pass_at(sink, meta, RecordPlacement { source: 0, base: 0, origin: Origin::File })
    }
}

impl<S: Sink + ?Sized> Stage<S> for Rounds {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        self.pass(meta, raw, meta.events.time(raw).is_some(), sink)
    }
}
