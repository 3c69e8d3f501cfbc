//! `[[record]]` and `[aux]`.

use crate::abi::record::auxtrace_info::AuxtraceType;
use crate::abi::record::{CpuMode, Misc};
use crate::synth::scenario::time::Time;
use serde::Deserialize;
use toml::Spanned;

/// A record of any type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordTable {
    /// Its type: `LOST`, `EXIT`, ...; without one, `bytes` are all of it.
    #[serde(rename = "type")]
    pub kind: Option<Spanned<String>>,
    /// When; without a time, before the recording began.
    pub at: Option<Time>,
    /// The event that it belongs to, by its name; without one, the first.
    pub event: Option<Spanned<String>>,
    /// Whose it is.
    #[serde(default)]
    pub pid: u32,
    /// Whose it is; without one, as `pid`.
    pub tid: Option<u32>,
    /// Where it was written.
    #[serde(default)]
    pub cpu: u32,
    /// The mode of the CPU that its header tells, by name.
    #[serde(default = "unknown")]
    pub cpumode: CpuMode,
    /// The other bits of its header, by name.
    #[serde(default)]
    pub misc: Misc,
    /// Its fields, as `perfconv -t json` tells them.
    pub body: Option<Spanned<serde_json::Value>>,
    /// What follows it without being counted in its size, in hexadecimal digits.
    pub payload: Option<Spanned<String>>,
    /// The bytes of a record that cannot be told otherwise, in hexadecimal digits.
    pub bytes: Option<Spanned<String>>,
}

fn unknown() -> CpuMode {
    CpuMode::UNKNOWN
}

/// What hardware traced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AuxTable {
    /// The hardware: `INTEL_PT`, `ARM_SPE`, ...
    #[serde(rename = "type")]
    pub kind: AuxtraceType,
    /// What its decoder needs.
    #[serde(default)]
    pub private: Vec<u64>,
    /// The event that traces, by its name; without one, the first.
    pub event: Option<Spanned<String>>,
    /// The pieces of the trace.
    pub buffer: Vec<BufferTable>,
}

/// A piece of a trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferTable {
    /// When it was taken.
    pub at: Time,
    /// Its CPU.
    #[serde(default)]
    pub cpu: u32,
    /// Whose it is.
    #[serde(default)]
    pub pid: u32,
    /// Whose it is; without one, as `pid`.
    pub tid: Option<u32>,
    /// Its bytes, in hexadecimal digits.
    pub bytes: Spanned<String>,
    /// How often they are repeated.
    #[serde(default = "once")]
    pub times: Spanned<u32>,
}

fn once() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}
