//! Samples of Arm SPE records.

use super::buffer::{TraceBuffer, append_sample, cpu_mode};
use super::context::TraceContext;
use super::trace_events::{TraceEvent, TraceEvents};
use super::{DecodedBlocks, TraceSamples};
use perf_data::abi::Endian;
use perf_data::abi::bit_fields::to_recorded;
use perf_data::abi::bytes::{ByteReader, Integer};
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::sample::branch::{BranchFlags, BranchStackView, BranchType};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample::weight::Weight;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::stream::traces::TraceBytes;
use perf_data::trace::clock::nanoseconds;
use perf_data::trace::spe::data_source::data_source;
use perf_data::trace::spe::details::SpeDetails;
use perf_data::trace::spe::packet::{SpeEvents, SpeOperation};
use perf_data::trace::spe::record::{SpeRecord, SpeRecords};

/// Encodes samples.
pub(super) struct SpeSamples<'a> {
    context: &'a TraceContext,
    /// Each event with its ID.
    events: Vec<(TraceEvent, u64)>,
    layout: SampleLayout,
    has_previous_branches: bool,
    period: u64,
    /// Number of records since the latest sample of `instructions`.
    since: u64,
    /// The model of the CPU.
    midr: Option<u64>,
    /// The branch stack of the current record (scratch buffer).
    branches: Vec<u8>,
}

impl<'a> SpeSamples<'a> {
    pub(super) fn new(context: &'a TraceContext, events: &TraceEvents) -> Self {
        let fields = context.fields(events.has_branch_stacks());
        let layout = SampleLayout::new(fields).with_branch_sample_type(BranchSampleType::ANY);
        let list = events.kinds().iter().copied().zip(context.first_id..).collect();
        Self {
            context,
            events: list,
            layout,
            has_previous_branches: events.has_previous_branches(),
            period: events.period(),
            since: 0,
            midr: None,
            branches: Vec::new(),
        }
    }

    /// Appends the samples of a record, which ends at this offset of the buffer.
    fn encode(
        &mut self,
        record: &SpeRecord,
        buffer: &TraceBuffer<'_>,
        offset: usize,
        endian: Endian,
        out: &mut Vec<u8>,
    ) {
        let time = match record.time {
            Some(ticks) => self.context.clock.map_or(ticks, |clock| nanoseconds(&clock, ticks)),
            None => buffer.written(offset),
        };
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
        let details = SpeDetails::from(record).encode();
        let mut view = SampleView {
            ip: Some(record.pc),
            task: Some(buffer.task(record.context, time)),
            time: Some(time),
            cpu: buffer.queue.cpu.map(|cpu| (cpu, 0)),
            raw: Some(&details),
            weight: Some(weight.0),
            data_src: Some(data_source(record, self.midr).0),
            phys_addr: Some(record.physical_address.unwrap_or(0)),
            ..SampleView::default()
        };
        encode_branches(record, endian, &mut self.branches);
        let stack = |bytes| {
            let words = ByteReader::new(bytes, endian).words(bytes.len() as u64 / 8);
            words.map(|entries| BranchStackView { hw_idx: None, entries, counters: None })
        };
        let stacks = [stack(&[]), stack(&self.branches)];
        for (kind, id) in &self.events {
            if !kind.has(record) || *kind == TraceEvent::Instructions && !is_instruction {
                continue;
            }
            view.branch_stack = stacks[usize::from(self.has_previous_branches || kind.has_target())];
            let address = if kind.has_target() { record.branch_target } else { record.data_address };
            view.addr = Some(address.unwrap_or(0));
            (view.identifier, view.id, view.stream_id) = (Some(*id), Some(*id), Some(*id));
            view.period = Some(if *kind == TraceEvent::Instructions { self.period } else { 1 });
            append_sample(&view, &self.layout, cpu_mode(record.pc), endian, out);
        }
    }
}

impl TraceSamples for SpeSamples<'_> {
    fn decode(
        &mut self,
        trace: &Auxtrace,
        bytes: (&[u8], usize),
        endian: Endian,
        out: &mut DecodedBlocks<'_>,
    ) -> Result<TraceBytes> {
        let buffer = TraceBuffer::new(self.context, trace);
        self.midr = self.context.midr(trace.cpu);
        let mut records = SpeRecords::at(bytes.0, bytes.1);
        while let Some(record) = records.next() {
            self.encode(&record, &buffer, records.offset(), endian, out.buffer());
            out.pass_full()?;
        }
        Ok(records.coverage().into())
    }
}

/// The branch of a record, and the one before.
fn encode_branches(record: &SpeRecord, endian: Endian, out: &mut Vec<u8>) {
    out.clear();
    let mut push = |from: u64, to: u64, flags: u64| {
        let flags = to_recorded(flags, endian, BranchFlags::FIELDS);
        [from, to, flags].iter().for_each(|word| out.extend(word.to_bytes(endian)));
    };
    if let Some(operation) = record.operation.filter(|operation| operation.is_branch()) {
        let is_mispredicted = record.events.contains(SpeEvents::MISPREDICTED);
        let flags = BranchFlags(0)
            .with(BranchFlags::MISPRED, is_mispredicted.into())
            .with(BranchFlags::PREDICTED, (!is_mispredicted).into())
            .with(BranchFlags::NOT_TAKEN, record.events.contains(SpeEvents::NOT_TAKEN).into())
            .with(BranchFlags::CYCLES, record.total_latency.unwrap_or(0).into())
            .with(BranchFlags::TYPE, branch_type(operation).0.into());
        push(record.pc, record.branch_target.unwrap_or(0), flags.0);
    }
    if let Some(previous) = record.previous_branch_target {
        push(0, previous, 0);
    }
}

/// The type of a branch, as in perf: that of direct ones that are neither conditional nor calls is not recorded. Records of older CPUs do
/// not distinguish returns from other indirect branches.
fn branch_type(operation: SpeOperation) -> BranchType {
    match (operation.is_call(), operation.is_return() || operation.is_indirect(), operation.is_conditional()) {
        (true, _, true) => BranchType::COND_CALL,
        (true, ..) => BranchType::CALL,
        (_, true, true) => BranchType::COND_RET,
        (_, true, false) => BranchType::RET,
        (_, false, true) => BranchType::COND,
        (_, false, false) => BranchType::UNKNOWN,
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
            BranchType::UNKNOWN,
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
