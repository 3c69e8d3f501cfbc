//! A scenario that was checked: everything in it has its place.

use super::damage::Damage;
use super::file::expect::Expect;
use super::read;
use super::registers::Registers;
use crate::abi::Endian;
use crate::abi::callchain::Context;
use crate::abi::record::{Body, CpuMode, Misc};
use crate::abi::sample::Sample;
use crate::container::read::Container;
use crate::container::write::frames::FrameKind;
use crate::error::Result;
use crate::object::image::Image;
use crate::synth::bpf::BpfProgram;
use crate::synth::{About, Stamp};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A scenario. The same one gives the same bytes.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it shows, in a sentence.
    pub shows: String,
    /// What readers are to see in the recording.
    pub expect: Expect,
    /// What the recording tells of itself.
    pub about: About,
    /// What is random follows from it.
    pub seed: u64,
    /// What it is written as.
    pub container: Container,
    /// What records are compressed into.
    pub compress: Option<FrameKind>,
    /// What becomes of its bytes.
    pub damage: Option<Damage>,
    /// Nanoseconds.
    pub(super) duration: u64,
    pub(super) programs: Vec<Program>,
    pub(super) bpf: Vec<BpfProgram>,
    pub(super) processes: Vec<Process>,
    /// In the order of their processes.
    pub(super) threads: Vec<Thread>,
    pub(super) events: Vec<Sampled>,
    pub(super) switches: Option<Switches>,
    /// Registers of the machine, if their names are known.
    pub(super) registers: Option<Registers>,
    /// Other records, in the order of time.
    pub(super) records: Vec<ScenarioRecord>,
}

/// How an event is sampled.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    /// Samples a second.
    pub(super) rate: u64,
    /// Numbers of the events of its group, the leader first; its own where it is in none.
    pub(super) group: Range<usize>,
}

/// In whose address space something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    User,
    GuestUser,
    Kernel,
    GuestKernel,
}

impl Space {
    pub(super) fn mode(self) -> CpuMode {
        match self {
            Self::User => CpuMode::USER,
            Self::GuestUser => CpuMode::GUEST_USER,
            Self::Kernel => CpuMode::KERNEL,
            Self::GuestKernel => CpuMode::GUEST_KERNEL,
        }
    }

    /// What stands before its addresses in call chains.
    pub(super) fn context(self) -> u64 {
        match self {
            Self::User => Context::USER.0,
            Self::GuestUser => Context::GUEST_USER.0,
            Self::Kernel => Context::KERNEL.0,
            Self::GuestKernel => Context::GUEST_KERNEL.0,
        }
    }
}

/// A program or a kernel, and where it is mapped.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Path; of a kernel, its name in square brackets.
    pub(super) path: String,
    pub(super) space: Space,
    pub(super) image: Image,
    pub(super) base: u64,
    /// Where functions are in the image.
    pub(super) functions: HashMap<String, u64>,
    pub(super) function_size: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) is_guest: bool,
    /// Number and path of its cgroup.
    pub(super) cgroup: Option<(u64, String)>,
    /// Numbers of the programs in it.
    pub(super) programs: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) task: (u32, u32),
    pub(super) comm: String,
    pub(super) cpu: u32,
    /// Percent of the time.
    pub(super) busy: u64,
    pub(super) cgroup: u64,
    pub(super) stacks: Vec<Stack>,
}

#[derive(Clone, Debug)]
pub(super) struct Stack {
    pub(super) percent: u64,
    /// The function that runs.
    pub(super) leaf: Place,
    /// The call chain, with marks; its second word is where the sample is.
    pub(super) chain: Vec<u64>,
    /// Newest first: from, to, flags.
    pub(super) branches: Vec<(u64, u64, u64)>,
    pub(super) regs: BTreeMap<String, u64>,
    /// Values of the fields of tracepoints.
    pub(super) raw: BTreeMap<String, serde_json::Value>,
    /// The user stack, if it is told.
    pub(super) user_stack: Option<Vec<u8>>,
    /// Other fields.
    pub(super) sample: Sample,
}

/// Where a function is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) space: Space,
    pub(super) addr: u64,
    pub(super) size: u64,
}

/// A record that the scenario tells itself.
#[derive(Clone, Debug)]
pub(super) struct ScenarioRecord {
    pub(super) stamp: Stamp,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    Record { misc: Misc, body: Box<Body>, payload: Vec<u8> },
    Bytes(Vec<u8>),
}

/// How threads come and go on their CPUs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switches {
    /// Nanoseconds.
    pub(super) every: u64,
    pub(super) cpu_wide: bool,
}

/// The time at which recordings begin: not 0, which would be none.
pub(super) const BEGIN: u64 = 1_000_000_000_000;

impl Scenario {
    /// Reads a scenario from its text; messages call it by its name, and files beside it are looked for by that.
    ///
    /// ```
    /// use perfconv::synth::Scenario;
    ///
    /// let error = Scenario::parse("wrong.toml", "about = \"\"\nduration = \"-1s\"\nevent = []").unwrap_err();
    /// assert!(error.to_string().starts_with("wrong.toml:2: duration: \"-1s\" is no time"), "{error}");
    /// ```
    ///
    /// # Errors
    /// Where the text is none, or what it says does not fit together: with line and key.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        read::Lines { name, text }.scenario()
    }

    /// The scenario on a machine of another byte order.
    #[must_use]
    pub fn on_machine_of(mut self, endian: Endian) -> Self {
        self.about.endian = endian;
        self.programs.iter_mut().for_each(|program| program.image.target.endian = endian);
        self
    }
}
