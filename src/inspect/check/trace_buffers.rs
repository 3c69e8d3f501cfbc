//! Buffers of hardware traces (AUXTRACE): what cannot be decoded, and rules between them and the pieces that the kernel wrote (AUX).

use super::finding::{Rule, Subject};
use perf_data::abi;
use perf_data::abi::record::RecordType;
use perf_data::abi::record::aux_area::{Aux, AuxFlags};
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::auxtrace_info::{AuxtraceInfo, AuxtraceType};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::traces::TraceBytes;
use perf_data::trace::spe::record::SpeRecords;
use std::collections::BTreeMap;

/// What writes to an AUX area: a CPU, or a thread on any CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    Cpu(u32),
    Thread(u32),
}

/// A range of offsets in an AUX area, with the record that has or announces it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    offset: u64,
    subject: Subject,
}

/// Ranges by writer.
#[derive(Default)]
pub(super) struct TraceBuffers {
    buffers: BTreeMap<Writer, Vec<Piece>>,
    /// By CPU and by thread: one of them is the writer.
    announced: Vec<(Option<Writer>, Option<Writer>, Piece)>,
    /// Whether buffers are snapshots, which may overlap and lack what was overwritten.
    has_snapshots: bool,
    source: Option<AuxtraceType>,
    /// The bytes of damaged buffers, with their records.
    damaged: Vec<(TraceBytes, u64, Subject)>,
}

impl TraceBuffers {
    /// Adds an AUXTRACE_INFO, AUX or AUXTRACE record.
    pub(super) fn record(&mut self, meta: &Meta, raw: &Raw<'_>, subject: Subject) {
        let piece =
            |start: u64, size: u64| Piece { start, end: start.saturating_add(size), offset: raw.offset(), subject };
        if raw.header().kind == RecordType::AUXTRACE_INFO {
            let info = abi::parse::<AuxtraceInfo>(raw.body(), raw.endian(), ()).ok();
            self.source = info.map(|(info, _)| info.kind);
            return;
        }
        if raw.header().kind == RecordType::AUXTRACE {
            let bytes = self.source.map(|source| decoded(source, raw.payload())).filter(|bytes| bytes.damaged > 0);
            self.damaged.extend(bytes.map(|bytes| (bytes, raw.offset(), subject)));
            let Ok((trace, _)) = abi::parse::<Auxtrace>(raw.body(), raw.endian(), ()) else { return };
            let writer = match u32::try_from(trace.cpu) {
                Ok(cpu) => Writer::Cpu(cpu),
                Err(_) => Writer::Thread(trace.tid as u32),
            };
            self.buffers.entry(writer).or_default().push(piece(trace.offset, raw.payload_len() as u64));
            return;
        }
        let (body, trailer) = meta.events.split(raw);
        let Ok((aux, _)) = abi::parse::<Aux>(body, raw.endian(), ()) else { return };
        self.has_snapshots |= aux.flags.contains(AuxFlags::OVERWRITE);
        let cpu = trailer.and_then(|trailer| trailer.cpu).map(|(cpu, _)| Writer::Cpu(cpu));
        let thread = trailer.and_then(|trailer| trailer.task).map(|(_, tid)| Writer::Thread(tid));
        self.announced.push((cpu, thread, piece(aux.aux_offset, aux.aux_size)));
    }

    /// Reports what cannot be decoded, buffers that overlap, and pieces that no buffer has.
    pub(super) fn check(mut self, mut report: impl FnMut(Rule, u64, Subject, String)) {
        // A snapshot begins within a record.
        let cut_off = u64::from(self.has_snapshots);
        for &(bytes, offset, subject) in self.damaged.iter().filter(|(bytes, ..)| bytes.damaged_records > cut_off) {
            let TraceBytes { damaged, damaged_records, .. } = bytes;
            let problem = format!("{damaged} bytes of its trace cannot be decoded (records: {damaged_records})");
            report(Rule::TraceDamage, offset, subject, problem);
        }
        // Passes that drop traces keep the AUX records.
        if self.has_snapshots || self.buffers.is_empty() {
            return;
        }
        for pieces in self.buffers.values_mut() {
            pieces.sort_by_key(|piece| piece.start);
            for pair in pieces.windows(2).filter(|pair| pair[1].start < pair[0].end) {
                let problem =
                    format!("its trace begins at {:#x}, but one before ends at {:#x}", pair[1].start, pair[0].end);
                report(Rule::TraceBuffers, pair[1].offset, pair[1].subject, problem);
            }
        }
        let is_by_cpu = self.buffers.keys().any(|writer| matches!(writer, Writer::Cpu(_)));
        for (cpu, thread, piece) in &self.announced {
            let Some(writer) = (if is_by_cpu { cpu } else { thread }) else { continue };
            let buffers = self.buffers.get(writer).map_or(&[][..], Vec::as_slice);
            let missing = missing(piece, buffers);
            if missing > 0 {
                let problem = format!("{missing} bytes of its trace are in no AUXTRACE record");
                report(Rule::TraceBuffers, piece.offset, piece.subject, problem);
            }
        }
    }
}

/// What the bytes of a buffer are; nothing is known of traces that are never decoded.
fn decoded(source: AuxtraceType, payload: &[u8]) -> TraceBytes {
    match source {
        AuxtraceType::ARM_SPE => {
            let mut records = SpeRecords::new(payload);
            records.by_ref().for_each(drop);
            records.coverage().into()
        }
        AuxtraceType::INTEL_BTS => TraceBytes::of_bts(payload),
        _ => TraceBytes::default(),
    }
}

/// Number of bytes of a piece that no buffer has; buffers are sorted.
fn missing(piece: &Piece, buffers: &[Piece]) -> u64 {
    let (mut at, mut missing) = (piece.start, 0);
    let first = buffers.partition_point(|buffer| buffer.end <= piece.start);
    for buffer in buffers[first..].iter().take_while(|buffer| buffer.start < piece.end) {
        missing += buffer.start.saturating_sub(at);
        at = at.max(buffer.end.min(piece.end));
    }
    missing + piece.end.saturating_sub(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::trace::spe::record::SpeCoverage;

    fn piece(start: u64, end: u64) -> Piece {
        Piece { start, end, offset: start, subject: Subject::Container }
    }

    #[test]
    fn counts_the_bytes_that_no_buffer_has() {
        let buffers = [piece(0, 10), piece(20, 30), piece(30, 40)];
        let cases = [((0, 10), 0), ((5, 25), 10), ((0, 50), 20), ((22, 38), 0), ((40, 44), 4), ((12, 12), 0)];
        for ((start, end), count) in cases {
            assert_eq!(missing(&piece(start, end), &buffers), count, "{start}..{end}");
        }
        assert_eq!(missing(&piece(3, 7), &[]), 4);
    }

    #[test]
    fn reports_overlapping_and_missing_buffers_unless_they_are_snapshots() {
        let traces = |has_snapshots| TraceBuffers {
            buffers: BTreeMap::from([(Writer::Cpu(0), vec![piece(8, 20), piece(0, 10)])]),
            announced: vec![
                (Some(Writer::Cpu(0)), Some(Writer::Thread(7)), piece(0, 20)),
                (Some(Writer::Cpu(1)), None, piece(100, 104)),
                (None, Some(Writer::Thread(7)), piece(200, 204)),
            ],
            has_snapshots,
            source: None,
            damaged: [(1, 300), (2, 400)]
                .map(|(damaged_records, offset)| {
                    (SpeCoverage { damaged_records, ..SpeCoverage::default() }.into(), offset, Subject::Container)
                })
                .to_vec(),
        };
        let reported = |traces: TraceBuffers| {
            let mut offsets = Vec::new();
            traces.check(|rule, offset, _, _| offsets.push((rule, offset)));
            offsets
        };
        let damage = [300, 400].map(|offset| (Rule::TraceDamage, offset));
        let buffers = [8, 100].map(|offset| (Rule::TraceBuffers, offset));
        assert_eq!(reported(traces(false)), [damage, buffers].concat());
        assert_eq!(reported(traces(true)), damage[1..]);
    }
}
