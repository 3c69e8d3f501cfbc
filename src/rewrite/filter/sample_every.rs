//! Keeps every Nth sample of each event: `--sample-every`.

use super::pass::{Filter, Sample};
use crate::option_values::positive_number;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::request::PassFactory;
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use std::num::NonZeroU64;

/// `--sample-every`.
const SAMPLE_EVERY: Parameter<NonZeroU64> = Parameter::once("--sample-every", "N", positive_number);

/// The option of this filter.
pub const OPTIONS: &[PassOption] =
    &[PassOption::new(&SAMPLE_EVERY, Outputs::All, "Keep only every Nth sample of each event", |values| {
        let every = values.one(&SAMPLE_EVERY)?;
        Ok(PassFactory::filter(move || EveryFilter::new(every)))
    })];

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
        SAMPLE_EVERY.name()
    }

    fn begin(&mut self, _: &Meta) {
        self.seen.clear();
    }

    fn keeps(&mut self, sample: &Sample<'_>) -> bool {
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
