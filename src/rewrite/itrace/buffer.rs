//! What the samples of a buffer have in common.

use super::context::{TaskIds, TraceContext, TraceQueue};
use perf_data::abi::Endian;
use perf_data::abi::bytes::ByteWriter;
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::{CpuMode, Misc, RecordHeader, RecordType};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;

/// A buffer: which CPU or thread wrote it, and where it begins in the AUX area.
pub(super) struct TraceBuffer<'a> {
    pub context: &'a TraceContext,
    pub queue: TraceQueue,
    start: u64,
    /// The thread that perf was asked to record, of which a buffer of a CPU has others, too.
    recorded: Option<u32>,
}

impl<'a> TraceBuffer<'a> {
    pub(super) fn new(context: &'a TraceContext, trace: &Auxtrace) -> Self {
        let recorded = u32::try_from(trace.tid).ok();
        Self { context, queue: TraceQueue::from(trace), start: trace.offset, recorded }
    }

    /// When the bytes before an offset of the buffer were written, at the latest.
    pub(super) fn written(&self, offset: usize) -> u64 {
        self.context.written(self.queue, self.start.wrapping_add(offset as u64)).unwrap_or(0)
    }

    /// Process and thread: by the thread that the trace has, that of the buffer, or the switches on the CPU; as in perf, the recorded one
    /// if there are none.
    pub(super) fn task(&self, tid: Option<u32>, time: u64) -> TaskIds {
        const UNKNOWN: TaskIds = (u32::MAX, u32::MAX);
        let running = || self.queue.cpu.and_then(|cpu| self.context.running(cpu, time));
        let task = |tid| self.context.task(tid);
        let traced = tid.or(self.queue.tid).map(task).or_else(running);
        traced.or_else(|| self.recorded.map(task)).unwrap_or(UNKNOWN)
    }
}

/// Appends a sample.
pub(super) fn append_sample(
    view: &SampleView<'_>,
    layout: &SampleLayout,
    mode: CpuMode,
    endian: Endian,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.extend([0; RecordHeader::SIZE]);
    view.encode(layout, &mut ByteWriter::new(out, endian));
    // Two branches at most: the size fits.
    let size = (out.len() - start) as u16;
    let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc::from(mode), size };
    out[start..][..RecordHeader::SIZE].copy_from_slice(&header.to_bytes(endian));
}

/// The mode of code at an address.
pub(super) fn cpu_mode(address: u64) -> CpuMode {
    if address >> 63 == 1 { CpuMode::KERNEL } else { CpuMode::USER }
}
