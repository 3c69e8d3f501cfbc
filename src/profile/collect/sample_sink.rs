//! Receives samples one by one instead of collecting them.

use crate::profile::intern::stacks::{FrameId, StackId};
use crate::profile::labels::LabelValue;
use perf_data::error::Result;
use perf_data::session::names::Names;
use perf_data::stream::events::EventIndex;

/// Receives samples one by one.
pub trait SampleSink {
    /// Processes a sample.
    ///
    /// # Errors
    /// Fails if processing cannot continue.
    fn sample(&mut self, sample: &ResolvedSample<'_>) -> Result<()>;
}

/// A resolved sample.
#[derive(Clone, Copy, Debug)]
pub struct ResolvedSample<'a> {
    /// ID of its stack.
    pub stack: StackId,
    /// Its stack, leaf first.
    pub frames: &'a [FrameId],
    /// Its labels.
    pub labels: &'a [LabelValue],
    /// Its events and their values.
    pub weights: &'a [(EventIndex, u64)],
    /// Number of samples that it represents.
    pub samples: u64,
    /// Texts of labels.
    pub names: &'a Names,
}
