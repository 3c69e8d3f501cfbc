//! `[[record]]` and `[aux]`.

use crate::synth::scenario::time::Time;
use perf_data::abi::record::auxtrace_info::AuxtraceType;
use perf_data::abi::record::{CpuMode, Misc};
use serde::Deserialize;
use toml::Spanned;

/// An explicit record of any type.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordTable {
    /// Type: `LOST`, `EXIT`, ...; without it, `bytes` is the whole record.
    #[serde(rename = "type")]
    pub kind: Option<Spanned<String>>,
    /// Time; by default, before the recording began.
    pub at: Option<Time>,
    /// Name of the event that owns it; by default, the first.
    pub event: Option<Spanned<String>>,
    /// Process ID.
    #[serde(default)]
    pub pid: u32,
    /// Thread ID; `pid` by default.
    pub tid: Option<u32>,
    /// CPU number.
    #[serde(default)]
    pub cpu: u32,
    /// CPU mode in its header, by name.
    #[serde(default = "unknown")]
    pub cpumode: CpuMode,
    /// Other bits of `misc`, by name.
    #[serde(default)]
    pub misc: Misc,
    /// Its fields, as in `perfconv -t json`.
    pub body: Option<Spanned<serde_json::Value>>,
    /// Payload that follows it and is not counted in its size, in hexadecimal digits.
    pub payload: Option<Spanned<String>>,
    /// All bytes of a record that cannot be described otherwise, in hexadecimal digits.
    pub bytes: Option<Spanned<String>>,
}

fn unknown() -> CpuMode {
    CpuMode::UNKNOWN
}

/// A hardware trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AuxTable {
    /// The tracing hardware: `INTEL_PT`, `ARM_SPE`, ...
    #[serde(rename = "type")]
    pub kind: AuxtraceType,
    /// Private data of the decoder.
    #[serde(default)]
    pub private: Vec<u64>,
    /// Name of the tracing event; by default, the first.
    pub event: Option<Spanned<String>>,
    /// The pieces of the trace.
    pub buffer: Vec<BufferTable>,
}

/// A piece of a trace.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BufferTable {
    /// Time of the piece.
    pub at: Time,
    /// CPU number.
    #[serde(default)]
    pub cpu: u32,
    /// Process ID.
    #[serde(default)]
    pub pid: u32,
    /// Thread ID; `pid` by default.
    pub tid: Option<u32>,
    /// Its bytes, in hexadecimal digits.
    pub bytes: Spanned<String>,
    /// Number of repetitions of the bytes.
    #[serde(default = "once")]
    pub times: Spanned<u32>,
}

fn once() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}
