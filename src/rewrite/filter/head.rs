//! Keeps the first samples: `--head`.

use super::pass::{Filter, FilteredSample};
use crate::rewrite::framework::pass::Pass;
use crate::rewrite::framework::pass::PreScanOrder;
use crate::rewrite::framework::pass_options::{PassContext, PassOptions};
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use std::num::NonZeroU64;

/// Keeps the first samples.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Head {
    /// Keep only the first N samples.
    #[cfg_attr(feature = "cli", arg(long = "head", id = "head", value_name = "N", value_parser = crate::option_values::positive_number))]
    pub samples: NonZeroU64,
}

impl Head {
    /// The first samples; at least one.
    pub fn new(samples: u64) -> Self {
        Self { samples: NonZeroU64::new(samples).unwrap_or(NonZeroU64::MIN) }
    }
}

impl PassOptions for Head {
    fn pass(&self, context: &PassContext) -> Box<dyn Pass> {
        context.filter(HeadFilter::new(self.samples.get()))
    }
}

/// Keeps the first samples in time order.
#[derive(Clone, Copy, Debug)]
pub struct HeadFilter {
    wanted: u64,
    seen: u64,
}

impl HeadFilter {
    /// Creates a filter of that many samples.
    pub fn new(wanted: u64) -> Self {
        Self { wanted, seen: 0 }
    }
}

impl Filter for HeadFilter {
    fn option(&self) -> &'static str {
        "--head"
    }

    fn order(&self) -> PreScanOrder {
        PreScanOrder::Time
    }

    fn begin(&mut self, _: &Meta) {
        self.seen = 0;
    }

    fn keeps(&mut self, _: &FilteredSample<'_>) -> bool {
        self.seen += 1;
        self.seen <= self.wanted
    }

    fn check(&mut self, _: &Meta) -> Result<()> {
        Ok(())
    }
}
