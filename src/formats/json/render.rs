//! Builds the JSON object of a record.

use super::encode;
use super::ibs::IbsRegisters;
use super::objects::RecordObject;
use super::render_queue::Decoding;
use super::sample;
use super::sample_symbols::StackFunctions;
use super::tracepoint::TracepointFields;
use super::value_writer::append;
use crate::profile::intern::stacks::StackId;
use perf_data::abi;
use perf_data::abi::feature::tracing_data::TracingData;
use perf_data::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};
use perf_data::abi::record::descriptor::RecordFlags;
use perf_data::abi::record::named_misc::NamedMisc;
use perf_data::abi::record::{Body, Misc, Record, RecordContext, RecordType};
use perf_data::abi::sample::id::SampleId;
use perf_data::abi::serde::readable::MAX_ZEROS;
use perf_data::abi::serde::tokens::Unsupported;
use perf_data::ibs::{IbsSample, IbsUnit};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use serde::ser::Error as _;
use serde_bytes::Bytes as Base64;

/// Properties of a record other than its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordInfo {
    /// Event and byte order, needed to decode it.
    pub context: RecordContext,
    /// Number of an AUXTRACE record.
    pub nr: Option<u64>,
    /// Number of the frame that it is, or is in.
    pub frame: Option<u64>,
    /// Tracepoint ID, if it is a sample whose fields are to be decoded.
    pub tracepoint: Option<u64>,
    /// Its stack, if it is a sample whose functions are written.
    pub stack: Option<StackId>,
    /// The unit of AMD IBS, if it is a sample whose registers are to be decoded.
    pub ibs: Option<IbsUnit>,
}

/// Appends the object of a record to `out`.
///
/// # Errors
/// If its definition has a kind of value that this format does not support.
pub(super) fn record(
    out: &mut Vec<u8>,
    raw: &Raw<'_>,
    info: &RecordInfo,
    decoding: &Decoding,
) -> Result<(), Unsupported> {
    let is_written = raw.header().kind == RecordType::SAMPLE && sample::append(out, raw, info);
    if is_written { Ok(()) } else { any_record(out, raw, info, decoding) }
}

/// Appends the object of a record of any type by its definition.
pub(super) fn any_record(
    out: &mut Vec<u8>,
    raw: &Raw<'_>,
    info: &RecordInfo,
    decoding: &Decoding,
) -> Result<(), Unsupported> {
    let record = read(raw, info)?;
    let mut object = object(raw, info, &record);
    let tracing_data = tracing_data(raw);
    if tracing_data.is_some() {
        (object.payload, object.tracing_data) = (None, tracing_data.as_ref());
    }
    if let (Some(id), Body::Sample(sample)) = (info.tracepoint, &record.body) {
        let payload = sample.raw.as_ref().map(|raw| &*raw.data);
        object.tracepoint = decoding
            .tracepoints
            .get(id)
            .zip(payload)
            .map(|(tracepoint, payload)| TracepointFields { tracepoint, payload });
    }
    if let (Some(unit), Body::Sample(sample)) = (info.ibs, &record.body) {
        let registers = sample.raw.as_ref().and_then(|raw| IbsSample::decode(unit, &raw.data));
        object.ibs = registers.map(IbsRegisters);
    }
    object.symbols = info.stack.map(|stack| StackFunctions { samples: &decoding.symbols, stack });
    write_object(out, raw, &record, object)
}

/// Decodes the payload of a HEADER_TRACING_DATA, if encoding it again yields the same bytes.
fn tracing_data(raw: &Raw<'_>) -> Option<TracingData> {
    let payload = Some(raw.payload()).filter(|_| raw.header().kind == RecordType::HEADER_TRACING_DATA)?;
    let (formats, _) = abi::parse::<TracingData>(payload, raw.endian(), ()).ok()?;
    let bytes = encode::tracing_data(&formats, raw.endian()).ok()?;
    (bytes == payload).then_some(formats)
}

/// Appends the object of a HEADER_FEATURE, with the fields of its feature where they can be decoded.
///
/// # Errors
/// If its definition has a kind of value that this format does not support.
pub(super) fn feature_record(
    out: &mut Vec<u8>,
    raw: &Raw<'_>,
    info: &RecordInfo,
    context: &FeatureContext,
) -> Result<(), Unsupported> {
    let record = read(raw, info)?;
    write_with_feature(out, raw, &record, object(raw, info, &record), context)
}

/// Appends the object of a record without its payload, and without its place in the file.
///
/// # Errors
/// If its definition has a kind of value that this format does not support.
pub fn without_payload(out: &mut Vec<u8>, meta: &Meta, raw: &Raw<'_>) -> Result<(), Unsupported> {
    let info =
        RecordInfo { context: meta.context(raw), nr: None, frame: None, tracepoint: None, stack: None, ibs: None };
    let record = read(raw, &info)?;
    let object = RecordObject { payload: None, ..object(raw, &info, &record) };
    write_with_feature(out, raw, &record, object, &meta.feature_context())
}

/// Appends the content of a feature section; its bytes in base64 if they cannot be decoded.
///
/// # Errors
/// If its definition has a kind of value that this format does not support.
pub fn feature_content(out: &mut Vec<u8>, meta: &Meta, id: FeatureId, bytes: &[u8]) -> Result<(), Unsupported> {
    match FeatureSection::read(id, bytes, meta.endian, &meta.feature_context()).feature {
        Feature::Opaque(bytes) => append(out, &Base64::new(&bytes)),
        content => append(out, &content),
    }
}

fn write_with_feature<'a>(
    out: &mut Vec<u8>,
    raw: &Raw<'a>,
    record: &'a Record,
    object: RecordObject<'a>,
    context: &FeatureContext,
) -> Result<(), Unsupported> {
    let Some(section) = feature_section(record, raw, context) else {
        return write_object(out, raw, record, object);
    };
    let covered = raw.body().len() - size_of::<u64>() - section.tail.len();
    let (room, tail) = left_over(covered, &section.tail, |covered| covered);
    let object = RecordObject { feature: Some(section.id), content: Some(&section.feature), room, tail, ..object };
    append(out, &object)
}

fn read(raw: &Raw<'_>, info: &RecordInfo) -> Result<Record, Unsupported> {
    // Records of a stream are split by the sizes in their headers, so this cannot fail.
    Record::read(raw.bytes(), &info.context).ok_or_else(|| Unsupported::custom("not a record"))
}

/// The feature of a HEADER_FEATURE record, as a section of a file.
fn feature_section(record: &Record, raw: &Raw<'_>, context: &FeatureContext) -> Option<FeatureSection> {
    let Body::HeaderFeature(feature) = &record.body else { return None };
    let is_complete = !feature.data.is_empty() && record.tail.is_empty();
    let id = feature.id().filter(|_| is_complete)?;
    let section = FeatureSection::read(id, &feature.data, raw.endian(), context);
    Some(section).filter(|section| !matches!(section.feature, Feature::Opaque(_)))
}

fn write_object<'a>(
    out: &mut Vec<u8>,
    raw: &Raw<'a>,
    record: &'a Record,
    mut object: RecordObject<'a>,
) -> Result<(), Unsupported> {
    match &record.body {
        Body::Opaque(bytes) => object.raw = Some(Base64::new(bytes)),
        body => {
            let covered = raw.body().len() - record.id.map_or(0, |id| SampleId::size(id.fields())) - record.tail.len();
            object.body = Some(body);
            (object.room, object.tail) = left_over(covered, &record.tail, usual_room(raw.header().kind));
        }
    }
    append(out, &object)
}

/// Builds the object of a record without its body.
fn object<'a>(raw: &Raw<'a>, info: &RecordInfo, record: &Record) -> RecordObject<'a> {
    let kind = raw.header().kind;
    let has_long_size = raw.header().len() > u16::MAX.into() || kind.0 >= 32768;
    let misc = if has_long_size { Misc::empty() } else { raw.header().misc };
    let cpumode = misc.cpu_mode();
    let misc = Misc::from_bits_retain(misc.bits() & !7);
    RecordObject {
        record: kind,
        nr: info.nr,
        frame: info.frame,
        cpumode: (cpumode.0 != 0).then_some(cpumode),
        misc: (misc.bits() != 0).then_some(NamedMisc { kind, misc }),
        body: None,
        raw: None,
        feature: None,
        content: None,
        room: None,
        tail: None,
        sample_id: record.id,
        payload: (raw.payload_len() > 0).then(|| Base64::new(raw.payload())),
        tracing_data: None,
        tracepoint: None,
        symbols: None,
        ibs: None,
    }
}

/// Room and tail to write for the bytes after those that a definition covers: the total size where it is not the
/// usual one, and the tail where it is not zeros.
pub(super) fn left_over(covered: usize, tail: &[u8], usual: fn(usize) -> usize) -> (Option<usize>, Option<&Base64>) {
    let room = covered + tail.len();
    let is_zero = tail.len() <= MAX_ZEROS && tail.iter().all(|&byte| byte == 0);
    ((room != usual(covered)).then_some(room), (!is_zero).then(|| Base64::new(tail)))
}

/// Size of a record's body, padding included, by the size of its fields.
pub(super) fn usual_room(kind: RecordType) -> fn(usize) -> usize {
    // Since perf 6.12, HEADER_TRACING_DATA is padded.
    match kind.has(RecordFlags::UNALIGNED) && kind != RecordType::HEADER_TRACING_DATA {
        true => |covered| covered,
        false => |covered| covered.next_multiple_of(8),
    }
}
