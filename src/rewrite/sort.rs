//! Sorts records by time across the whole recording, ignoring rounds: `--sort`, and quipper's `sort`.

use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions, PassOrder};
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// Sorts the records of the whole recording by time.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Sort {}

impl PassOptions for Sort {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        Box::new(SortPass::new(Untimed::InPlace, context.read.clone()))
    }

    fn order(&self) -> PassOrder {
        PassOrder::AfterAnonymizing
    }
}

/// Where records without a time are placed. Records with equal times keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untimed {
    /// After all records that preceded them. This includes FINISHED_ROUND: no older record follows it any more, so perf reads the
    /// output correctly.
    InPlace,
    /// First, together with records whose time is 0, as in quipper. If any event has no times, no record moves.
    First,
}

/// The sorting pass.
#[derive(Debug)]
pub struct SortPass {
    untimed: Untimed,
    options: ReadOptions,
}

impl SortPass {
    /// Creates the pass; `options` set the memory limits and the directory of temporary files.
    pub fn new(untimed: Untimed, options: ReadOptions) -> Self {
        Self { untimed, options }
    }
}

impl Pass for SortPass {
    fn name(&self) -> String {
        match self.untimed {
            Untimed::InPlace => "--sort".to_owned(),
            Untimed::First => "sort".to_owned(),
        }
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Sorting::before(sink, self.untimed, self.options.clone()))
    }
}

/// The stage that sorts records before they reach a sink.
#[derive(Debug)]
pub struct Sorting {
    untimed: Untimed,
    /// The latest time so far.
    newest: u64,
    /// The number of events when last checked, and whether all of them have times.
    timed: (usize, bool),
}

impl Sorting {
    /// Sorts before a sink. Records beyond the memory [limits](ReadOptions::limits) spill to temporary files.
    pub fn before<S: Sink>(sink: S, untimed: Untimed, options: ReadOptions) -> Before<Self, Order<S>> {
        Before::new(Self::new(untimed), Order::new(sink, options))
    }

    /// Creates the stage.
    pub fn new(untimed: Untimed) -> Self {
        Self { untimed, newest: 0, timed: (0, true) }
    }

    /// The time to sort a record by; `None` if it is passed on at once.
    fn key(&mut self, meta: &Meta, raw: &Raw<'_>) -> Option<u64> {
        match self.untimed {
            Untimed::InPlace => {
                let time = meta.events.time(raw);
                self.newest = self.newest.max(time.unwrap_or(0));
                time.or(Some(self.newest).filter(|&newest| newest > 0))
            }
            Untimed::First => meta.events.recorded_time(raw).filter(|&time| time > 0 && self.are_timed(meta)),
        }
    }

    fn are_timed(&mut self, meta: &Meta) -> bool {
        let events = meta.events.list();
        if events.len() != self.timed.0 {
            let are_timed = events.iter().all(|event| event.layout.sample_type().contains(SampleType::TIME));
            self.timed = (events.len(), are_timed);
        }
        self.timed.1
    }
}

impl<S: Sink> Stage<Order<S>> for Sorting {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>, order: &mut Order<S>) -> Result<()> {
        match self.key(meta, raw) {
            Some(time) => order.wait(time, raw),
            None => order.sink_mut().record(meta, raw),
        }
    }
}
