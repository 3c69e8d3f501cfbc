//! What happened to the bytes of hardware traces.

use super::meta::Meta;
use super::raw::Raw;
use crate::abi;
use crate::abi::record::RecordType;
use crate::abi::record::aux_area::{Aux, AuxFlags};
use crate::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use crate::trace::bts::bts_records;
use crate::trace::is_decoded;
use crate::trace::spe::record::SpeCoverage;
use std::collections::BTreeMap;

/// Hardware traces of a conversion, by source.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// The source of the next trace.
    source: AuxtraceType,
    list: BTreeMap<AuxtraceType, TraceBytes>,
}

/// The bytes of the traces of a source. Those that are neither decoded, padding nor damaged are not decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceBytes {
    /// Number of buffers: AUXTRACE records, and samples with a trace.
    pub buffers: u64,
    /// All bytes.
    pub bytes: u64,
    /// Number of records that became samples.
    pub records: u64,
    /// Their bytes.
    pub decoded: u64,
    /// Bytes without contents.
    pub padding: u64,
    /// Number of records that were dropped because they are damaged.
    pub damaged_records: u64,
    /// Their bytes.
    pub damaged: u64,
    /// Bytes that an earlier buffer had, too: those of snapshots overlap.
    pub repeated: u64,
    /// Number of pieces (AUX records) of which the end was lost because the buffer was full.
    pub truncated: u64,
    /// Number of pieces with gaps.
    pub partial: u64,
    /// Number of pieces that lack records, because the hardware was still busy with the one before.
    pub collisions: u64,
    /// Times of the first and the last piece, in nanoseconds of the recording's clock.
    pub times: Option<(u64, u64)>,
}

impl TraceBytes {
    /// Those of a buffer of Intel BTS: branches, and a truncated one at its end.
    pub fn of_bts(trace: &[u8]) -> Self {
        let (branches, rest) = bts_records(trace);
        let (records, bytes, damaged) = (branches.len() as u64, trace.len() as u64, rest as u64);
        let damaged_records = u64::from(rest > 0);
        Self { buffers: 1, bytes, records, decoded: bytes - damaged, damaged_records, damaged, ..Self::default() }
    }

    /// Number of bytes that are not decoded.
    pub fn undecoded(&self) -> u64 {
        self.bytes.saturating_sub(self.decoded + self.padding + self.damaged + self.repeated)
    }

    /// Adds those of another trace.
    pub fn add(&mut self, other: &Self) {
        self.buffers += other.buffers;
        self.bytes += other.bytes;
        self.records += other.records;
        self.decoded += other.decoded;
        self.padding += other.padding;
        self.damaged_records += other.damaged_records;
        self.damaged += other.damaged;
        self.repeated += other.repeated;
        self.truncated += other.truncated;
        self.partial += other.partial;
        self.collisions += other.collisions;
        other.times.into_iter().for_each(|(first, last)| {
            self.add_time(first);
            self.add_time(last);
        });
    }

    fn add_time(&mut self, time: u64) {
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
    }

    fn add_aux(&mut self, aux: &Aux, time: Option<u64>) {
        let count = |flag| u64::from(aux.flags.contains(flag));
        self.truncated += count(AuxFlags::TRUNCATED);
        self.partial += count(AuxFlags::PARTIAL);
        self.collisions += count(AuxFlags::COLLISION);
        time.into_iter().for_each(|time| self.add_time(time));
    }

    /// What is missing from the output; `None` if nothing is.
    fn message(&self, source: AuxtraceType) -> Option<String> {
        let Self { bytes, damaged, buffers, .. } = *self;
        let name = source.title();
        let problem = match (self.undecoded(), damaged) {
            (0, 0) => return None,
            (0, damaged) => {
                let plural = if self.damaged_records == 1 { " is" } else { "s are" };
                format!("{} record{plural} damaged and dropped ({damaged} of {bytes} bytes)", self.damaged_records)
            }
            (undecoded, _) => {
                let of = if undecoded < bytes { format!(" of {bytes}") } else { String::new() };
                let hint = match is_decoded(source) {
                    true => "omit --no-itrace to decode it to samples",
                    false => "use perf inject --itrace to convert it to samples",
                };
                let plural = if buffers == 1 { "" } else { "s" };
                format!("{undecoded}{of} bytes are not decoded ({buffers} buffer{plural}{}); {hint}", self.duration())
            }
        };
        Some(format!("hardware trace ({name}): {problem}"))
    }

    /// What became samples, and what the hardware or the kernel lost; `None` if nothing was decoded.
    fn decoded_message(&self, source: AuxtraceType) -> Option<String> {
        let Self { bytes, buffers, records, .. } = *self;
        let name = source.title();
        let plural = if buffers == 1 { "" } else { "s" };
        let lost: String =
            [(self.truncated, "truncated"), (self.partial, "with gaps"), (self.collisions, "with collisions")]
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, problem)| format!(", {count} {problem}"))
                .collect();
        (self.decoded > 0).then(|| {
            let duration = self.duration();
            format!(
                "hardware trace ({name}): {records} records are decoded to samples ({bytes} bytes in {buffers} buffer{plural}{duration}{lost})"
            )
        })
    }

    /// Between the first and the last piece: ` within 0.010000 s`.
    fn duration(&self) -> String {
        let (first, last) = self.times.unwrap_or_default();
        let micros = (last - first) / 1000;
        if micros > 0 { format!(" within {}.{:06} s", micros / 1_000_000, micros % 1_000_000) } else { String::new() }
    }
}

impl From<SpeCoverage> for TraceBytes {
    fn from(coverage: SpeCoverage) -> Self {
        let SpeCoverage { records, decoded, padding, damaged_records, damaged } = coverage;
        let bytes = coverage.bytes();
        Self { buffers: 1, bytes, records, decoded, padding, damaged_records, damaged, ..Self::default() }
    }
}

impl Traces {
    /// Counts the trace after an AUXTRACE record, and the losses that an AUX record reports. An AUXTRACE_INFO record, which precedes
    /// them all, has the source.
    pub fn record(&mut self, meta: &Meta, raw: &Raw<'_>) {
        match raw.header().kind {
            RecordType::AUXTRACE_INFO => {
                let info = abi::parse::<AuxtraceInfo>(raw.body(), raw.endian(), ());
                self.source = info.map_or(AuxtraceType::UNKNOWN, |(info, _)| info.kind);
            }
            RecordType::AUXTRACE => self.add(raw.payload_len() as u64),
            RecordType::AUX => {
                if let Ok((aux, _)) = abi::parse::<Aux>(meta.events.split(raw).0, raw.endian(), ()) {
                    self.list.entry(self.source).or_default().add_aux(&aux, meta.events.time(raw));
                }
            }
            _ => {}
        }
    }

    /// Counts bytes of a trace that are not decoded, such as those in a sample.
    pub fn add(&mut self, bytes: u64) {
        if bytes > 0 {
            self.add_decoded(self.source, &TraceBytes { buffers: 1, bytes, ..TraceBytes::default() });
        }
    }

    /// Counts a trace of a source.
    pub fn add_decoded(&mut self, source: AuxtraceType, trace: &TraceBytes) {
        self.list.entry(source).or_default().add(trace);
    }

    /// Adds those of another output.
    pub fn merge(&mut self, other: &Self) {
        other.list.iter().for_each(|(&source, trace)| self.add_decoded(source, trace));
    }

    /// The traces by source, of those with bytes.
    pub fn iter(&self) -> impl Iterator<Item = (AuxtraceType, &TraceBytes)> {
        self.list.iter().filter(|(_, trace)| trace.bytes > 0).map(|(&source, trace)| (source, trace))
    }

    /// Number of bytes of all sources that are not decoded.
    pub fn undecoded(&self) -> u64 {
        self.list.values().map(TraceBytes::undecoded).sum()
    }

    /// Whether bytes are missing from the output.
    pub fn are_incomplete(&self) -> bool {
        self.list.values().any(|trace| trace.undecoded() + trace.damaged > 0)
    }

    /// A message for each source of which something was decoded.
    pub fn decoded_messages(&self) -> impl Iterator<Item = String> {
        self.list.iter().filter_map(|(&source, trace)| trace.decoded_message(source))
    }

    /// A message for each source of which something is missing.
    pub fn messages(&self) -> impl Iterator<Item = String> {
        self.list.iter().filter_map(|(&source, trace)| trace.message(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_size_and_the_time_span() {
        let mut traces = Traces { source: AuxtraceType::INTEL_PT, ..Traces::default() };
        traces.add(100);
        traces.add(28);
        let aux = Aux { aux_offset: 0, aux_size: 128, flags: AuxFlags::TRUNCATED };
        let trace = traces.list.get_mut(&AuxtraceType::INTEL_PT).unwrap();
        trace.add_aux(&aux, Some(5_000_000_000));
        trace.add_aux(&aux, Some(6_500_000_000));
        let text = "hardware trace (Intel PT): 128 bytes are not decoded (2 buffers within 1.500000 s); \
                    use perf inject --itrace to convert it to samples";
        assert_eq!(traces.messages().collect::<Vec<_>>(), [text]);
        assert_eq!((trace_counts(&traces), traces.undecoded()), ((128, 2), 128));
    }

    fn trace_counts(traces: &Traces) -> (u64, u64) {
        let (_, trace) = traces.iter().next().unwrap();
        (trace.bytes, trace.truncated)
    }

    #[test]
    fn a_decoded_trace_lacks_only_what_is_damaged() {
        let mut traces = Traces::default();
        let whole = TraceBytes { buffers: 1, bytes: 64, decoded: 40, padding: 24, ..TraceBytes::default() };
        traces.add_decoded(AuxtraceType::ARM_SPE, &whole);
        assert!(!traces.are_incomplete() && traces.messages().next().is_none());
        let damaged =
            TraceBytes { buffers: 1, bytes: 64, records: 2, decoded: 40, damaged_records: 1, damaged: 24, ..whole };
        let damaged = TraceBytes { padding: 0, ..damaged };
        traces.add_decoded(AuxtraceType::ARM_SPE, &damaged);
        let text = "hardware trace (Arm SPE): 2 records are decoded to samples (128 bytes in 2 buffers)";
        assert_eq!(traces.decoded_messages().collect::<Vec<_>>(), [text]);
        let text = "hardware trace (Arm SPE): 1 record is damaged and dropped (24 of 128 bytes)";
        assert!(traces.are_incomplete());
        assert_eq!(traces.messages().collect::<Vec<_>>(), [text]);
    }
}
