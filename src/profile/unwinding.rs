//! Replaces the stack dumps of samples by call chains, before a sink that receives records in time order.

use super::symbolize::SymbolSources;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::Raw;
use crate::stream::stage::{Before, Stage};

#[cfg(feature = "symbols")]
use super::stack_dumps::StackDumps;

/// The stage. Without object files to read, it passes records on unchanged.
pub struct Unwinding {
    #[cfg(feature = "symbols")]
    dumps: Option<StackDumps>,
}

/// A sink in time order whose samples are unwound.
pub type Unwound<S> = Order<Before<Unwinding, S>>;

impl Unwinding {
    /// Creates the stage.
    pub fn new(sources: &SymbolSources) -> Self {
        #[cfg(not(feature = "symbols"))]
        let _ = sources;
        Self {
            #[cfg(feature = "symbols")]
            dumps: sources.objects.as_ref().and_then(StackDumps::new),
        }
    }

    /// Puts the stage before a sink, behind the ordering of records by time.
    pub fn in_time_order<S: Sink>(sources: &SymbolSources, sink: S, read: ReadOptions) -> Unwound<S> {
        Order::new(Before::new(Self::new(sources), sink), read)
    }

    /// Adds to a ledger how many stacks are complete, and why others are not.
    pub fn note(&self, ledger: &mut Ledger) {
        #[cfg(not(feature = "symbols"))]
        let _ = ledger;
        #[cfg(feature = "symbols")]
        if let Some(dumps) = &self.dumps {
            dumps.note(ledger);
        }
    }
}

impl<S: Sink> Stage<S> for Unwinding {
    #[inline]
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        #[cfg(feature = "symbols")]
        if let Some(dumps) = &mut self.dumps
            && let Some(chain) = dumps.record(meta, raw)
        {
            return sink.record(meta, &raw.with_call_chain(chain));
        }
        sink.record(meta, raw)
    }
}
