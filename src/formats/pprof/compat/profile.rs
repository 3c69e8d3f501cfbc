//! What perf_to_profile's profile has.

use super::events::Events;
use super::processes::Mapping;
use crate::profile::stacks::{StackId, Stacks};
use hashbrown::HashMap;

/// The profile as perf_to_profile makes it: locations and mappings are of one process each.
#[derive(Debug, Default)]
pub struct CompatProfile {
    /// The events, which all have columns.
    pub(super) events: Events,
    /// Mappings. The first is that of the main program.
    pub(super) mappings: Vec<Mapping>,
    /// Addresses, and the numbers of their mappings.
    pub(super) locations: Vec<(u64, Option<u32>)>,
    /// Stacks of locations, leaf first.
    pub(super) stacks: Stacks,
    /// Samples and what they count, by stack and event.
    rows: HashMap<(StackId, u32), (u64, u64)>,
    /// Version and command line of perf, as comments.
    pub(super) comments: Vec<String>,
}

impl CompatProfile {
    /// Adds samples. Sums that are too large begin anew, as they do there.
    #[inline]
    pub(super) fn add(&mut self, stack: StackId, event: u32, samples: u64, period: Option<u64>) {
        let weight = self.events.weight(event, period);
        let (count, value) = self.rows.entry((stack, event)).or_default();
        *count = count.wrapping_add(samples);
        *value = value.wrapping_add(weight.wrapping_mul(samples));
    }

    /// Whether there is not a single sample.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Stack, event, samples and what they count; by stack.
    pub(super) fn rows(&self) -> Vec<(StackId, u32, u64, u64)> {
        let mut rows: Vec<_> =
            self.rows.iter().map(|(&(stack, event), &(samples, value))| (stack, event, samples, value)).collect();
        rows.sort_unstable();
        rows
    }
}
