//! What a scenario's file says, in TOML. The keys are the fields here.

use super::time::Time;
use crate::abi::record::Misc;
use serde::Deserialize;
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
    /// The machine; what is not said of it is made up.
    #[serde(default)]
    pub machine: MachineTable,
    /// The events, at least one.
    pub event: Vec<EventTable>,
    /// The programs and libraries.
    #[serde(default)]
    pub program: Vec<ProgramTable>,
    /// The processes.
    #[serde(default)]
    pub process: Vec<ProcessTable>,
    /// Records of any type.
    #[serde(default)]
    pub record: Vec<RecordTable>,
    /// Features by their names, such as `CPUID`, with the fields that `perfconv -t json` tells of them.
    #[serde(default)]
    pub feature: BTreeMap<String, Spanned<serde_json::Value>>,
    /// What readers are to see in the recording.
    #[serde(default)]
    pub expect: Expect,
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

/// An event.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTable {
    /// Its name, as `perf record -e` takes it.
    pub name: Spanned<String>,
    /// Samples a second of a thread that does nothing but run.
    pub rate: Spanned<u64>,
    /// How much of the event a sample stands for.
    pub period: Option<u64>,
    /// Fields of its samples besides those that all have: `CALLCHAIN`, `ADDR`, `DATA_SRC`, ...
    #[serde(default)]
    pub fields: Vec<Spanned<String>>,
    /// Kinds of branches that its samples have: `ANY`, `USER`, `CALL_STACK`, ...
    #[serde(default)]
    pub branches: Vec<Spanned<String>>,
}

/// A program or a library.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramTable {
    /// Where it is: an absolute path.
    pub path: Spanned<String>,
    /// Its functions, one behind the other.
    pub functions: Vec<Spanned<String>>,
    /// Bytes that each of them takes.
    #[serde(default = "function_size")]
    pub function_size: Spanned<u64>,
}

fn function_size() -> Spanned<u64> {
    Spanned::new(0..0, 256)
}

/// A process, which is there from the beginning to the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessTable {
    /// Its number.
    pub pid: u32,
    /// Its name, and that of threads that have none.
    pub comm: String,
    /// Paths of the programs that are mapped in it.
    pub programs: Vec<Spanned<String>>,
    /// Its threads.
    pub thread: Vec<ThreadTable>,
}

/// A thread.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadTable {
    /// Its number; without one, that of the process.
    pub tid: Option<u32>,
    /// Its name.
    pub comm: Option<String>,
    /// How much of the time it runs, in percent.
    #[serde(default = "always")]
    pub busy: Spanned<u64>,
    /// Where the time goes. The percents of all together are 100.
    pub stack: Vec<Spanned<StackTable>>,
}

fn always() -> Spanned<u64> {
    Spanned::new(0..0, 100)
}

/// A stack.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StackTable {
    /// How much of the thread's samples are in it: of each hundred exactly so many.
    pub percent: u64,
    /// Functions from the first caller to the one that runs: `main`, or `libc.so.6!malloc` where several programs have it.
    pub frames: Vec<Spanned<String>>,
    /// The last branches, the newest first: `main+0x10 -> loop`.
    #[serde(default)]
    pub branches: Vec<Spanned<String>>,
    /// Address of the data.
    #[serde(default)]
    pub addr: u64,
    /// Where the data came from, as the kernel codes it.
    #[serde(default)]
    pub data_src: u64,
    /// What the access cost.
    #[serde(default)]
    pub weight: u64,
}

/// A record of any type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordTable {
    /// Its type: `LOST`, `EXIT`, ...
    #[serde(rename = "type")]
    pub kind: Spanned<String>,
    /// When; without a time, before the recording began.
    pub at: Option<Time>,
    /// Whose it is.
    #[serde(default)]
    pub pid: u32,
    /// Whose it is; without one, as `pid`.
    pub tid: Option<u32>,
    /// Where it was written.
    #[serde(default)]
    pub cpu: u32,
    /// The bits of its header, by name.
    #[serde(default)]
    pub misc: Misc,
    /// Its fields, as `perfconv -t json` tells them.
    pub body: Spanned<serde_json::Value>,
}

/// What readers are to see in the recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Samples in all.
    pub samples: u64,
    /// Samples by event.
    #[serde(default)]
    pub events: BTreeMap<String, u64>,
    /// Samples by name of the thread.
    #[serde(default)]
    pub comms: BTreeMap<String, u64>,
    /// Samples by the function that runs.
    #[serde(default)]
    pub functions: BTreeMap<String, u64>,
    /// Branches, in all samples together.
    #[serde(default)]
    pub branches: u64,
    /// What perf says of it besides, where it reads it: a part of that.
    #[serde(default)]
    pub perf_warns: Option<String>,
    /// Which readers reject it, and a part of what they say: `perf`, `linux-perf-data`, `perfparser`, `check`.
    #[serde(default)]
    pub rejected: BTreeMap<String, String>,
}
