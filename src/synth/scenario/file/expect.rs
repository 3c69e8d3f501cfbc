//! `[expect]`.

use serde::Deserialize;
use std::collections::BTreeMap;

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
    /// What perf shows with arguments.
    #[serde(default)]
    pub perf: Vec<Shown>,
    /// How many samples a reader sees, where that is not all: `perf`, `linux-perf-data`, `perfparser`.
    #[serde(default)]
    pub reads: BTreeMap<String, u64>,
    /// Which readers reject it, and a part of what they say: `perf`, `linux-perf-data`, `perfparser`, `check`.
    #[serde(default)]
    pub rejected: BTreeMap<String, String>,
}

/// What perf shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// Arguments.
    pub args: Vec<String>,
    /// Texts that stand in its output in this order; runs of blanks are made one.
    pub shows: Vec<String>,
}
