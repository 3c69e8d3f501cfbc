//! Path of records to their sink: sorting and round marks.

use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::rewrite::rounds::Rounds;
use crate::rewrite::sort::{Sort, Untimed};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// Path of records to a sink.
pub(super) enum Flow<S> {
    /// In the order of the calls.
    Unsorted(RoundMarker<S>),
    /// Sorted by time.
    Sorted(Box<Sort<RoundMarker<S>>>),
}

impl<S: Sink> Flow<S> {
    pub(super) fn unsorted(sink: S, rounds: bool) -> Self {
        Self::Unsorted(RoundMarker::new(sink, rounds))
    }

    pub(super) fn sorted(sink: S, rounds: bool, options: ReadOptions) -> Self {
        Self::Sorted(Box::new(Sort::new(RoundMarker::new(sink, rounds), Untimed::InPlace, options)))
    }

    /// Number of round marks added.
    pub(super) fn marks(&self) -> u64 {
        match self {
            Self::Unsorted(marked) => marked.rounds.marks(),
            Self::Sorted(by_time) => by_time.sink().rounds.marks(),
        }
    }
}

impl<S: Sink> Sink for Flow<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        match self {
            Self::Unsorted(marked) => marked.begin(meta),
            Self::Sorted(by_time) => by_time.begin(meta),
        }
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match self {
            Self::Unsorted(marked) => marked.record(meta, raw),
            Self::Sorted(by_time) => by_time.record(meta, raw),
        }
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        match self {
            Self::Unsorted(marked) => marked.end(meta),
            Self::Sorted(by_time) => by_time.end(meta),
        }
    }
}

/// Adds round marks, if enabled.
pub(super) struct RoundMarker<S> {
    rounds: Rounds<S>,
    marks: bool,
}

impl<S: Sink> RoundMarker<S> {
    fn new(sink: S, marks: bool) -> Self {
        Self { rounds: Rounds::new(sink), marks }
    }
}

impl<S: Sink> Sink for RoundMarker<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.rounds.sink_mut().begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if self.marks {
            return self.rounds.pass(meta, raw, meta.events.time(raw).is_some());
        }
        self.rounds.sink_mut().record(meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.rounds.sink_mut().end(meta)
    }
}
