//! Records, samples and features by themselves.

use super::inputs::{FeatureInput, feature_of, record_of};
use perfconv::abi::Endian;
use perfconv::abi::feature::{Feature, FeatureId, FeatureSection};
use perfconv::abi::record::{Body, Record, RecordContext, RecordHeader, RecordType};
use perfconv::abi::sample_type::{BranchSampleType, SampleType};
use perfconv::abi::sample_view::SampleView;
use perfconv::tracepoint::tracepoints::Tracepoints;
use perfconv::tracepoint::value::Value;

/// Any bytes as a record: it is written as it was read, also by way of the other byte order. What is behind the fields stays
/// in the recorder's order, in which it may be taken for fields: it is not asked of records that have such a tail.
pub fn record(bytes: &[u8]) {
    if let Some((bytes, context)) = record_of(bytes, None) {
        check_record(&bytes, &context);
    }
}

/// Any bytes as a sample: the borrowed view and the owned definition agree.
pub fn sample(bytes: &[u8]) {
    let Some((bytes, context)) = record_of(bytes, Some(RecordType::SAMPLE)) else { return };
    let record = check_record(&bytes, &context);
    let view = SampleView::read(&bytes[RecordHeader::SIZE..], &context.layout, context.endian);
    let Body::Sample(owned) = record.body else {
        let is_known = SampleType::KNOWN.contains(context.layout.sample_type());
        assert!(view.is_err() || !is_known, "the view reads what the definition does not");
        return;
    };
    let view = view.expect("the view reads what the definition does");
    assert_eq!((view.identifier, view.ip, view.task, view.time), (owned.identifier, owned.ip, owned.task, owned.time));
    assert_eq!((view.addr, view.id, view.stream_id, view.cpu), (owned.addr, owned.id, owned.stream_id, owned.cpu));
    assert_eq!((view.period, view.phys_addr, view.cgroup), (owned.period, owned.phys_addr, owned.cgroup));
    assert_eq!((view.data_page_size, view.code_page_size), (owned.data_page_size, owned.code_page_size));
    let ips = view.callchain.map(|ips| ips.iter().collect());
    assert_eq!(ips, owned.callchain.map(|chain| chain.ips));
    assert_eq!(view.raw, owned.raw.as_ref().map(|raw| &raw.data[..]));
    assert_eq!(view.aux, owned.aux.as_ref().map(|aux| &aux.data[..]));
    let stack = view.stack_user.map(|stack| (stack.data, stack.dyn_size));
    assert_eq!(stack, owned.stack_user.as_ref().map(|stack| (&stack.data[..], stack.dyn_size)));
    for (view, owned) in [(view.regs_user, owned.regs_user), (view.regs_intr, owned.regs_intr)] {
        let view = view.map(|regs| (regs.abi, regs.regs.iter().collect()));
        assert_eq!(view, owned.map(|regs| (regs.abi.0, regs.regs)));
    }
    let branches = view.branch_stack.map(|stack| (stack.hw_idx, stack.len()));
    assert_eq!(branches, owned.branch_stack.map(|stack| (stack.hw_idx, stack.entries.len())));
    assert_eq!(view.tail, record.tail);
}

/// Any bytes as a feature: it is written as it was read, also by way of the other byte order.
pub fn feature(bytes: &[u8]) {
    let Some(FeatureInput { id, bytes, endian, context }) = feature_of(bytes) else { return };
    let section = FeatureSection::read(id, bytes, endian, &context);
    if id == FeatureId::TRACING_DATA {
        tracepoints(bytes);
    }
    assert_eq!(section.to_bytes(endian).expect("what was read can be written"), bytes);
    if matches!(section.feature, Feature::Opaque(_)) || !section.tail.is_empty() {
        return;
    }
    let swapped = section.to_bytes(other(endian)).expect("it takes as many bytes in the other byte order");
    let back = FeatureSection::read(id, &swapped, other(endian), &context);
    assert_eq!(back.to_bytes(endian).expect("what was read can be written"), bytes, "by way of the other byte order");
}

/// The formats of tracepoints, and the values of their fields in the same bytes.
fn tracepoints(bytes: &[u8]) {
    let tracepoints = Tracepoints::read(bytes);
    for tracepoint in (0..1000).filter_map(|id| tracepoints.get(id)) {
        for (_, value) in tracepoint.values(bytes) {
            if let Value::Text(part) | Value::Bytes(part) = value {
                assert!(part.len() <= bytes.len());
            }
        }
    }
}

fn check_record(bytes: &[u8], context: &RecordContext) -> Record {
    let endian = context.endian;
    let record = Record::read(bytes, context).expect("it is as long as its header says");
    assert_eq!(record.to_bytes(endian).expect("what was read can be written"), bytes);
    if !matches!(record.body, Body::Opaque(_)) && record.tail.is_empty() && !lacks_hw_idx(&record, context) {
        let swapped = record.to_bytes(other(endian)).expect("it takes as many bytes in the other byte order");
        let context = RecordContext { endian: other(endian), ..*context };
        let back = Record::read(&swapped, &context).expect("it is as long as its header says");
        assert_eq!(back.to_bytes(endian).expect("what was read can be written"), bytes, "by way of the other order");
    }
    record
}

/// Whether an empty branch stack lacks its `hw_idx`, which only shows by what is behind it: bytes of the recorder among it,
/// which are not swapped, may let it look otherwise in the other byte order.
fn lacks_hw_idx(record: &Record, context: &RecordContext) -> bool {
    let Body::Sample(sample) = &record.body else { return false };
    let has_hw_idx = context.layout.branch_sample_type().contains(BranchSampleType::HW_INDEX);
    has_hw_idx && sample.branch_stack.as_ref().is_some_and(|stack| stack.hw_idx.is_none())
}

fn other(endian: Endian) -> Endian {
    if endian == Endian::Little { Endian::Big } else { Endian::Little }
}
