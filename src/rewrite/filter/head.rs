//! Keeps the first samples: `--head`.

use super::pass::{Filter, Sample};
use crate::option_values::positive_number;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::pass::PreScanOrder;
use crate::rewrite::request::PassFactory;
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use std::num::NonZeroU64;

/// `--head`.
const HEAD: Parameter<NonZeroU64> = Parameter::once("--head", "N", positive_number);

/// The option of this filter.
pub const OPTIONS: &[PassOption] = &[PassOption::new(&HEAD, Outputs::All, "Keep only the first N samples", |values| {
    let wanted = values.one(&HEAD)?.get();
    Ok(PassFactory::filter(move || HeadFilter::new(wanted)))
})];

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
        HEAD.name()
    }

    fn order(&self) -> PreScanOrder {
        PreScanOrder::Time
    }

    fn begin(&mut self, _: &Meta) {
        self.seen = 0;
    }

    fn keeps(&mut self, _: &Sample<'_>) -> bool {
        self.seen += 1;
        self.seen <= self.wanted
    }

    fn check(&mut self, _: &Meta) -> Result<()> {
        Ok(())
    }
}
