//! Path of records to their sink: sorting and round marks.

use crate::rewrite::framework::rounds::Rounds;
use crate::rewrite::sort::{Sorting, Untimed};
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// Path of records to a sink.
pub(super) type Flow<S> = Before<Sorter, Order<Before<RoundMarker, S>>>;

/// Records in the order of the calls.
pub(super) fn unsorted<S: Sink>(sink: S, rounds: bool) -> Flow<S> {
    flow(sink, rounds, None, ReadOptions::default())
}

/// Records sorted by time.
pub(super) fn sorted<S: Sink>(sink: S, rounds: bool, options: ReadOptions) -> Flow<S> {
    flow(sink, rounds, Some(Sorting::new(Untimed::InPlace)), options)
}

fn flow<S: Sink>(sink: S, rounds: bool, sort: Option<Sorting>, options: ReadOptions) -> Flow<S> {
    let marker = RoundMarker(rounds.then(Rounds::default));
    Before::new(Sorter(sort), Order::new(Before::new(marker, sink), options))
}

/// Number of round marks added.
pub(super) fn marks<S: Sink>(flow: &Flow<S>) -> u64 {
    flow.sink.sink().stage.0.as_ref().map_or(0, Rounds::marks)
}

/// Sorts records, if enabled.
pub(super) struct Sorter(Option<Sorting>);

impl<S: Sink> Stage<Order<S>> for Sorter {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, order: &mut Order<S>) -> Result<()> {
        match &mut self.0 {
            Some(sort) => sort.record(meta, raw, order),
            None => order.sink_mut().record(meta, raw),
        }
    }
}

/// Adds round marks, if enabled.
pub(super) struct RoundMarker(Option<Rounds>);

impl<S: Sink> Stage<S> for RoundMarker {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, sink: &mut S) -> Result<()> {
        match &mut self.0 {
            Some(rounds) => rounds.record(meta, raw, sink),
            None => sink.record(meta, raw),
        }
    }
}
