//! Options of profiles.

use super::accesses::Accesses;
use super::cgroup_names::CgroupNames;
use super::labels::Label;
use super::stack_cuts::{StackCuts, Unmapped};
use super::symbolize::SymbolSources;
use super::time_quantum::TimeQuantum;
use super::weight::SampleWeight;
use hashbrown::HashMap;
use perf_data::abi::sample::branch::BranchFlags;

/// What a profile contains.
#[derive(Clone, Debug, Default)]
pub struct ProfileOptions {
    /// Labels of samples, which the recording must have.
    pub labels: Option<Vec<Label>>,
    /// Labels of samples if none are selected, where the recording has them; by default [these](Self::DEFAULT_LABELS).
    pub default_labels: Option<&'static [Label]>,
    /// If no labels are selected, omit those of imported profiles, but for those of threads.
    pub omits_imported_labels: bool,
    /// Labels that samples always have, where the recording has them, whichever are selected.
    pub required_labels: Vec<Label>,
    /// Names of the selected events, with or without modifiers; all events if empty.
    pub events: Vec<String>,
    /// Write one profile for each of these.
    pub split: Option<SplitBy>,
    /// Count lost samples as samples of a `[lost]` stack.
    pub lost_as_samples: bool,
    /// Keep the time of each sample, and what threads did: their lifetimes, context switches, payloads of tracepoints.
    pub timeline: bool,
    /// Add the data address of a sample as its innermost frame, called by the function that accessed it.
    pub data_addresses: bool,
    /// Keep only the innermost frame of stacks, where the sample has an instruction pointer.
    pub leaves_only: bool,
    /// Keep addresses and events as recorded: processes share no mappings of a file, whose addresses thus stay those of the process;
    /// the instruction pointer is followed by the whole call chain, which repeats it; and events of disjoint conditions are not
    /// added up.
    pub as_recorded: bool,
    /// Count the branches of branch stacks instead of the samples, each with a value of 1. The stack of a branch is its target, called
    /// by its source; the label [`LabelKey::BranchFlags`](super::labels::LabelKey::BranchFlags) has those of its flags that are set
    /// here.
    pub branches: Option<BranchFlags>,
    /// By what the label [`Time`](Label::Time) divides samples.
    pub time_quantum: TimeQuantum,
    /// Which fields of memory accesses samples have as labels.
    pub accesses: Accesses,
    /// What samples are worth.
    pub weight: SampleWeight,
    /// What is measured: of scheduling if samples are worth their time off the CPU.
    pub measures: Measures,
    /// Keep the periods of samples beside their latency, as those of another event.
    pub keeps_periods: bool,
    /// Keep samples beside the waits of threads, if these are measured.
    pub keeps_samples: bool,
    /// Keep what is needed to read the code of functions.
    pub reads_code: bool,
    /// Which frames are cut from stacks.
    pub cuts: StackCuts,
    /// How outputs for people show names of functions.
    pub names: FunctionNames,
    /// User-defined types of threads, by thread ID.
    pub thread_types: HashMap<u32, String>,
    /// Names of cgroups, instead of their paths.
    pub cgroup_names: CgroupNames,
    /// Where to look up the symbols of frames; the profile that the recording was converted from also defines labels and header.
    pub symbols: SymbolSources,
}

/// What a profile measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Measures {
    /// The values of samples.
    #[default]
    Samples,
    /// How threads were [scheduled](super::scheduling), instead of samples.
    Scheduling,
    /// The [system calls](super::syscalls) of threads, instead of samples.
    Syscalls,
}

impl ProfileOptions {
    /// Labels of samples by default.
    pub const DEFAULT_LABELS: &[Label] = &[Label::Comm];

    /// How unmapped addresses are shown. Those of a converted profile are what it had for locations without mappings.
    pub(crate) fn unmapped(&self) -> Unmapped {
        if self.symbols.imported.is_some() { Unmapped::Keep } else { self.cuts.unmapped }
    }
}

/// How outputs for people show names of functions. Others have full names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum FunctionNames {
    /// Without arguments of templates, returned types, parameters, hashes, packages and tiers
    #[default]
    Short,
    /// As in the symbols, without parameters of C++
    Full,
}

/// The criterion of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitBy {
    /// Process.
    Pid,
    /// Process name.
    Comm,
    /// Event.
    Event,
    /// Cgroup.
    Cgroup,
}
