//! A validated scenario.

use super::damage::Damage;
use super::file::expect::Expect;
use super::read;
use super::registers::Registers;
use crate::synth::bpf::BpfProgram;
use crate::synth::{Metadata, Stamp};
use perf_data::abi::Endian;
use perf_data::abi::record::{Body, CpuMode, Misc};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::callchain::Context;
use perf_data::container::read::Container;
use perf_data::container::write::frames::FrameKind;
use perf_data::error::Result;
use perf_symbols::object::image::Image;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A scenario. The same scenario always gives the same bytes.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Description in one sentence.
    pub shows: String,
    /// What readers must see in the recording.
    pub expect: Expect,
    /// Metadata of the recording.
    pub metadata: Metadata,
    /// Seed of everything random.
    pub seed: u64,
    /// Container to write.
    pub container: Container,
    /// Type of compressed records, if any.
    pub compress: Option<FrameKind>,
    /// Corruption of the bytes, if any.
    pub damage: Option<Damage>,
    /// Duration in nanoseconds.
    pub(super) duration: u64,
    pub(super) programs: Vec<Program>,
    pub(super) bpf: Vec<BpfProgram>,
    pub(super) processes: Vec<Process>,
    /// Sorted by process.
    pub(super) threads: Vec<PlannedThread>,
    pub(super) events: Vec<Sampled>,
    pub(super) switches: Option<Switches>,
    /// Registers of the machine, if it is supported.
    pub(super) registers: Option<Registers>,
    /// Explicit records, in time order.
    pub(super) records: Vec<ScenarioRecord>,
}

/// Sampling of an event.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    /// Samples per second.
    pub(super) rate: u64,
    /// Indexes of the events of its group, leader first; its own if it is in none.
    pub(super) group: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlannedSpace {
    User,
    GuestUser,
    Kernel,
    GuestKernel,
}

impl PlannedSpace {
    pub(super) fn mode(self) -> CpuMode {
        match self {
            Self::User => CpuMode::USER,
            Self::GuestUser => CpuMode::GUEST_USER,
            Self::Kernel => CpuMode::KERNEL,
            Self::GuestKernel => CpuMode::GUEST_KERNEL,
        }
    }

    /// The context marker of its addresses in call chains.
    pub(super) fn context(self) -> u64 {
        match self {
            Self::User => Context::USER.0,
            Self::GuestUser => Context::GUEST_USER.0,
            Self::Kernel => Context::KERNEL.0,
            Self::GuestKernel => Context::GUEST_KERNEL.0,
        }
    }
}

/// A mapped program or kernel.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Path; for a kernel, its name in square brackets.
    pub(super) path: String,
    pub(super) space: PlannedSpace,
    pub(super) image: Image,
    pub(super) base: u64,
    /// Places of functions in the image.
    pub(super) functions: HashMap<String, u64>,
    pub(super) function_size: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) is_guest: bool,
    /// ID and path of its cgroup.
    pub(super) cgroup: Option<(u64, String)>,
    /// Indexes of its programs.
    pub(super) programs: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct PlannedThread {
    pub(super) task: (u32, u32),
    pub(super) comm: String,
    pub(super) cpu: u32,
    /// Percentage of the time it runs.
    pub(super) busy: u64,
    pub(super) cgroup: u64,
    pub(super) stacks: Vec<Stack>,
}

#[derive(Clone, Debug)]
pub(super) struct Stack {
    pub(super) percent: u64,
    /// The leaf function.
    pub(super) leaf: FunctionLocation,
    /// The call chain with context markers; its second entry is the address of the sample.
    pub(super) chain: Vec<u64>,
    /// From, to and flags; newest first.
    pub(super) branches: Vec<(u64, u64, u64)>,
    pub(super) regs: BTreeMap<String, u64>,
    /// Values of tracepoint fields.
    pub(super) raw: BTreeMap<String, serde_json::Value>,
    /// The user stack, if given.
    pub(super) user_stack: Option<Vec<u8>>,
    /// Other fields.
    pub(super) sample: Sample,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FunctionLocation {
    pub(super) space: PlannedSpace,
    pub(super) addr: u64,
    pub(super) size: u64,
}

/// An explicit record.
#[derive(Clone, Debug)]
pub(super) struct ScenarioRecord {
    pub(super) stamp: Stamp,
    pub(super) content: RecordContent,
}

#[derive(Clone, Debug)]
pub(super) enum RecordContent {
    Record {
        misc: Misc,
        body: Box<Body>,
        payload: Vec<u8>,
    },
    /// A sample with a time of its own, of a thread with one stack.
    Sample {
        time: u64,
        thread: Box<PlannedThread>,
    },
    Bytes(Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Switches {
    /// Interval in nanoseconds.
    pub(super) every: u64,
    pub(super) cpu_wide: bool,
    /// The events that are sampled, if switches are not recorded otherwise.
    pub(super) sampled: Option<SampledSwitches>,
}

/// Events of the scheduler.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampledSwitches {
    /// Index of `sched_switch`.
    pub(super) switch: usize,
    /// Index of the event of wakeups.
    pub(super) wakeup: Option<usize>,
    /// Nanoseconds from a wakeup to the switch.
    pub(super) delay: u64,
    /// State of a thread that stops.
    pub(super) state: i64,
}

/// Start time of recordings: not 0, which means no time.
pub(super) const BEGIN: u64 = 1_000_000_000_000;

impl Scenario {
    /// Parses a scenario. `name` is used in messages and to find files next to it.
    ///
    /// ```
    /// use perfconv::synth::Scenario;
    ///
    /// let error = Scenario::parse("wrong.toml", "about = \"\"\nduration = \"-1s\"\nevent = []").unwrap_err();
    /// assert!(error.to_string().starts_with("wrong.toml:2: duration: '-1s' is not a duration"), "{error}");
    /// ```
    ///
    /// # Errors
    /// If the syntax or a value is invalid; the message has line and key.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        read::ScenarioLines { name, text }.scenario()
    }

    /// The same scenario with another byte order.
    #[must_use]
    pub fn with_endian(mut self, endian: Endian) -> Self {
        self.metadata.endian = endian;
        self.programs.iter_mut().for_each(|program| program.image.target.endian = endian);
        self
    }
}
