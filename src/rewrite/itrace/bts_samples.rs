//! Samples of Intel BTS: each is a branch.

use super::buffer::{TraceBuffer, append_sample, cpu_mode};
use super::context::TraceContext;
use super::trace_events::TraceEvents;
use super::{DecodedBlocks, TraceSamples};
use perf_data::abi::Endian;
use perf_data::abi::bit_fields::to_recorded;
use perf_data::abi::bytes::{ByteReader, Integer};
use perf_data::abi::record::auxtrace::Auxtrace;
use perf_data::abi::sample::branch::{BranchFlags, BranchStackView};
use perf_data::abi::sample::layout::SampleLayout;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::error::Result;
use perf_data::stream::traces::TraceBytes;
use perf_data::trace::bts::{BtsRecord, bts_records};

/// Decodes branches.
pub(super) struct BtsSamples<'a> {
    context: &'a TraceContext,
    layout: SampleLayout,
    /// The branch stack of the current record (scratch buffer).
    branches: Vec<u8>,
}

impl<'a> BtsSamples<'a> {
    pub(super) fn new(context: &'a TraceContext, events: &TraceEvents) -> Self {
        let fields = context.fields(events.has_branch_stacks());
        let layout = SampleLayout::new(fields).with_branch_sample_type(BranchSampleType::ANY);
        Self { context, layout, branches: Vec::new() }
    }
}

impl TraceSamples for BtsSamples<'_> {
    fn decode(
        &mut self,
        trace: &Auxtrace,
        bytes: (&[u8], usize),
        endian: Endian,
        out: &mut DecodedBlocks<'_>,
    ) -> Result<TraceBytes> {
        let Self { context, layout, branches } = self;
        let (payload, begin) = bytes;
        let buffer = TraceBuffer::new(context, trace);
        let (records, _) = bts_records(&payload[begin..]);
        for (index, record) in records.enumerate() {
            let time = buffer.written(begin + (index + 1) * BtsRecord::SIZE);
            branches.clear();
            let flags = BranchFlags(0)
                .with(BranchFlags::MISPRED, (!record.is_predicted()).into())
                .with(BranchFlags::PREDICTED, record.is_predicted().into());
            let flags = to_recorded(flags.0, endian, BranchFlags::FIELDS);
            [record.from, record.to, flags].iter().for_each(|word| branches.extend(word.to_bytes(endian)));
            let entries = ByteReader::new(branches, endian).words(3);
            let id = Some(context.first_id);
            let view = SampleView {
                identifier: id,
                id,
                stream_id: id,
                ip: Some(record.from),
                addr: Some(record.to),
                task: Some(buffer.task(None, time)),
                time: Some(time),
                cpu: buffer.queue.cpu.map(|cpu| (cpu, 0)),
                period: Some(1),
                branch_stack: entries.map(|entries| BranchStackView { hw_idx: None, entries, counters: None }),
                ..SampleView::default()
            };
            append_sample(&view, layout, cpu_mode(record.from), endian, out.buffer());
            out.pass_full()?;
        }
        Ok(TraceBytes::of_bts(&payload[begin..]))
    }
}
