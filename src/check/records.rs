//! The rules that one record has to keep by itself.

use super::finding::Rule;
use crate::abi::feature::FeatureId;
use crate::abi::record::event_update::EventUpdateValue;
use crate::abi::record::{Body, Record, RecordContext, RecordType};
use crate::abi::sample_type::SampleType;
use crate::abi::text::until_nul;
use crate::stream::events::Events;
use crate::stream::raw::Raw;

/// simpleperf's own types begin here; their sizes are not perf's.
const SIMPLEPERF: RecordType = RecordType(32768);

/// Reports what is wrong with a record, and gives it decoded.
pub fn check(raw: &Raw<'_>, events: &Events, mut report: impl FnMut(Rule, String)) -> Option<Record> {
    let kind = raw.header.kind;
    check_size(raw, &mut report);
    let event = if kind < RecordType::USER_START { events.of(raw) } else { None };
    if event.is_none() && kind < RecordType::USER_START && (events.list().len() > 1 || kind == RecordType::SAMPLE) {
        report(Rule::UnknownEvent, "its id is of none of the events".into());
    }
    // Others than the kernel's need no event, but for the trailer that perf inject gives some of them.
    let event = event.map(|(_, event)| event).or(events.list().first());
    let context = match event {
        Some(event) => event.context(raw.endian),
        None => RecordContext { endian: raw.endian, layout: Default::default(), sample_id_all: false },
    };
    let record = Record::read(raw.bytes(), &context)?;
    if matches!(record.body, Body::Opaque(_)) {
        let unknown_fields = context.layout.sample_type.difference(SampleType::KNOWN);
        if kind.name().is_none() {
            report(Rule::Unknown, format!("a type that is not known, of {} bytes", raw.header.len()));
        } else if kind == RecordType::SAMPLE && !unknown_fields.is_empty() {
            report(Rule::Unknown, format!("sample_type has the unknown bits {:#x}", unknown_fields.bits()));
        } else {
            report(Rule::Undecodable, format!("its {} bytes are not laid out as its type is", raw.header.len()));
        }
    }
    if record.tail.iter().any(|&byte| byte != 0) {
        report(Rule::Tail, format!("{} bytes behind its fields are not all zero", record.tail.len()));
    }
    if !record.to_bytes(raw.endian).is_ok_and(|bytes| bytes == raw.bytes()) {
        report(Rule::NotReproduced, "it is not written as the bytes that it was read from".into());
    }
    if let Some((name, text)) = text(&record.body) {
        check_text(name, text, &mut report);
    }
    Some(record)
}

fn check_size(raw: &Raw<'_>, report: &mut impl FnMut(Rule, String)) {
    let (kind, len) = (raw.header.kind, raw.header.len());
    let may_be_any =
        matches!(kind, RecordType::HEADER_TRACING_DATA | RecordType::COMPRESSED | RecordType::HEADER_FEATURE);
    if !len.is_multiple_of(8) && !may_be_any && kind < SIMPLEPERF {
        report(Rule::Unaligned, format!("its size is {len}, which is not a multiple of 8"));
    }
    if len < min_size(kind) {
        report(Rule::TooSmall, format!("its size is {len}, at least {} are needed", min_size(kind)));
    }
}

/// The smallest size that perf accepts.
fn min_size(kind: RecordType) -> usize {
    match kind {
        RecordType::MMAP => 41,
        RecordType::COMM | RecordType::CGROUP => 17,
        RecordType::EXIT | RecordType::FORK => 32,
        RecordType::THROTTLE | RecordType::UNTHROTTLE => 32,
        RecordType::LOST | RecordType::READ | RecordType::NAMESPACES | RecordType::BPF_EVENT => 24,
        RecordType::MMAP2 => 73,
        RecordType::AUX => 32,
        RecordType::LOST_SAMPLES | RecordType::ITRACE_START | RecordType::SWITCH_CPU_WIDE => 16,
        RecordType::KSYMBOL => 25,
        RecordType::TEXT_POKE => 20,
        RecordType::AUX_OUTPUT_HW_ID | RecordType::CALLCHAIN_DEFERRED => 16,
        RecordType::HEADER_ATTR => 72,
        RecordType::HEADER_TRACING_DATA => 12,
        RecordType::HEADER_BUILD_ID => 36,
        RecordType::AUXTRACE => 48,
        RecordType::AUXTRACE_ERROR => 49,
        RecordType::ID_INDEX | RecordType::AUXTRACE_INFO | RecordType::THREAD_MAP | RecordType::CPU_MAP => 16,
        RecordType::STAT_CONFIG | RecordType::HEADER_FEATURE | RecordType::COMPRESSED2 => 16,
        RecordType::STAT => 48,
        RecordType::STAT_ROUND | RecordType::EVENT_UPDATE => 24,
        RecordType::TIME_CONV => 32,
        RecordType::BPF_METADATA => 528,
        RecordType::SCHEDSTAT_CPU | RecordType::SCHEDSTAT_DOMAIN => 24,
        _ => 8,
    }
}

/// The text that ends a record, and what it is called.
fn text(body: &Body) -> Option<(&'static str, &[u8])> {
    let (name, text) = match body {
        Body::Mmap(mmap) => ("filename", &mmap.filename),
        Body::Mmap2(mmap) => ("filename", &mmap.filename),
        Body::Comm(comm) => ("comm", &comm.comm),
        Body::Cgroup(cgroup) => ("path", &cgroup.path),
        Body::Ksymbol(symbol) => ("name", &symbol.name),
        Body::HeaderEventType(event) => ("name", &event.name),
        Body::HeaderBuildId(build_id) => ("filename", &build_id.filename),
        Body::AuxtraceError(error) => ("msg", &error.msg),
        Body::EventUpdate(update) => match update.value.as_ref()? {
            EventUpdateValue::Unit(unit) => ("unit", unit),
            EventUpdateValue::Name(name) => ("name", name),
            EventUpdateValue::Scale(_) | EventUpdateValue::Cpus(_) => return None,
        },
        _ => return None,
    };
    Some((name, text.as_bytes()))
}

fn check_text(name: &str, text: &[u8], report: &mut impl FnMut(Rule, String)) {
    match &text[until_nul(text).len()..] {
        [] => report(Rule::MissingNul, format!("its {name} does not end with a NUL")),
        padding if padding.iter().any(|&byte| byte != 0) => {
            report(Rule::Padding, format!("the padding of its {name} is not zero"));
        }
        _ => {}
    }
}

/// The feature that a record holds, and its bytes. The mark at the end of a pipe's header holds none.
pub fn feature<'a>(record: &Record, raw: &Raw<'a>) -> Option<(FeatureId, &'a [u8])> {
    match &record.body {
        Body::HeaderFeature(feature) if !feature.data.is_empty() => Some((feature.id()?, raw.body().get(8..)?)),
        Body::HeaderTracingData(tracing) if tracing.inside.is_empty() => Some((FeatureId::TRACING_DATA, raw.payload())),
        _ => None,
    }
}
