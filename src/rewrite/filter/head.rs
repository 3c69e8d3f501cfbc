//! The first samples: `--head`.

use super::pass::{Filter, Sample};
use crate::error::Result;
use crate::rewrite::pass::LookOrder;
use crate::stream::meta::Meta;

/// Keeps the first samples in the order of time.
#[derive(Clone, Copy, Debug)]
pub struct HeadFilter {
    wanted: u64,
    seen: u64,
}

impl HeadFilter {
    /// That many.
    pub fn new(wanted: u64) -> Self {
        Self { wanted, seen: 0 }
    }
}

impl Filter for HeadFilter {
    fn option(&self) -> &'static str {
        "--head"
    }

    fn order(&self) -> LookOrder {
        LookOrder::Time
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
