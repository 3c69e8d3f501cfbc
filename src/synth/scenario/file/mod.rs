//! What a scenario's file says, in TOML. The keys are the fields here.
//!
//! * Here: what the recording as a whole is; [`event`]s.
//! * [`program`]s, the kernel's among them; [`process`]es, their threads and where the time goes.
//! * [`record`]s that are told one by one, AUX areas; [`damage`]; what readers [`expect`] to see.

pub mod damage;
pub mod event;
pub mod expect;
pub mod process;
pub mod program;
pub mod record;

use super::time::Time;
use damage::DamageTable;
use event::EventTable;
use expect::Expect;
use process::ProcessTable;
use program::{BpfTable, KernelTable, ProgramTable};
use record::{AuxTable, RecordTable};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use toml::Spanned;

/// A scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// What it shows, in a sentence.
    pub about: String,
    /// What is random follows from it.
    #[serde(default)]
    pub seed: u64,
    /// How long the recording takes.
    pub duration: Spanned<Time>,
    /// Byte order: `little`, which goes without saying, or `big`.
    #[serde(default)]
    pub endian: Order,
    /// What it is written as: `file`, which goes without saying, `pipe` or `dir`.
    #[serde(default)]
    pub container: ContainerKey,
    /// Whether the records are compressed: `true`, or the type of the records that hold the others.
    #[serde(default)]
    pub compress: Compress,
    /// Whether rounds are marked, which goes without saying.
    #[serde(default = "yes")]
    pub rounds: bool,
    /// Bytes that `perf_event_attr` takes, by which the version of the recorder shows.
    pub attr_size: Option<Spanned<u32>>,
    /// The machine; what is not said of it is made up.
    #[serde(default)]
    pub machine: MachineTable,
    /// The events, at least one.
    pub event: Vec<EventTable>,
    /// The kernel.
    pub kernel: Option<KernelTable>,
    /// The kernel of guests.
    pub guest_kernel: Option<KernelTable>,
    /// BPF programs.
    #[serde(default)]
    pub bpf: Vec<BpfTable>,
    /// The programs and libraries.
    #[serde(default)]
    pub program: Vec<ProgramTable>,
    /// The processes.
    #[serde(default)]
    pub process: Vec<ProcessTable>,
    /// How threads come and go on their CPUs.
    pub switches: Option<SwitchesTable>,
    /// What hardware traced.
    pub aux: Option<AuxTable>,
    /// Records of any type.
    #[serde(default)]
    pub record: Vec<RecordTable>,
    /// Features by their names, such as `CPUID`, with the fields that `perfconv -t json` tells of them.
    #[serde(default)]
    pub feature: BTreeMap<String, Spanned<serde_json::Value>>,
    /// Features that are not told, by their names.
    #[serde(default)]
    pub without: Vec<Spanned<String>>,
    /// What becomes of the recording's bytes.
    pub damage: Option<DamageTable>,
    /// What readers are to see in the recording.
    #[serde(default)]
    pub expect: Expect,
}

fn yes() -> bool {
    true
}

/// A byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Of x86 and nearly all others.
    #[default]
    Little,
    /// Of s390x.
    Big,
}

/// A container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerKey {
    /// A file that can be sought in.
    #[default]
    File,
    /// What `perf record -o -` writes.
    Pipe,
    /// What `perf record --threads` writes.
    Dir,
}

/// Whether records are compressed, and what into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compress {
    /// They are not.
    #[default]
    No,
    /// Into COMPRESSED records.
    Compressed,
    /// Into COMPRESSED2 records, of perf 6.16.
    Compressed2,
}

impl<'de> Deserialize<'de> for Compress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected true, false, \"COMPRESSED\" or \"COMPRESSED2\"")]
        enum Written {
            Whether(bool),
            Kind(Kind),
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "UPPERCASE")]
        enum Kind {
            Compressed,
            Compressed2,
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Whether(false) => Self::No,
            Written::Whether(true) | Written::Kind(Kind::Compressed) => Self::Compressed,
            Written::Kind(Kind::Compressed2) => Self::Compressed2,
        })
    }
}

/// The machine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineTable {
    /// As `uname -m` tells it.
    pub arch: Option<String>,
    /// How many CPUs.
    pub cpus: Option<u32>,
    /// Name of the host.
    pub hostname: Option<String>,
    /// Release of the kernel.
    pub release: Option<String>,
    /// Name of the CPU.
    pub cpu: Option<String>,
    /// Version of perf.
    pub perf: Option<String>,
}

/// How threads come and go on their CPUs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchesTable {
    /// A thread runs once in each such time, for as much of it as it is busy.
    pub every: Spanned<Time>,
    /// Whether whole CPUs are recorded, which tell what comes next: SWITCH_CPU_WIDE in place of SWITCH.
    #[serde(default)]
    pub cpu_wide: bool,
}
