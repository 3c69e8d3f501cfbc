//! `[[process]]`, `[[process.thread]]` and its stacks.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use toml::Spanned;

/// A process, which is there from the beginning to the end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessTable {
    /// Its number.
    pub pid: u32,
    /// Its name, and that of threads that have none.
    pub comm: String,
    /// Paths of the programs that are mapped in it.
    #[serde(default)]
    pub programs: Vec<Spanned<String>>,
    /// Path of its cgroup.
    pub cgroup: Option<String>,
    /// Whether what it runs outside of the kernel is a guest's.
    #[serde(default)]
    pub guest: bool,
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
    /// Its CPU; without one, threads take turns.
    pub cpu: Option<Spanned<u32>>,
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
    /// The last branches, the newest first: `main+0x10 -> loop`, and behind that their flags: `MISPRED CYCLES=5`.
    #[serde(default)]
    pub branches: Vec<Spanned<String>>,
    /// Values of registers by their names. The instruction pointer is that of the sample, others are 0.
    #[serde(default)]
    pub regs: BTreeMap<Spanned<String>, Value>,
    /// Values of the fields of tracepoints, by their names. Others are 0.
    #[serde(default)]
    pub raw: BTreeMap<Spanned<String>, Value>,
    /// A file beside the scenario with the bytes of the user stack, from the stack pointer on. Without one it is made up, so
    /// that it can be unwound with the programs' `.eh_frame`.
    pub user_stack: Option<Spanned<String>>,
    /// Other fields of the samples, as `perfconv -t json` tells them: `addr`, `data_src`, `weight`, ...
    pub sample: Option<Spanned<Map<String, Value>>>,
}
