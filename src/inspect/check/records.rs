//! Rules for single records.

use super::finding::Rule;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::fields::{FieldVisitor, MappingFields, TextField, TextPlace, TextRole, ignore_roles};
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::record::descriptor::RecordFlags;
use perf_data::abi::record::{Body, Record, RecordContext, RecordHeader, RecordType};
use perf_data::abi::text::until_nul;
use perf_data::stream::events::Events;
use perf_data::stream::raw::Raw;

/// First record type of simpleperf, whose sizes follow other rules.
const SIMPLEPERF: RecordType = RecordType(32768);

/// Checks a record, and returns it decoded.
pub(super) fn check(raw: &Raw<'_>, events: &Events, mut report: impl FnMut(Rule, String)) -> Option<Record> {
    let kind = raw.header().kind;
    check_size(raw, &mut report);
    let event = if kind < RecordType::USER_START { events.find(raw) } else { None };
    if event.is_none() && kind < RecordType::USER_START && (events.list().len() > 1 || kind == RecordType::SAMPLE) {
        report(Rule::UnknownEvent, "its event ID belongs to no event".into());
    }
    // Records of perf itself need no event, except for the trailer that perf inject adds to some.
    let event = event.map(|(_, event)| event).or(events.list().first());
    let context = match event {
        Some(event) => event.context(raw.endian()),
        None => RecordContext { endian: raw.endian(), layout: Default::default(), sample_id_all: false },
    };
    let mut record = Record::read(raw.bytes(), &context)?;
    if matches!(record.body, Body::Opaque(_)) {
        let unknown = (kind == RecordType::SAMPLE).then(|| context.layout.unknown_bits_of(raw.body(), raw.endian()));
        if kind.name().is_none() {
            report(Rule::Unknown, format!("unknown record type, {} bytes", raw.header().len()));
        } else if let Some(unknown) = unknown.flatten() {
            report(
                Rule::Unknown,
                format!("{unknown} is unknown: its fields from {} on are bytes", unknown.from.name()),
            );
        } else {
            report(Rule::Undecodable, format!("its {} bytes do not have the layout of its type", raw.header().len()));
        }
    }
    if record.tail.iter().any(|&byte| byte != 0) {
        report(Rule::Tail, format!("{} bytes after its fields are not all zero", record.tail.len()));
    }
    if !record.to_bytes(raw.endian()).is_ok_and(|bytes| bytes == raw.bytes()) {
        report(Rule::NotReproduced, "re-encoding it gives different bytes".into());
    }
    record.body.visit_fields(&mut CheckTexts(&mut report));
    Some(record)
}

fn check_size(raw: &Raw<'_>, report: &mut impl FnMut(Rule, String)) {
    let (kind, len) = (raw.header().kind, raw.header().len());
    if !len.is_multiple_of(8) && kind == RecordType::HEADER_BUILD_ID {
        // 36 bytes and a name padded to 64: perf inject -b before perf 6.12 writes all of them so.
        report(
            Rule::BuildIdSize,
            format!(
                "its size {len} is not a multiple of 8; perf 7.1 and newer stop here; 'perfconv rewrite --perf-version 7.1' pads it"
            ),
        );
    } else if !len.is_multiple_of(8) && !kind.has(RecordFlags::UNALIGNED) && kind < SIMPLEPERF {
        report(Rule::Unaligned, format!("its size {len} is not a multiple of 8"));
    }
    let minimum = kind.descriptor().map_or(RecordHeader::SIZE, |descriptor| descriptor.min_size);
    if len < minimum {
        report(Rule::TooSmall, format!("its size {len} is below the minimum {minimum}"));
    }
}

/// Checks that texts of a record end with NUL. The kernel does not clear their padding.
struct CheckTexts<'a, F>(&'a mut F);

impl<F: FnMut(Rule, String)> perf_data::abi::fields::InWorkspace for CheckTexts<'_, F> {}

impl<F: FnMut(Rule, String)> FieldVisitor for CheckTexts<'_, F> {
    fn text(&mut self, _: TextRole<'_>, field: TextField<'_>) {
        if let TextPlace::Padded(text, _) = field.place {
            check_text(field.name, text.as_bytes(), self.0);
        }
    }

    fn mapping(&mut self, mapping: MappingFields<'_>) {
        self.text(TextRole::Path, mapping.filename);
    }

    fn file_build_id(&mut self, build_id: &mut BuildId) {
        self.text(TextRole::Path, TextField::new("filename", &mut build_id.filename));
    }

    ignore_roles! {
        task, own_process, guest, time, elapsed, clock_origin, own_event_id, event_id, attr, command_line, address, code, callchain, inode, namespace, build_id, cgroup_id, bpf_tag, feature, tracing_data, opaque, unknown
    }
}

fn check_text(name: &str, text: &[u8], report: &mut impl FnMut(Rule, String)) {
    if until_nul(text).len() == text.len() {
        report(Rule::MissingNul, format!("its {name} lacks the terminating NUL"));
    }
}

/// The feature in a record, and its bytes; none in the record that ends the header of a pipe.
pub(super) fn feature<'a>(record: &Record, raw: &Raw<'a>) -> Option<(FeatureId, &'a [u8])> {
    match &record.body {
        Body::HeaderFeature(feature) if !feature.data.is_empty() => Some((feature.id()?, raw.body().get(8..)?)),
        Body::HeaderTracingData(tracing) if tracing.inside.is_empty() => Some((FeatureId::TRACING_DATA, raw.payload())),
        _ => None,
    }
}
