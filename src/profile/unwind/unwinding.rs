//! Replaces the stack dumps of samples by call chains, before a sink that receives records in time order, and the IDs of stacks in
//! recordings of hiperf.

use crate::profile::symbolize::SymbolSources;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::{Gap, Raw};
use perf_data::stream::stage::{Before, Stage};

use super::stack_dumps::StackDumps;
use super::unique_stacks::UniqueStacks;
use crate::profile::symbolize::SymbolOptions;
use std::sync::Arc;

/// The stage. Without object files to read, it passes records on unchanged.
pub struct Unwinding {
    dumps: Option<StackDumps>,
    /// Stacks by their ID, read at the first record; `None` in most recordings.
    unique: Option<Option<UniqueStacks>>,
}

/// A sink in time order whose samples are unwound.
pub(crate) type Unwound<S> = Order<Before<Unwinding, S>>;

impl Unwinding {
    /// Creates the stage.
    fn new(sources: &SymbolSources) -> Self {
        Self { dumps: sources.objects.as_ref().and_then(StackDumps::new), unique: None }
    }

    /// Creates the stage with how object files are searched.
    pub fn with_objects(options: &Arc<SymbolOptions>) -> Self {
        Self { dumps: StackDumps::new(options), unique: None }
    }

    /// Puts the stage before a sink, behind the ordering of records by time.
    pub fn in_time_order<S: Sink>(sources: &SymbolSources, sink: S, read: ReadOptions) -> Unwound<S> {
        Order::new(Before::new(Self::new(sources), sink), read)
    }

    /// Passes on the records that wait.
    fn finish(&mut self, meta: &Meta, sink: &mut impl Sink) -> Result<()> {
        if let Some(dumps) = &mut self.dumps {
            dumps.finish(meta, sink)?;
        }
        Ok(())
    }

    /// Adds to a ledger how many stacks are complete, and why others are not.
    pub fn note(&self, ledger: &mut Ledger) {
        if let Some(dumps) = &self.dumps {
            dumps.note(ledger);
        }
    }
}

impl<S: Sink> Stage<S> for Unwinding {
    #[inline]
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        if let Some(unique) = self.unique.get_or_insert_with(|| UniqueStacks::read(meta))
            && let Some(sample) = unique.with_call_chain(meta, raw)
        {
            // The records before it.
            if let Some(dumps) = &mut self.dumps {
                dumps.finish(meta, sink)?;
            }
            return sink.record(meta, &sample);
        }
        if let Some(dumps) = &mut self.dumps {
            return dumps.record(meta, raw, sink);
        }
        sink.record(meta, raw)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>, sink: &mut S) -> Result<()> {
        self.finish(meta, sink)?;
        sink.gap(meta, gap)
    }

    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        self.finish(meta, sink)?;
        sink.end(meta)
    }
}
