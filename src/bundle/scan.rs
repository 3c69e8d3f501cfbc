//! Collects the objects and processes that an archive needs the files of.

use crate::abi::sample_view::SampleView;
use crate::error::Result;
use crate::profile::stack_dumps::StackDumps;
use crate::profile::symbolize::SymbolOptions;
use crate::rewrite::build_ids::objects::{ObjectScan, Scope};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use std::sync::Arc;

/// The scan, in time order. The frames of unwound stack dumps count as those of recorded call chains.
pub struct ArchiveScan {
    /// The objects found.
    pub objects: ObjectScan,
    dumps: Option<StackDumps>,
}

impl ArchiveScan {
    /// Creates a scan that unwinds with the files that these options find.
    pub fn new(scope: Scope, symbols: &Arc<SymbolOptions>) -> Self {
        Self { objects: ObjectScan::new(scope).with_processes(), dumps: StackDumps::new(symbols) }
    }
}

impl Sink for ArchiveScan {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.objects.record(meta, raw)?;
        let Some(chain) = self.dumps.as_mut().and_then(|dumps| dumps.record(meta, raw)) else { return Ok(()) };
        let layout = meta.events.of(raw).map(|(_, event)| &event.layout);
        let view = layout.and_then(|layout| SampleView::read(raw.body(), layout, raw.endian()).ok());
        let pid = view.and_then(|view| view.task).map_or(0, |(pid, _)| pid);
        self.objects.unwound(pid, &chain);
        Ok(())
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.objects.end(meta)
    }
}
