//! Removes user stack dumps and user registers from samples: `--strip-user-stack`.
//!
//! `perf record --call-graph dwarf` records them instead of user call chains. The pass only removes them; unwind before it to
//! keep the call chains.

use super::header::Header;
use crate::rewrite::framework::pass::{Pass, PreScan};
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use crate::rewrite::framework::replacement::RecordBuffer;
use crate::rewrite::framework::sample_parts::{SampleParts, layout_with};
use perf_data::abi::record::RecordHeader;
use perf_data::abi::sample_type::SampleType;
use perf_data::error::{Error, Result};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// Removes user stack dumps and user registers from samples.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct StripUserStack {}

impl PassOptions for StripUserStack {
    fn pass(&self, _: &PassContext) -> Box<dyn Pass> {
        Box::new(StripUserStackPass::default())
    }
}

/// The pass that removes user stacks. Everything else in samples and events is preserved.
#[derive(Debug, Default)]
pub struct StripUserStackPass {
    /// Samples that cannot be decoded, and would be misread after the edit of the attr.
    unreadable: u64,
}

impl Pass for StripUserStackPass {
    fn name(&self) -> String {
        "--strip-user-stack".to_owned()
    }

    fn pre_scan(&mut self) -> Option<PreScan<'_>> {
        Some(PreScan::at_meta(check))
    }

    fn edits(&self) -> bool {
        true
    }

    fn edit(&mut self, header: &mut Header) -> Result<()> {
        for event in header.events.iter_mut().flatten() {
            event.attr.sample_type.remove(SampleType::USER_DUMP);
            (event.attr.sample_regs_user, event.attr.sample_stack_user) = (0, 0);
        }
        Ok(())
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        self.unreadable = 0;
        let stage = Strip { changed: RecordBuffer::default(), unreadable: &mut self.unreadable };
        Box::new(Before::new(stage, sink))
    }

    fn report(&self, ledger: &mut Ledger) {
        if self.unreadable > 0 {
            let problem = "samples that cannot be decoded are dropped: they would be misread without user stacks";
            ledger.missing(format!("{}: {} {problem}", self.name(), self.unreadable));
        }
    }
}

/// Checks that an event has user stacks or registers.
fn check(meta: &Meta) -> Result<()> {
    if has_stacks(meta) {
        return Ok(());
    }
    Err(Error::not_found("--strip-user-stack: no event samples user stacks or registers"))
}

fn has_stacks(meta: &Meta) -> bool {
    meta.events.list().iter().any(|event| event.layout.sample_type().intersects(SampleType::USER_DUMP))
}

struct Strip<'a> {
    changed: RecordBuffer,
    unreadable: &'a mut u64,
}

impl<S: Sink + ?Sized> Stage<S> for Strip<'_> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        let Some(layout) = layout_with(meta, raw, |fields| fields.intersects(SampleType::USER_DUMP)) else {
            return sink.record(meta, raw);
        };
        let Some(SampleParts { dump, .. }) = SampleParts::locate(raw, layout) else {
            *self.unreadable += 1;
            return Ok(());
        };
        let (before, after) = (&raw.body()[..dump.start], &raw.body()[dump.end..]);
        let len = RecordHeader::SIZE + before.len() + after.len();
        let Some(header) = raw.header().with_len(len) else { return Ok(()) };
        self.changed.record.clear();
        self.changed.record.extend(header.to_bytes(raw.endian()));
        self.changed.record.extend_from_slice(before);
        self.changed.record.extend_from_slice(after);
        self.changed.pass(sink, meta, raw)
    }
}
