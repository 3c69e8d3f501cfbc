//! Events with values other than periods, which follow those of the recording.

use super::merged_events::MergedEvents;
use super::parts::Part;
use crate::profile::event::ProfileEvent;
use crate::profile::weight::sample_weight::{SampleWeight, recorded};
use perf_data::stream::events::EventIndex;
use std::collections::BTreeSet;

/// The events whose samples have another value, in order.
pub(super) struct DerivedEvents {
    /// [Derived](crate::profile::weight::sample_weight::derived) indexes.
    list: Vec<EventIndex>,
    /// Index of the first in the profile.
    first: EventIndex,
}

impl DerivedEvents {
    /// Those with samples, after events were added up.
    pub(super) fn new(parts: &[Part], merged: &MergedEvents) -> Self {
        let all = parts.iter().flat_map(|part| &part.has_samples);
        let events: BTreeSet<_> =
            all.filter(|event| recorded(**event).is_some()).map(|&event| merged.representative(event)).collect();
        Self { list: events.into_iter().collect(), first: 0 }
    }

    /// Appends them to the events of a profile.
    pub(super) fn append(&mut self, events: &mut Vec<ProfileEvent>, value: &SampleWeight) {
        self.first = events.len() as EventIndex;
        for event in self.list.iter().filter_map(|&event| recorded(event)) {
            if let Some(recorded) = events.get(event as usize) {
                events.push(value.event(recorded, self.list.len() == 1));
            }
        }
    }

    /// Replaces their indexes in a part.
    pub(super) fn number(&self, part: &mut Part) {
        if self.list.is_empty() {
            return;
        }
        part.replace_events(|event| match self.list.binary_search(&event) {
            Ok(index) => self.first + index as EventIndex,
            Err(_) => event,
        });
    }
}
