//! Stacks and values: what a recording comes to once all records have been seen, in no particular format.

pub mod collector;
pub mod event;
pub mod frames;
mod mappings;
pub(crate) mod resolved;
pub mod stacks;

use crate::session::map::Map;
use event::ProfileEvent;
use stacks::{StackId, Stacks};

/// Number of a mapping in [`Profile::mappings`].
pub type MappingId = u32;

/// An address in what is mapped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// What is mapped at the address; `None` where nothing is known to be.
    pub mapping: Option<MappingId>,
    /// The address. Of a caller, the last byte of its call rather than the instruction behind it.
    pub address: u64,
}

/// How often a stack was seen with an event, and how much of the event that stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which stack.
    pub stack: StackId,
    /// Which event, by its place in [`Profile::events`].
    pub event: u32,
    /// Samples.
    pub samples: u64,
    /// Sum of their periods.
    pub value: u64,
}

/// Stacks with their values.
#[derive(Debug, Default)]
pub struct Profile {
    /// The events of the recording.
    pub events: Vec<ProfileEvent>,
    /// What was mapped, each once, whichever processes mapped it.
    pub mappings: Vec<Map>,
    /// The mapping of the program that was recorded.
    pub main_mapping: Option<MappingId>,
    /// The stacks.
    pub stacks: Stacks,
    /// Values, one row for each stack and event.
    pub rows: Vec<Row>,
    /// Times of the first and the last sample, nanoseconds of the recording's clock.
    pub times: Option<(u64, u64)>,
    /// Wall clock at the first sample, nanoseconds since 1970 UTC, where the recording tells how to convert.
    pub wall_clock_start: Option<u64>,
    /// Version of perf.
    pub perf_version: Option<String>,
    /// Command line of perf.
    pub command: Option<String>,
}
