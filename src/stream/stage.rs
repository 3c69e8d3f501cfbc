//! Stages: what stands before a sink, and passes on to it what it wants.

use super::Sink;
use super::meta::Meta;
use super::raw::{Gap, Raw};
use crate::error::Result;

/// What is done with records on their way to a sink. All that a stage does not take itself is passed on as it is.
pub trait Stage<S: Sink + ?Sized> {
    /// The first call.
    ///
    /// # Errors
    /// Those of the sink, and where the stage cannot go on.
    fn begin(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        sink.begin(meta)
    }

    /// A record.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()>;

    /// Bytes between records that are none.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>, sink: &mut S) -> Result<()> {
        sink.gap(meta, gap)
    }

    /// The last call.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        sink.end(meta)
    }
}

/// A stage before a sink: the one [`Sink`] that forwards, so that no stage can forget a call. It needs no more records when its
/// sink needs none.
#[derive(Debug)]
pub struct Before<T, S> {
    /// The stage.
    pub stage: T,
    /// Where it passes records on to.
    pub sink: S,
}

impl<T, S> Before<T, S> {
    /// Puts a stage before a sink.
    pub fn new(stage: T, sink: S) -> Self {
        Self { stage, sink }
    }
}

impl<T: Stage<S>, S: Sink> Sink for Before<T, S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.stage.begin(meta, &mut self.sink)
    }

    #[inline]
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.stage.record(meta, raw, &mut self.sink)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.stage.gap(meta, gap, &mut self.sink)
    }

    fn is_done(&self) -> bool {
        self.sink.is_done()
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.stage.end(meta, &mut self.sink)
    }
}
