//! Single records, samples and features.

use super::inputs::{FeatureInput, feature_of, record_of};
use perf_data::abi::Endian;
use perf_data::abi::feature::{Feature, FeatureId, FeatureSection};
use perf_data::abi::record::{Body, Record, RecordContext, RecordHeader, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::tracepoint::tracepoints::Tracepoints;
use perf_data::tracepoint::value::FieldValue;

/// Any bytes as a record: encoding preserves them, also by way of the other byte order. Records with a tail are excluded from the
/// latter: the tail stays in the recorder's byte order, in which it may look like fields.
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
        let is_rejected = view.is_err() || view.is_ok_and(|view| view.is_partial);
        assert!(
            is_rejected,
            "the view should reject what the definition rejects, except for known fields before unknown ones"
        );
        return;
    };
    let view = view.expect("the view should decode what the definition decodes");
    assert!(!view.is_partial, "the definition decodes all fields");
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

/// Any bytes as a feature: encoding preserves them, also by way of the other byte order.
pub fn feature(bytes: &[u8]) {
    let Some(FeatureInput { id, bytes, endian, context }) = feature_of(bytes) else { return };
    let section = FeatureSection::read(id, bytes, endian, &context);
    if id == FeatureId::TRACING_DATA {
        tracepoints(bytes);
    }
    assert_eq!(section.to_bytes(endian).expect("a decoded value should encode"), bytes);
    if matches!(section.feature, Feature::Opaque(_)) || !section.tail.is_empty() {
        return;
    }
    let swapped = section.to_bytes(other(endian)).expect("the size should not depend on the byte order");
    let back = FeatureSection::read(id, &swapped, other(endian), &context);
    assert_eq!(back.to_bytes(endian).expect("a decoded value should encode"), bytes, "by way of the other byte order");
}

/// Parses tracepoint formats, and decodes the same bytes as their fields.
fn tracepoints(bytes: &[u8]) {
    let tracepoints = Tracepoints::read(bytes);
    for tracepoint in (0..1000).filter_map(|id| tracepoints.get(id)) {
        for (_, value) in tracepoint.values(bytes) {
            if let FieldValue::Text(part) | FieldValue::Bytes(part) = value {
                assert!(part.len() <= bytes.len());
            }
        }
    }
}

fn check_record(bytes: &[u8], context: &RecordContext) -> Record {
    let endian = context.endian;
    let record = Record::read(bytes, context).expect("the size should match the header");
    assert_eq!(record.to_bytes(endian).expect("a decoded value should encode"), bytes);
    if !matches!(record.body, Body::Opaque(_)) && record.tail.is_empty() && !lacks_hw_idx(&record, context) {
        let swapped = record.to_bytes(other(endian)).expect("the size should not depend on the byte order");
        let context = RecordContext { endian: other(endian), ..*context };
        let back = Record::read(&swapped, &context).expect("the size should match the header");
        assert_eq!(back.to_bytes(endian).expect("a decoded value should encode"), bytes, "by way of the other order");
    }
    record
}

/// Whether a branch stack is empty and lacks `hw_idx`. This is decided by the bytes that follow it, and recorder bytes among
/// them, which are not swapped, may decide it differently in the other byte order.
fn lacks_hw_idx(record: &Record, context: &RecordContext) -> bool {
    let Body::Sample(sample) = &record.body else { return false };
    let has_hw_idx = context.layout.branch_sample_type().contains(BranchSampleType::HW_INDEX);
    has_hw_idx && sample.branch_stack.as_ref().is_some_and(|stack| stack.hw_idx.is_none())
}

fn other(endian: Endian) -> Endian {
    if endian == Endian::Little { Endian::Big } else { Endian::Little }
}
