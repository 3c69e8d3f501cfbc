//! The contents of perf_to_profile's profile.

use super::events::Events;
use super::processes::Mapping;
use crate::profile::intern::stacks::{StackId, Stacks};
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
    /// Event, sample count and value of each stack; of its first event.
    rows: Vec<(u32, u64, u64)>,
    /// Sample counts and values of the other events of stacks.
    other_events: HashMap<(StackId, u32), (u64, u64)>,
    /// Version and command line of perf, as comments.
    pub(super) comments: Vec<String>,
}

impl CompatProfile {
    /// Adds samples. Sums wrap around, as in perf_to_profile.
    #[inline]
    pub(super) fn add(&mut self, stack: StackId, event: u32, samples: u64, period: Option<u64>) {
        let weight = self.events.weight(event, period);
        let value = weight.wrapping_mul(samples);
        let index = stack as usize;
        if index >= self.rows.len() {
            // The event becomes the first of the stack.
            self.rows.resize(index + 1, (event, 0, 0));
        }
        let row = &mut self.rows[index];
        let (count, sum) = match row.0 == event {
            true => (&mut row.1, &mut row.2),
            false => {
                let (count, sum) = self.other_events.entry((stack, event)).or_default();
                (count, sum)
            }
        };
        *count = count.wrapping_add(samples);
        *sum = sum.wrapping_add(value);
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Stack, event, sample count and value; sorted.
    pub(super) fn rows(&self) -> Vec<(StackId, u32, u64, u64)> {
        let first = (0..).zip(&self.rows).map(|(stack, &(event, samples, value))| (stack, event, samples, value));
        let others =
            self.other_events.iter().map(|(&(stack, event), &(samples, value))| (stack, event, samples, value));
        let mut rows: Vec<_> = first.chain(others).collect();
        rows.sort_unstable();
        rows
    }
}
