//! Records in the order of time: by the whole recording, whatever its rounds are.

use super::pass::Pass;
use crate::abi::sample_type::SampleType;
use crate::container::read::ReadOptions;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::order::Order;
use crate::stream::raw::{Gap, Raw};

/// Sorts by time; what tells none, and what perf made up with a time of 0, comes first. Where not every event tells times,
/// all stays in the order of the file.
pub struct Sort<S> {
    order: Order<S>,
    /// How many events there were at the last look at them, and whether all of them tell times.
    timed: (usize, bool),
}

/// The pass that sorts.
#[derive(Debug, Default)]
pub struct SortPass {
    /// Where temporary files go, and how much is kept in memory.
    pub options: ReadOptions,
}

impl Pass for SortPass {
    fn name(&self) -> String {
        "sort".to_owned()
    }

    fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
        Box::new(Sort::new(sink, self.options.clone()))
    }
}

impl<S: Sink> Sort<S> {
    /// Puts the order before a sink. What is too much for memory goes to temporary files.
    pub fn new(sink: S, options: ReadOptions) -> Self {
        Self { order: Order::new(sink, options), timed: (0, true) }
    }

    fn is_timed(&mut self, meta: &Meta) -> bool {
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
        match meta.events.recorded_time(raw).filter(|&time| time > 0 && self.is_timed(meta)) {
            Some(time) => self.order.wait(time, raw),
            None => self.order.sink_mut().record(meta, raw),
        }
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.order.gap(meta, gap)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.order.end(meta)
    }
}
