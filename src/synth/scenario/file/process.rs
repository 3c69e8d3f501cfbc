//! `[[process]]`, `[[process.thread]]` and its stacks.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use toml::Spanned;

/// A process that exists throughout the recording.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessTable {
    /// Process ID.
    pub pid: u32,
    /// Name of the process and of threads without a name.
    pub comm: String,
    /// Paths of the programs mapped in it.
    #[serde(default)]
    pub programs: Vec<Spanned<String>>,
    /// Path of its cgroup.
    pub cgroup: Option<String>,
    /// Whether its user-space code belongs to a guest.
    #[serde(default)]
    pub guest: bool,
    /// Its threads.
    pub thread: Vec<ThreadTable>,
}

/// A thread.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThreadTable {
    /// Thread ID; the process ID by default.
    pub tid: Option<u32>,
    /// Its name.
    pub comm: Option<String>,
    /// CPU; by default, threads are distributed over the CPUs.
    pub cpu: Option<Spanned<u32>>,
    /// Percentage of the time it runs.
    #[serde(default = "always")]
    pub busy: Spanned<u64>,
    /// Its stacks, whose percentages add up to 100.
    pub stack: Vec<Spanned<StackTable>>,
}

fn all() -> u64 {
    100
}

fn always() -> Spanned<u64> {
    Spanned::new(0..0, 100)
}

/// A stack.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StackTable {
    /// Share of the thread's samples: exactly this many of each hundred.
    #[serde(default = "all")]
    pub percent: u64,
    /// Functions from outermost to leaf: `main`, or `libc.so.6!malloc` if several programs have it.
    pub frames: Vec<Spanned<String>>,
    /// Branch stack, newest first: `main+0x10 -> loop`, followed by flags: `MISPRED CYCLES=5`.
    #[serde(default)]
    pub branches: Vec<Spanned<String>>,
    /// Values of registers by name. The default of the instruction pointer is that of the sample, others are 0.
    #[serde(default)]
    pub regs: BTreeMap<Spanned<String>, Value>,
    /// Values of tracepoint fields by name; 0 by default.
    #[serde(default)]
    pub raw: BTreeMap<Spanned<String>, Value>,
    /// Name of a file next to the scenario with the bytes of the user stack from the stack pointer on. By default, a stack is
    /// generated that can be unwound with the `.eh_frame` of the programs.
    pub user_stack: Option<Spanned<String>>,
    /// Other sample fields, as in `perfconv -t json`: `addr`, `data_src`, `weight`, ...
    pub sample: Option<Spanned<Map<String, Value>>>,
}
