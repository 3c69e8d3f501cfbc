//! A pass implemented by a function of one record.

use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// Calls a function for each record; gaps and the other calls are forwarded unchanged.
pub struct RecordFunction<F>(F);

impl<F> RecordFunction<F> {
    /// Puts a function, which forwards the records to keep, before a sink.
    pub fn new<S: Sink>(sink: S, take: F) -> Before<Self, S>
    where
        F: FnMut(&Meta, &Raw<'_>, &mut S) -> Result<()>,
    {
        Before::new(Self(take), sink)
    }
}

impl<S: Sink, F: FnMut(&Meta, &Raw<'_>, &mut S) -> Result<()>> Stage<S> for RecordFunction<F> {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        (self.0)(meta, raw, sink)
    }
}
