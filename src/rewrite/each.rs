//! A pass that takes records one by one.

use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::{Gap, Raw};

/// Gives each record to a function, which passes on what it wants; all else goes on as it is.
pub struct Each<S, F> {
    sink: S,
    take: F,
}

impl<S, F> Each<S, F>
where
    S: Sink,
    F: FnMut(&Meta, &Raw<'_>, &mut S) -> Result<()>,
{
    /// Puts a function before a sink.
    pub fn new(sink: S, take: F) -> Self {
        Self { sink, take }
    }
}

impl<S, F> Sink for Each<S, F>
where
    S: Sink,
    F: FnMut(&Meta, &Raw<'_>, &mut S) -> Result<()>,
{
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.sink.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        (self.take)(meta, raw, &mut self.sink)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.sink.gap(meta, gap)
    }

    fn is_done(&self) -> bool {
        self.sink.is_done()
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.sink.end(meta)
    }
}
