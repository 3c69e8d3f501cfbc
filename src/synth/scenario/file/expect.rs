//! `[expect]`.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Results that readers must report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Number of samples.
    pub samples: u64,
    /// Number of samples by event.
    #[serde(default)]
    pub events: BTreeMap<String, u64>,
    /// Number of samples by thread name.
    #[serde(default)]
    pub comms: BTreeMap<String, u64>,
    /// Number of samples by leaf function.
    #[serde(default)]
    pub functions: BTreeMap<String, u64>,
    /// Number of branches in all samples.
    #[serde(default)]
    pub branches: u64,
    /// Part of a warning that perf prints although it reads the recording.
    #[serde(default)]
    pub perf_warns: Option<String>,
    /// Checks of perf's output.
    #[serde(default)]
    pub perf: Vec<OutputCheck>,
    /// Number of samples that a reader finds, if not all: `perf`, `linux-perf-data`, `perfparser`.
    #[serde(default)]
    pub reads: BTreeMap<String, u64>,
    /// Readers that reject the recording, with a part of their message: `perf`, `linux-perf-data`, `perfparser`, `check`.
    #[serde(default)]
    pub rejected: BTreeMap<String, String>,
}

/// A check of perf's output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputCheck {
    /// Arguments of perf.
    pub args: Vec<String>,
    /// Strings that occur in the output in this order; runs of blanks count as one.
    pub shows: Vec<String>,
}
