//! Stages: transformations of records on their way to a sink.

use super::Sink;
use super::meta::Meta;
use super::raw::{Gap, Raw};
use crate::error::Result;

/// A transformation of records before a sink. The default methods pass everything on unchanged.
pub trait Stage<S: Sink + ?Sized> {
    /// Called first.
    ///
    /// # Errors
    /// Errors of the sink or the stage.
    fn begin(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        sink.begin(meta)
    }

    /// Called for each record.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()>;

    /// Called for corrupt bytes between records.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>, sink: &mut S) -> Result<()> {
        sink.gap(meta, gap)
    }

    /// Called last.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        sink.end(meta)
    }
}

impl<T: Stage<S> + ?Sized, S: Sink + ?Sized> Stage<S> for &mut T {
    fn begin(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        (**self).begin(meta, sink)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        (**self).record(meta, raw, sink)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>, sink: &mut S) -> Result<()> {
        (**self).gap(meta, gap, sink)
    }

    fn end(&mut self, meta: &Meta, sink: &mut S) -> Result<()> {
        (**self).end(meta, sink)
    }
}

/// A stage before a sink, as a [`Sink`]: the only type that forwards calls, so that no stage can forget one. It is done
/// when its sink is.
#[derive(Debug)]
pub struct Before<T, S> {
    /// The stage.
    pub stage: T,
    /// The sink behind it.
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
