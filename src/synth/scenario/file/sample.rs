//! `[[sample]]`.

use super::process::StackTable;
use crate::synth::scenario::time::Time;
use serde::Deserialize;
use toml::Spanned;

/// A sample at a time, besides those that threads have by the rates of events.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SampleTable {
    /// Name of its event; by default, the first.
    pub event: Option<Spanned<String>>,
    /// When it is recorded.
    pub at: Time,
    /// Its own time, if it is recorded out of order.
    pub time: Option<Time>,
    /// Process ID: 0, or that of a process.
    pub pid: Spanned<u32>,
    /// Thread ID; `pid` by default.
    pub tid: Option<u32>,
    /// CPU number.
    #[serde(default)]
    pub cpu: u32,
    /// Its stack and other fields.
    pub stack: Spanned<StackTable>,
}
