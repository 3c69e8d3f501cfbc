//! Hardware traces, which are counted because no conversion decodes them.

use super::raw::Raw;
use crate::abi;
use crate::abi::record::RecordType;
use crate::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use std::collections::BTreeMap;

/// Bytes of traces that are missing from an output, by source.
#[derive(Clone, Debug, Default)]
pub struct UndecodedTraces {
    /// The source of the next trace.
    source: Option<AuxtraceType>,
    bytes: BTreeMap<u32, u64>,
}

impl UndecodedTraces {
    /// Counts the trace after an AUXTRACE record. An AUXTRACE_INFO record, which precedes them all, has the source.
    pub fn record(&mut self, raw: &Raw<'_>) {
        match raw.header().kind {
            RecordType::AUXTRACE_INFO => {
                let info = abi::parse::<AuxtraceInfo>(raw.body(), raw.endian(), ());
                self.source = info.ok().map(|(info, _)| info.kind);
            }
            RecordType::AUXTRACE => self.add(raw.payload_len() as u64),
            _ => {}
        }
    }

    /// Counts bytes of a trace, such as those in a sample.
    pub fn add(&mut self, bytes: u64) {
        if bytes > 0 {
            *self.bytes.entry(self.source.unwrap_or(AuxtraceType::UNKNOWN).0).or_default() += bytes;
        }
    }

    /// Adds those of another output.
    pub fn merge(&mut self, other: &Self) {
        for (&source, bytes) in &other.bytes {
            *self.bytes.entry(source).or_default() += bytes;
        }
    }

    /// Bytes of all sources.
    pub fn total(&self) -> u64 {
        self.bytes.values().sum()
    }

    /// A message for each source.
    pub fn messages(&self) -> impl Iterator<Item = String> {
        self.bytes.iter().map(|(&source, bytes)| {
            format!(
                "hardware trace ({}): {bytes} bytes are not decoded; use perf inject --itrace to convert it to samples",
                name(AuxtraceType(source))
            )
        })
    }
}

fn name(source: AuxtraceType) -> &'static str {
    match source {
        AuxtraceType::INTEL_PT => "Intel PT",
        AuxtraceType::INTEL_BTS => "Intel BTS",
        AuxtraceType::CS_ETM => "Arm CoreSight",
        AuxtraceType::ARM_SPE => "Arm SPE",
        AuxtraceType::S390_CPUMSF => "s390 CPU-MSF",
        AuxtraceType::HISI_PTT => "HiSilicon PTT",
        AuxtraceType::VPA_DTL => "PowerPC VPA DTL",
        _ => "unknown source",
    }
}
