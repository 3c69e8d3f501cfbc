//! Records of Arm SPE as SAMPLE records.

use super::context::{TaskIds, TraceContext};
use super::trace_events::{TraceEvent, TraceEvents};
use perf_data::abi::Endian;
use perf_data::abi::bit_fields::to_recorded;
use perf_data::abi::bytes::{ByteReader, ByteWriter, Integer};
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::record::{CpuMode, Misc, RecordHeader, RecordType};
use perf_data::abi::sample::branch::{BranchFlags, BranchStackView, BranchType};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::trace::clock::nanoseconds;
use perf_data::trace::spe::data_source::data_source;
use perf_data::trace::spe::packet::{SpeEvents, SpeOperation};
use perf_data::trace::spe::record::SpeRecord;

/// Encodes samples.
pub(super) struct SpeSamples<'a> {
    context: &'a TraceContext,
    /// Each event with its ID and layout.
    events: Vec<(TraceEvent, u64, SampleLayout)>,
    period: u64,
    /// Number of records since the latest sample of `instructions`.
    since: u64,
    /// CPU and thread of the buffer, and the model of the CPU.
    cpu: Option<u32>,
    tid: Option<u32>,
    midr: Option<u64>,
    /// Time of the latest record, for those without.
    time: u64,
    /// The branch stack of the current record (scratch buffer).
    branches: Vec<u8>,
}

impl<'a> SpeSamples<'a> {
    pub(super) fn new(context: &'a TraceContext, events: &TraceEvents) -> Self {
        let layout = |kind: &TraceEvent| {
            let fields = context.fields(*kind, events.has_branch_stacks());
            SampleLayout::new(fields).with_branch_sample_type(BranchSampleType::ANY)
        };
        let list = events.kinds().iter().zip(context.first_id..).map(|(kind, id)| (*kind, id, layout(kind))).collect();
        let period = events.period();
        Self {
            context,
            events: list,
            period,
            since: 0,
            cpu: None,
            tid: None,
            midr: None,
            time: 0,
            branches: Vec::new(),
        }
    }

    /// Begins a buffer.
    pub(super) fn begin(&mut self, trace: &Auxtrace) {
        self.cpu = u32::try_from(trace.cpu).ok();
        self.tid = u32::try_from(trace.tid).ok().filter(|_| self.cpu.is_none());
        self.midr = self.context.midr(trace.cpu);
    }

    /// Calls `on_sample` with each sample of a record, which is encoded in `buffer`.
    ///
    /// # Errors
    /// Those of `on_sample`.
    pub(super) fn for_each(
        &mut self,
        record: &SpeRecord,
        endian: Endian,
        buffer: &mut Vec<u8>,
        mut on_sample: impl FnMut(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        if let Some(ticks) = record.time {
            self.time = self.context.clock.map_or(ticks, |clock| nanoseconds(&clock, ticks));
        }
        self.since += 1;
        let is_instruction = self.since >= self.period;
        if is_instruction {
            self.since = 0;
        }
        let cycles = |latency: Option<u16>| u64::from(latency.unwrap_or(0));
        let weight = Weight(0)
            .with(Weight::VAR1_DW, cycles(record.total_latency))
            .with(Weight::VAR2_W, cycles(record.issue_latency))
            .with(Weight::VAR3_W, cycles(record.translation_latency));
        let mut view = SampleView {
            ip: Some(record.pc),
            task: Some(self.task(record)),
            time: Some(self.time),
            cpu: self.cpu.map(|cpu| (cpu, 0)),
            weight: Some(weight.0),
            data_src: Some(data_source(record, self.midr).0),
            phys_addr: Some(record.physical_address.unwrap_or(0)),
            ..SampleView::default()
        };
        let mode = if record.is_in_kernel() { CpuMode::KERNEL } else { CpuMode::USER };
        let mut branches = std::mem::take(&mut self.branches);
        encode_branches(record, endian, &mut branches);
        let words = ByteReader::new(&branches, endian).words(branches.len() as u64 / 8);
        view.branch_stack = words.map(|entries| BranchStackView { hw_idx: None, entries, counters: None });
        let mut done = Ok(());
        for (kind, id, layout) in &self.events {
            if !kind.has(record) || *kind == TraceEvent::Instructions && !is_instruction {
                continue;
            }
            let address = if kind.has_target() { record.branch_target } else { record.data_address };
            view.addr = Some(address.unwrap_or(0));
            (view.identifier, view.id, view.stream_id) = (Some(*id), Some(*id), Some(*id));
            view.period = Some(if *kind == TraceEvent::Instructions { self.period } else { 1 });
            encode(&view, layout, mode, endian, buffer);
            done = on_sample(buffer);
            if done.is_err() {
                break;
            }
        }
        self.branches = branches;
        done
    }

    /// Process and thread: by the context of the record, the buffer, or the switches on the CPU.
    fn task(&self, record: &SpeRecord) -> TaskIds {
        const UNKNOWN: TaskIds = (u32::MAX, u32::MAX);
        let tid = record.context.or(self.tid);
        let running = || self.cpu.and_then(|cpu| self.context.running(cpu, self.time));
        tid.map(|tid| self.context.task(tid)).or_else(running).unwrap_or(UNKNOWN)
    }
}

fn encode(view: &SampleView<'_>, layout: &SampleLayout, mode: CpuMode, endian: Endian, out: &mut Vec<u8>) {
    out.clear();
    out.extend([0; RecordHeader::SIZE]);
    view.encode(layout, &mut ByteWriter::new(out, endian));
    // Two branches at most: the size fits.
    let header = RecordHeader { kind: RecordType::SAMPLE, misc: Misc::from(mode), size: out.len() as u16 };
    out[..RecordHeader::SIZE].copy_from_slice(&header.to_bytes(endian));
}

/// The branch of a record, if it was taken, and the one before.
fn encode_branches(record: &SpeRecord, endian: Endian, out: &mut Vec<u8>) {
    out.clear();
    let mut push = |from: u64, to: u64, flags: u64| {
        let flags = to_recorded(flags, endian, BranchFlags::FIELDS);
        [from, to, flags].iter().for_each(|word| out.extend(word.to_bytes(endian)));
    };
    let Some(operation) = record.operation.filter(|operation| operation.is_branch()) else { return };
    if record.events.contains(SpeEvents::NOT_TAKEN) {
        return;
    }
    let is_mispredicted = record.events.contains(SpeEvents::MISPREDICTED);
    let flags = BranchFlags(0)
        .with(BranchFlags::MISPRED, is_mispredicted.into())
        .with(BranchFlags::PREDICTED, (!is_mispredicted).into())
        .with(BranchFlags::CYCLES, record.total_latency.unwrap_or(0).into())
        .with(BranchFlags::TYPE, branch_type(operation).0.into());
    push(record.pc, record.branch_target.unwrap_or(0), flags.0);
    if let Some(previous) = record.previous_branch_target {
        push(0, previous, 0);
    }
}

/// The type of a branch. Records of older CPUs do not distinguish returns from other indirect branches.
fn branch_type(operation: SpeOperation) -> BranchType {
    match (operation.is_call(), operation.is_return() || operation.is_indirect(), operation.is_conditional()) {
        (true, _, true) => BranchType::COND_CALL,
        (true, ..) => BranchType::CALL,
        (_, true, true) => BranchType::COND_RET,
        (_, true, false) => BranchType::RET,
        (_, false, true) => BranchType::COND,
        (_, false, false) => BranchType::UNCOND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_types_are_those_of_perf() {
        let kind = |subclass| branch_type(SpeOperation { class: 2, subclass });
        let list = [0, 1, 2, 3, 0x08, 0x0a, 0x12].map(kind);
        let expected = [
            BranchType::UNCOND,
            BranchType::COND,
            BranchType::RET,
            BranchType::COND_RET,
            BranchType::CALL,
            BranchType::CALL,
            BranchType::RET,
        ];
        assert_eq!(list, expected);
    }
}
