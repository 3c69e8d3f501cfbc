//! `[[event]]`.

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

/// An event.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventTable {
    /// Name in the syntax of `perf record -e`; any name if `attr` has a `kind`.
    pub name: Spanned<String>,
    /// Samples per second of a thread that is always running; 0 for an event that is only counted.
    pub rate: Spanned<u64>,
    /// Period of each sample.
    pub period: Option<u64>,
    /// Sample fields in addition to the default ones: `CALLCHAIN`, `ADDR`, `DATA_SRC`, ...
    #[serde(default)]
    pub fields: Vec<Spanned<String>>,
    /// Kinds of branches in the branch stack: `ANY`, `USER`, `CALL_STACK`, ...
    #[serde(default)]
    pub branches: Vec<Spanned<String>>,
    /// Names of sampled user registers.
    #[serde(default)]
    pub regs_user: Vec<Spanned<String>>,
    /// Names of sampled interrupt registers.
    #[serde(default)]
    pub regs_intr: Vec<Spanned<String>>,
    /// Bytes of user stack in each sample.
    pub user_stack: Option<Spanned<u32>>,
    /// Flags of the read format: `GROUP`, `LOST`, ...
    #[serde(default)]
    pub read: Vec<Spanned<String>>,
    /// Whether it is in a group with the preceding event.
    #[serde(default)]
    pub grouped: bool,
    /// Flags of the attr, by name.
    #[serde(default)]
    pub flags: Vec<Spanned<String>>,
    /// Fields of a tracepoint, in C: `int prev_pid`.
    #[serde(default)]
    pub format: Vec<Spanned<String>>,
    /// Other fields of the attr, as in `perfconv -t json`.
    pub attr: Option<Spanned<Map<String, Value>>>,
    /// Number of lost samples, reported by a LOST record halfway through the recording.
    #[serde(default)]
    pub lost: u64,
}
