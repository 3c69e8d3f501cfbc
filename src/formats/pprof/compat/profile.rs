//! The contents of perf_to_profile's profile.

use super::events::Events;
use super::processes::Mapping;
use crate::profile::stacks::{StackId, Stacks};
use hashbrown::HashMap;

/// The profile that perf_to_profile produces: locations and mappings belong to one process each.
#[derive(Debug, Default)]
pub struct CompatProfile {
    /// The events, all of which have columns.
    pub(super) events: Events,
    /// Mappings. The first is the main one.
    pub(super) mappings: Vec<Mapping>,
    /// Addresses, and the indexes of their mappings.
    pub(super) locations: Vec<(u64, Option<u32>)>,
    /// Stacks of locations, leaf first.
    pub(super) stacks: Stacks,
    /// Sample counts and values, by stack and event.
    rows: HashMap<(StackId, u32), (u64, u64)>,
    /// Version and command line of perf, as comments.
    pub(super) comments: Vec<String>,
}

impl CompatProfile {
    /// Adds samples. Sums wrap around, as in perf_to_profile.
    #[inline]
    pub(super) fn add(&mut self, stack: StackId, event: u32, samples: u64, period: Option<u64>) {
        let weight = self.events.weight(event, period);
        let (count, value) = self.rows.entry((stack, event)).or_default();
        *count = count.wrapping_add(samples);
        *value = value.wrapping_add(weight.wrapping_mul(samples));
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Stack, event, sample count and value; sorted.
    pub(super) fn rows(&self) -> Vec<(StackId, u32, u64, u64)> {
        let mut rows: Vec<_> =
            self.rows.iter().map(|(&(stack, event), &(samples, value))| (stack, event, samples, value)).collect();
        rows.sort_unstable();
        rows
    }
}
