//! Buffers of hardware traces, by source and by CPU or thread.

use perf_data::abi;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use perf_data::stream::raw::Raw;
use serde::Serialize;
use std::collections::BTreeMap;

/// The buffers (AUXTRACE records) of a CPU or thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TraceBuffers {
    /// Name of the source, such as `Arm SPE`.
    pub source: &'static str,
    /// CPU, unless it is a thread that was traced.
    pub cpu: Option<i32>,
    /// Thread ID, unless it is a CPU that was traced.
    pub tid: Option<i32>,
    /// Number of buffers.
    pub buffers: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Collects buffers from records.
#[derive(Default)]
pub(super) struct TraceCounter {
    source: AuxtraceType,
    /// Buffers and bytes by source, CPU and thread.
    counts: BTreeMap<(AuxtraceType, i32, i32), (u64, u64)>,
}

impl TraceCounter {
    /// Counts an AUXTRACE record, whose source is that of the AUXTRACE_INFO record before.
    pub(super) fn record(&mut self, raw: &Raw<'_>) {
        if raw.header().kind == RecordType::AUXTRACE_INFO {
            let info = abi::parse::<AuxtraceInfo>(raw.body(), raw.endian(), ());
            self.source = info.map_or(AuxtraceType::UNKNOWN, |(info, _)| info.kind);
        } else if let Ok((trace, _)) = abi::parse::<Auxtrace>(raw.body(), raw.endian(), ()) {
            // A buffer of a CPU may have any thread.
            let tid = if trace.cpu < 0 { trace.tid } else { -1 };
            let (buffers, bytes) = self.counts.entry((self.source, trace.cpu, tid)).or_default();
            *buffers += 1;
            *bytes += raw.payload_len() as u64;
        }
    }

    pub(super) fn finish(self) -> Vec<TraceBuffers> {
        let known = |number: i32| Some(number).filter(|&number| number >= 0);
        let list = self.counts.into_iter().map(|((source, cpu, tid), (buffers, bytes))| TraceBuffers {
            source: source.title(),
            cpu: known(cpu),
            tid: known(tid),
            buffers,
            bytes,
        });
        list.collect()
    }
}

/// A line for each CPU or thread, after a heading.
pub(super) fn lines(list: &[TraceBuffers]) -> Vec<String> {
    if list.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), format!("{:<28} {:>12} {:>14}", "hardware trace", "buffers", "bytes")];
    lines.extend(list.iter().map(|TraceBuffers { source, cpu, tid, buffers, bytes }| {
        let name = match (cpu, tid) {
            (Some(cpu), _) => format!("{source}, CPU {cpu}"),
            (None, Some(tid)) => format!("{source}, thread {tid}"),
            (None, None) => (*source).to_owned(),
        };
        format!("{name:<28} {buffers:>12} {bytes:>14}")
    }));
    lines
}
