//! Records in the order of time, by the whole recording and whatever its rounds are: `--sort`, and quipper's `sort`.

use super::option::{Outputs, Parameter, PassOption, Place};
use super::pass::Pass;
use super::request::PassFactory;
use crate::abi::sample_type::SampleType;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::{Gap, Raw};

/// `--sort`.
const SORT: Parameter<()> = Parameter::flag("--sort");

/// The option of this pass.
pub const OPTIONS: &[PassOption] =
    &[PassOption::new(&SORT, Outputs::Records, "Records in the order of time, by the whole recording", |_| {
        Ok(PassFactory::new(|context| SortPass::new(Untimed::InPlace, context.read.clone())))
    })
    .place(Place::AfterAnonymizing)];

/// Where records without a time go. Records of the same time stay in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untimed {
    /// Behind all that they were behind. That includes the ends of rounds: as nothing older follows them any more, perf reads
    /// them correctly.
    InPlace,
    /// To the front, as quipper has it, with those whose time is 0. Where an event has no times, no record moves.
    First,
}

/// The pass that sorts.
#[derive(Debug)]
pub struct SortPass {
    untimed: Untimed,
    options: ReadOptions,
}

impl SortPass {
    /// Sorts with the memory and the directory for temporary files of these options.
    pub fn new(untimed: Untimed, options: ReadOptions) -> Self {
        Self { untimed, options }
    }
}

impl Pass for SortPass {
    fn name(&self) -> String {
        match self.untimed {
            Untimed::InPlace => SORT.name().to_owned(),
            Untimed::First => "sort".to_owned(),
        }
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Sort::new(sink, self.untimed, self.options.clone()))
    }
}

/// Sorts records before they reach a sink.
pub struct Sort<S> {
    order: Order<S>,
    untimed: Untimed,
    /// The newest time so far.
    newest: u64,
    /// How many events there were when they were last looked at, and whether all of them have times.
    timed: (usize, bool),
}

impl<S: Sink> Sort<S> {
    /// Sorts before a sink. What waits beyond the [limits](ReadOptions::limits) goes to temporary files.
    pub fn new(sink: S, untimed: Untimed, options: ReadOptions) -> Self {
        Self { order: Order::new(sink, options), untimed, newest: 0, timed: (0, true) }
    }

    /// The sink.
    pub fn sink(&self) -> &S {
        self.order.sink()
    }

    /// The time by which a record is sorted; `None` of one that goes on at once.
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

impl<S: Sink> Sink for Sort<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.order.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        match self.key(meta, raw) {
            Some(time) => self.order.wait(time, raw),
            None => self.order.sink_mut().record(meta, raw),
        }
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.order.gap(meta, gap)
    }

    fn is_done(&self) -> bool {
        self.order.is_done()
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.order.end(meta)
    }
}
