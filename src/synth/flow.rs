//! The way of records to their sink: in the order of time, with rounds.

use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::rewrite::rounds::Rounds;
use crate::rewrite::sort::{Sort, Untimed};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;

/// Where records go.
pub(super) enum Flow<S> {
    /// They come in the order of time, or are to be out of it.
    AsTold(Marked<S>),
    /// They are put into the order of time.
    Sorted(Box<Sort<Marked<S>>>),
}

impl<S: Sink> Flow<S> {
    pub(super) fn unsorted(sink: S, rounds: bool) -> Self {
        Self::AsTold(Marked::new(sink, rounds))
    }

    pub(super) fn sorted(sink: S, rounds: bool, options: ReadOptions) -> Self {
        Self::Sorted(Box::new(Sort::new(Marked::new(sink, rounds), Untimed::InPlace, options)))
    }

    /// How many marks of rounds were added.
    pub(super) fn marks(&self) -> u64 {
        match self {
            Self::AsTold(marked) => marked.rounds.marks(),
            Self::Sorted(by_time) => by_time.sink().rounds.marks(),
        }
    }
}

impl<S: Sink> Sink for Flow<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        match self {
            Self::AsTold(marked) => marked.begin(meta),
            Self::Sorted(by_time) => by_time.begin(meta),
        }
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match self {
            Self::AsTold(marked) => marked.record(meta, raw),
            Self::Sorted(by_time) => by_time.record(meta, raw),
        }
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        match self {
            Self::AsTold(marked) => marked.end(meta),
            Self::Sorted(by_time) => by_time.end(meta),
        }
    }
}

/// Marks rounds, if that is asked for.
pub(super) struct Marked<S> {
    rounds: Rounds<S>,
    marks: bool,
}

impl<S: Sink> Marked<S> {
    fn new(sink: S, marks: bool) -> Self {
        Self { rounds: Rounds::new(sink), marks }
    }
}

impl<S: Sink> Sink for Marked<S> {
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
