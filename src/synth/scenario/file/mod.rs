//! The TOML file of a scenario. Its keys are the fields of these types.
//!
//! * Here: the recording as a whole; [`event`]s.
//! * [`program`]s, including the kernel; [`process`]es, their threads and stacks.
//! * Explicit [`sample`]s, [`record`]s and AUX areas; [`damage`]; [`expect`]ations of readers.

pub(crate) mod damage;
pub(crate) mod event;
pub(crate) mod expect;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod record;
pub(crate) mod sample;

use super::time::Time;
use damage::DamageTable;
use event::EventTable;
use expect::Expect;
use process::ProcessTable;
use program::{BpfTable, KernelTable, ProgramTable};
use record::{AuxTable, RecordTable};
use sample::SampleTable;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use toml::Spanned;

/// A scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    /// Description in one sentence.
    pub about: String,
    /// Seed of random choices: the order of stacks, and the offset of a sample in its function.
    #[serde(default)]
    pub seed: u64,
    /// Duration of the recording.
    pub duration: Spanned<Time>,
    /// Byte order: `little` (default) or `big`.
    #[serde(default)]
    pub endian: Order,
    /// Container: `file` (default), `pipe` or `dir`.
    #[serde(default)]
    pub container: ContainerKey,
    /// Whether records are compressed: `true`, or the type of the compressed records.
    #[serde(default)]
    pub compress: Compress,
    /// Whether to write FINISHED_ROUND records. The default is true.
    #[serde(default = "yes")]
    pub rounds: bool,
    /// Size of `perf_event_attr`, which depends on the version of the recorder.
    pub attr_size: Option<Spanned<u32>>,
    /// The machine. Missing values have defaults.
    #[serde(default)]
    pub machine: MachineTable,
    /// The events; at least one.
    pub event: Vec<EventTable>,
    /// The kernel.
    pub kernel: Option<KernelTable>,
    /// The kernel of guests.
    pub guest_kernel: Option<KernelTable>,
    /// BPF programs.
    #[serde(default)]
    pub bpf: Vec<BpfTable>,
    /// Programs and libraries.
    #[serde(default)]
    pub program: Vec<ProgramTable>,
    /// The processes.
    #[serde(default)]
    pub process: Vec<ProcessTable>,
    /// Samples at given times.
    #[serde(default)]
    pub sample: Vec<SampleTable>,
    /// Context switches.
    pub switches: Option<SwitchesTable>,
    /// Hardware trace.
    pub aux: Option<AuxTable>,
    /// Explicit records of any type.
    #[serde(default)]
    pub record: Vec<RecordTable>,
    /// Features by name, such as `CPUID`, with fields as in `perfconv -t json`.
    #[serde(default)]
    pub feature: BTreeMap<String, Spanned<serde_json::Value>>,
    /// Names of features to omit.
    #[serde(default)]
    pub without: Vec<Spanned<String>>,
    /// Corruption of the bytes of the recording.
    pub damage: Option<DamageTable>,
    /// Results that readers must report.
    #[serde(default)]
    pub expect: Expect,
}

fn yes() -> bool {
    true
}

/// A byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Order {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first, as on s390x.
    Big,
}

/// A container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ContainerKey {
    /// A seekable file.
    #[default]
    File,
    /// A stream, as written by `perf record -o -`.
    Pipe,
    /// A directory, as written by `perf record --threads`.
    Dir,
}

/// Compression of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Compress {
    /// None.
    #[default]
    No,
    /// COMPRESSED records.
    Compressed,
    /// COMPRESSED2 records. Since perf 6.16.
    Compressed2,
}

impl<'de> Deserialize<'de> for Compress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected true, false, \"COMPRESSED\" or \"COMPRESSED2\"")]
        enum Written {
            Whether(bool),
            Kind(CompressionKind),
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "UPPERCASE")]
        enum CompressionKind {
            Compressed,
            Compressed2,
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Whether(false) => Self::No,
            Written::Whether(true) | Written::Kind(CompressionKind::Compressed) => Self::Compressed,
            Written::Kind(CompressionKind::Compressed2) => Self::Compressed2,
        })
    }
}

/// The machine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineTable {
    /// Architecture, as printed by `uname -m`.
    pub arch: Option<String>,
    /// Number of CPUs.
    pub cpus: Option<u32>,
    /// Host name.
    pub hostname: Option<String>,
    /// Kernel release.
    pub release: Option<String>,
    /// CPU model.
    pub cpu: Option<String>,
    /// perf version.
    pub perf: Option<String>,
}

/// Context switches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SwitchesTable {
    /// Interval in which each thread is scheduled once, for the percentage of it that the thread is busy.
    pub every: Spanned<Time>,
    /// Whether to record whole CPUs: SWITCH_CPU_WIDE, which includes the next task, instead of SWITCH.
    #[serde(default)]
    pub cpu_wide: bool,
    /// Whether to write samples of `sched:sched_switch`, which then has to be an event, instead of records; and of
    /// `sched:sched_waking` or `sched:sched_wakeup`, if one is an event.
    #[serde(default)]
    pub samples: bool,
    /// Time from a wakeup to the switch to the thread.
    pub delay: Option<Time>,
    /// State of a thread that stops.
    #[serde(default = "interruptible")]
    pub state: i64,
}

fn interruptible() -> i64 {
    1
}
