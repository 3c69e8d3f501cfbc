//! What a sample adds to a profile.

use crate::profile::labels::LabelValue;
use crate::profile::timeline::Occurrence;
use perf_data::stream::events::EventIndex;

/// What a sample adds to a profile, except its stack.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    /// Part of a split.
    pub part: usize,
    /// Events and their values.
    pub weights: Vec<(EventIndex, u64)>,
    /// Labels; empty as long as only their ID is known.
    pub labels: Vec<LabelValue>,
    /// Time and payload, for profiles with a timeline.
    pub occurrence: Occurrence,
}
