//! Collects the objects and processes that an archive needs the files of.

use crate::rewrite::build_ids::objects::{ObjectScan, Scope};
use perf_data::abi::sample::view::SampleView;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// The scan, in time order, after unwinding. The frames of unwound stack dumps count as those of recorded call chains.
pub(crate) struct ArchiveScan {
    /// The objects found.
    pub objects: ObjectScan,
}

impl ArchiveScan {
    /// Creates a scan.
    pub(crate) fn new(scope: Scope) -> Self {
        Self { objects: ObjectScan::new(scope).with_processes() }
    }
}

impl Sink for ArchiveScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.objects.record(meta, raw)?;
        let Some(chain) = raw.call_chain() else { return Ok(()) };
        let layout = meta.events.find(raw).map(|(_, event)| &event.layout);
        let view = layout.and_then(|layout| SampleView::read(raw.body(), layout, raw.endian()).ok());
        let pid = view.and_then(|view| view.task).map_or(0, |(pid, _)| pid);
        self.objects.unwound(pid, &chain);
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.objects.end(meta)
    }
}
