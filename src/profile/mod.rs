//! Stacks and values: what a recording comes to once all records have been seen, in no particular format.

pub mod collector;
mod data_source;
pub(crate) mod deferred;
pub(crate) mod dispatch;
pub mod event;
pub mod frames;
pub mod imported;
pub mod labels;
pub(crate) mod mappings;
pub(crate) mod omissions;
pub mod options;
mod parts;
pub mod pre_scan;
mod programs;
pub(crate) mod resolved;
pub(crate) mod resolver;
mod sample_owners;
pub mod sample_sink;
mod selection;
pub mod stacks;
pub mod symbols;
mod target;
pub mod unnamed;
pub(crate) mod weights;

use crate::session::map::Map;
use crate::session::names::Names;
use crate::session::space::Space;
use crate::stream::events::EventIndex;
use event::ProfileEvent;
use imported::ImportedProfile;
use labels::{LabelSets, LabelsId};
use stacks::{StackId, Stacks};
use std::collections::BTreeSet;
use std::sync::Arc;
use symbols::Symbols;

/// Number of a mapping in [`Tables::mappings`].
pub type MappingId = u32;

/// An address in what is mapped there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Where it is.
    pub place: Place,
    /// The address, in a mapping one of the mapping's, which may lie elsewhere in the process that the frame is of. Of a caller,
    /// the last byte of its call rather than the instruction behind it.
    pub address: u64,
}

impl Frame {
    /// What is mapped at the address.
    pub fn mapping(self) -> Option<MappingId> {
        match self.place {
            Place::In(mapping) => Some(mapping),
            Place::Outside(_) => None,
        }
    }
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a mapping.
    In(MappingId),
    /// In an address space, where nothing is known to be mapped.
    Outside(Space),
}

/// How often a stack was seen with an event, and how much of the event that stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which stack.
    pub stack: StackId,
    /// Which labels.
    pub labels: LabelsId,
    /// Which event, by its place in [`Tables::events`].
    pub event: EventIndex,
    /// Samples.
    pub samples: u64,
    /// Sum of their weights.
    pub value: u64,
}

/// What rows refer to by number.
#[derive(Debug, Default)]
pub struct Tables {
    /// The events of the recording.
    pub events: Vec<ProfileEvent>,
    /// What was mapped, each once, whichever processes mapped it.
    pub mappings: Vec<Map>,
    /// The stacks.
    pub stacks: Stacks,
    /// The sets of labels.
    pub labels: LabelSets,
    /// Texts of labels.
    pub names: Names,
    /// Functions of the frames, where they are known.
    pub symbols: Symbols,
    /// What is kept of the profile that the recording was converted from.
    pub imported: Option<Arc<ImportedProfile>>,
    /// Version of perf.
    pub perf_version: Option<String>,
    /// Command line of perf.
    pub command: Option<String>,
}

impl Tables {
    /// Whether the profile was imported with a header of its own.
    pub fn has_own_header(&self) -> bool {
        self.imported.as_ref().is_some_and(|imported| imported.header.is_some())
    }
}

/// Stacks with their values: of a recording, or of what it is [split](options::Split) by.
#[derive(Debug, Default)]
pub struct Profile {
    /// What the rows refer to; the parts of a split share it.
    pub tables: Arc<Tables>,
    /// What this part of a split is of.
    pub name: Option<String>,
    /// Values, by stack, labels and event.
    pub rows: Vec<Row>,
    /// Which events have samples, by their places in [`Tables::events`].
    pub has_samples: BTreeSet<EventIndex>,
    /// The mapping of the program that was recorded; none where that was the whole system.
    pub main_mapping: Option<MappingId>,
    /// Times of the first and the last sample, nanoseconds of the recording's clock.
    pub times: Option<(u64, u64)>,
    /// Wall clock at the first sample, nanoseconds since 1970 UTC, where the recording tells how to convert.
    pub wall_clock_start: Option<u64>,
}
