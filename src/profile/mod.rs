//! Format-neutral profiles: interned stacks with their values.
//!
//! A sample takes this way: `unwind` replaces its stack dump by a call chain; [`collect`] determines its event, value and labels;
//! [`intern`] resolves its stack to frames and numbers it; [`symbolize`] looks up the functions of the frames, once all are known.

pub(crate) mod access_words;
pub mod accesses;
pub(crate) mod branch_words;
pub mod cgroup_names;
pub mod collect;
pub(crate) mod data_source;
pub mod event;
pub mod function_selection;
pub mod imported;
pub mod intern;
pub mod intervals;
pub mod labels;
pub(crate) mod operation;
pub mod options;
pub(crate) mod perf_event_name;
pub mod scheduling;
mod sockets;
pub mod stack_cuts;
pub mod symbolize;
pub mod syscalls;
mod target;
mod thread_pool;
pub mod thread_types;
pub mod time_quantum;
pub mod timeline;
mod tracepoint_texts;
pub(crate) mod unwind;
pub mod weight;

use collect::branch_ranges::BranchRanges;
use event::{EventGroup, ProfileEvent};
use hashbrown::HashMap;
use imported::ImportedProfile;
use intern::stacks::{StackId, Stacks};
use labels::{LabelSets, LabelsId};
use options::FunctionNames;
use perf_data::session::map::Map;
use perf_data::session::names::{NameId, Names};
use perf_data::session::space::Space;
use perf_data::stream::events::EventIndex;
use scheduling::Scheduling;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use symbolize::ObjectReports;
use symbolize::code::CodeSources;
use symbolize::symbols::Symbols;
use syscalls::Syscalls;
use timeline::{Occurrence, Timeline};

/// ID of a mapping in [`Tables::mappings`].
pub type MappingId = u32;

/// An address in a mapping or an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Location of the address.
    pub place: Place,
    /// The address; in a mapping, rebased to that mapping, which may be at another address in the frame's process. For a caller,
    /// the last byte of its call instead of the return address.
    pub address: u64,
    /// Whether this is a caller: the return address is at the next byte.
    pub is_caller: bool,
}

impl Frame {
    /// The mapping of the address, if any.
    pub fn mapping(self) -> Option<MappingId> {
        match self.place {
            Place::In(mapping) => Some(mapping),
            Place::Outside(_) => None,
        }
    }
}

/// Location of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// In a mapping.
    In(MappingId),
    /// In an address space, outside of known mappings.
    Outside(Space),
}

/// The samples and value of a stack with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// ID of the stack.
    pub stack: StackId,
    /// ID of the label set.
    pub labels: LabelsId,
    /// Index of the event in [`Tables::events`].
    pub event: EventIndex,
    /// Number of samples.
    pub samples: u64,
    /// Sum of their values.
    pub value: u64,
}

/// Interned data that rows refer to.
#[derive(Debug, Default)]
pub struct Tables {
    /// The events of the recording.
    pub events: Vec<ProfileEvent>,
    /// Whether branches are counted instead of samples, if [requested](options::ProfileOptions::branches).
    pub counts_branches: bool,
    /// Whether values are [latencies of memory accesses](accesses::Accesses::counts_weight), in cycles.
    pub counts_latency: bool,
    /// Groups of events.
    pub event_groups: Vec<EventGroup>,
    /// The latest names of threads with samples, if addresses and events are [as recorded](options::ProfileOptions::as_recorded).
    pub thread_comms: HashMap<u32, NameId>,
    /// The mappings, interned across processes.
    pub mappings: Vec<Map>,
    /// The stacks.
    pub stacks: Stacks,
    /// The label sets.
    pub labels: LabelSets,
    /// Texts of labels.
    pub names: Names,
    /// Symbols of frames.
    pub symbols: Symbols,
    /// How outputs for people show names of functions.
    pub function_names: FunctionNames,
    /// Why frames of mappings have no symbols.
    pub objects: ObjectReports,
    /// Where the code of functions is found, if [requested](options::ProfileOptions::reads_code).
    pub(crate) code: Option<CodeSources>,
    /// The code between taken branches, if branch stacks are recorded and code is read.
    pub(crate) branch_ranges: BranchRanges,
    /// What threads did, if [requested](options::ProfileOptions::timeline).
    pub timeline: Timeline,
    /// How threads were scheduled, if [requested](options::ProfileOptions::measures).
    pub scheduling: Option<Scheduling>,
    /// System calls of threads, if [requested](options::ProfileOptions::measures).
    pub syscalls: Option<Syscalls>,
    /// Data of the profile that the recording was converted from.
    pub imported: Option<Arc<ImportedProfile>>,
    /// Names and values that describe the recording: perf version, host, CPU and so on, as far as known.
    pub facts: Vec<(&'static str, String)>,
    /// Version of perf.
    pub perf_version: Option<String>,
    /// Command line of perf.
    pub command: Option<String>,
}

impl Profile {
    /// The events with samples, in descending order of their number of samples; the first one is the default.
    pub fn events_by_samples(&self) -> Vec<EventIndex> {
        let mut samples = vec![0_u64; self.tables.events.len()];
        for row in &self.rows {
            let event_samples = &mut samples[row.event as usize];
            *event_samples = event_samples.saturating_add(row.samples);
        }
        let mut events: Vec<_> = self.has_samples.iter().copied().collect();
        events.sort_by_key(|&event| Reverse(samples[event as usize]));
        events
    }

    /// Whether its rows are spans, whose lengths are their values.
    pub(crate) fn has_lengths(&self) -> bool {
        self.tables.timeline.intervals.as_ref().is_some_and(|intervals| intervals.name.is_some())
    }
}

impl Tables {
    /// Whether a frame is in a kernel, by its mapping or else its address space.
    pub fn is_kernel_frame(&self, frame: Frame) -> bool {
        match frame.place {
            Place::In(mapping) => self.mappings[mapping as usize].belongs_to_kernel(),
            Place::Outside(space) => space.is_kernel(),
        }
    }

    /// A value that describes the recording, by its name.
    pub fn fact(&self, name: &str) -> Option<&String> {
        self.facts.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Whether the profile was imported with its own header.
    pub fn has_own_header(&self) -> bool {
        self.imported.as_ref().is_some_and(|imported| imported.header.is_some())
    }
}

/// Stacks with their values, of a recording or of a part of a [split](options::SplitBy).
#[derive(Debug, Default)]
pub struct Profile {
    /// Interned data, shared by the parts of a split.
    pub tables: Arc<Tables>,
    /// Name of the part of a split.
    pub name: Option<String>,
    /// Name of the input, unless the output is anonymized.
    pub file: Option<String>,
    /// Values by stack, labels and event; with a timeline, one row for each sample, in time order.
    pub rows: Vec<Row>,
    /// With a timeline, the time of each row.
    pub occurrences: Vec<Occurrence>,
    /// Indexes in [`Tables::events`] of the events with samples.
    pub has_samples: BTreeSet<EventIndex>,
    /// The mapping of the recorded program; `None` for a recording of the whole system.
    pub main_mapping: Option<MappingId>,
    /// Times of the first and the last sample, in nanoseconds of the recording's clock.
    pub times: Option<(u64, u64)>,
    /// Wall clock at the first sample, in nanoseconds since 1970 UTC, if the recording has clock data.
    pub wall_clock_start: Option<u64>,
    /// Number of samples that the kernel or the hardware lost (LOST_SAMPLES), as far as recorded.
    pub lost_samples: u64,
    /// Whether values are numbers of samples instead of periods.
    pub is_by_samples: bool,
    /// Whether its labels are those that a user selected, not those of the format.
    pub has_selected_labels: bool,
    /// The profile to compare with.
    pub base: Option<Arc<Profile>>,
    /// Problems of the recording, and remarks on what the profile lacks.
    pub warnings: Vec<String>,
}
