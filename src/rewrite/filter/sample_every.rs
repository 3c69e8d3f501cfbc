//! Keeps every Nth sample of each event: `--sample-every`.

use super::pass::{Filter, FilteredSample};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use std::num::NonZeroU64;

/// Keeps every Nth sample.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct SampleEvery {
    /// Keep only every Nth sample of each event.
    #[cfg_attr(feature = "cli", arg(long = "sample-every", id = "sample_every", value_name = "N", value_parser = crate::option_values::positive_number))]
    pub every: NonZeroU64,
}

impl SampleEvery {
    /// Every Nth sample, from 1.
    pub fn new(every: u64) -> Self {
        Self { every: NonZeroU64::new(every).unwrap_or(NonZeroU64::MIN) }
    }
}

impl PassOptions for SampleEvery {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(EveryFilter::new(self.every))
    }
}

/// Keeps the first of every N samples of each event, in file order. This thins out each CPU evenly, and a frequent event does
/// not displace a rare one.
#[derive(Clone, Debug)]
pub struct EveryFilter {
    every: NonZeroU64,
    /// Samples seen of each event.
    seen: Vec<u64>,
}

impl EveryFilter {
    /// Creates a filter that keeps one of `every` samples.
    pub fn new(every: NonZeroU64) -> Self {
        Self { every, seen: Vec::new() }
    }
}

impl Filter for EveryFilter {
    fn option(&self) -> &'static str {
        "--sample-every"
    }

    fn begin(&mut self, _: &Meta) {
        self.seen.clear();
    }

    fn keeps(&mut self, sample: &FilteredSample<'_>) -> bool {
        let event = sample.event as usize;
        if self.seen.len() <= event {
            self.seen.resize(event + 1, 0);
        }
        let before = self.seen[event];
        self.seen[event] += 1;
        before % self.every == 0
    }

    fn check(&mut self, _: &Meta) -> Result<()> {
        Ok(())
    }
}
