//! Samples that are taken one by one, and not kept.

use super::labels::LabelValue;
use super::stacks::{FrameId, StackId};
use crate::error::Result;
use crate::session::names::Names;
use crate::stream::events::EventIndex;

/// What takes samples one by one.
pub trait TakeSamples {
    /// Takes a sample.
    ///
    /// # Errors
    /// Where it cannot go on.
    fn take(&mut self, sample: &TakenSample<'_>) -> Result<()>;
}

/// A sample on its way to where it is taken.
#[derive(Clone, Copy, Debug)]
pub struct TakenSample<'a> {
    /// The number of its stack.
    pub stack: StackId,
    /// Its stack, leaf first.
    pub frames: &'a [FrameId],
    /// Its labels.
    pub labels: &'a [LabelValue],
    /// The events that it stands for, and how much of each.
    pub weights: &'a [(EventIndex, u64)],
    /// How many samples it is.
    pub samples: u64,
    /// Texts of labels.
    pub names: &'a Names,
}
