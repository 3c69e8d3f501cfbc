//! `[[event]]`.

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

/// An event.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTable {
    /// Its name, as `perf record -e` takes it; any, where `attr` tells its `kind`.
    pub name: Spanned<String>,
    /// Samples a second of a thread that does nothing but run; 0 of an event that is only counted.
    pub rate: Spanned<u64>,
    /// How much of the event a sample stands for.
    pub period: Option<u64>,
    /// Fields of its samples besides those that all have: `CALLCHAIN`, `ADDR`, `DATA_SRC`, ...
    #[serde(default)]
    pub fields: Vec<Spanned<String>>,
    /// Kinds of branches that its samples have: `ANY`, `USER`, `CALL_STACK`, ...
    #[serde(default)]
    pub branches: Vec<Spanned<String>>,
    /// Names of user registers that its samples have.
    #[serde(default)]
    pub regs_user: Vec<Spanned<String>>,
    /// Names of registers at the interrupt that its samples have.
    #[serde(default)]
    pub regs_intr: Vec<Spanned<String>>,
    /// Bytes of the user stack that its samples have.
    pub user_stack: Option<Spanned<u32>>,
    /// What is told of counter values: `GROUP`, `LOST`, ...
    #[serde(default)]
    pub read: Vec<Spanned<String>>,
    /// Whether it is in a group with the event before it.
    #[serde(default)]
    pub grouped: bool,
    /// Bits of its attr, by their names.
    #[serde(default)]
    pub flags: Vec<Spanned<String>>,
    /// Fields of a tracepoint, as in C: `int prev_pid`.
    #[serde(default)]
    pub format: Vec<Spanned<String>>,
    /// Other fields of its attr, as `perfconv -t json` tells them.
    pub attr: Option<Spanned<Map<String, Value>>>,
    /// How many of it are said to be lost, halfway through the recording.
    #[serde(default)]
    pub lost: u64,
}
