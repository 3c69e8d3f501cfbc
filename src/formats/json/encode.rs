//! Encodes JSON objects to the original bytes of records and features.

use super::field_error::{FieldError, read_seed};
use super::layout_check::DescribedLayout;
use super::object::{ContentSeed, ParsedObject};
use super::render::usual_room;
use binrw::{BinResult, BinWrite};
use perf_data::abi::feature::tracing_data::TracingData;
use perf_data::abi::feature::{Feature, FeatureId, FeatureSection};
use perf_data::abi::record::header_feature::HeaderFeature;
use perf_data::abi::record::{Body, CpuMode, Misc, RecordHeader, RecordType};
use perf_data::abi::sample_type::SampleType;
use perf_data::abi::serde::readable::MAX_ZEROS;
use perf_data::abi::{self, Endian};
use serde_bytes::ByteBuf;
use serde_json::value::RawValue;
use std::io::Cursor;
use std::result::Result as StdResult;

/// Appends the bytes of a record and its payload to `out`; returns the described layout, unless the body is raw.
///
/// # Errors
/// If fields are missing, contradict each other or do not fit a record.
pub(super) fn record(
    kind: RecordType,
    object: ParsedObject<'_>,
    endian: Endian,
    out: &mut Vec<u8>,
) -> StdResult<Option<DescribedLayout>, FieldError> {
    let start = out.len();
    if object.payload.is_some() && !matches!(kind, RecordType::AUXTRACE | RecordType::HEADER_TRACING_DATA) {
        return Err(FieldError::new(format!("a {kind} record has no payload")).within("payload"));
    }
    if object.tracing_data.is_some() && kind != RecordType::HEADER_TRACING_DATA {
        return Err(FieldError::new(format!("a {kind} record has no tracing data")).within("tracing_data"));
    }
    let payload = match (object.payload, object.tracing_data) {
        (Some(_), Some(_)) => return Err(FieldError::new("expected payload or tracing_data, not both")),
        (None, Some(formats)) => tracing_data(&formats, endian).map_err(encoding_error)?,
        (payload, None) => payload.map(ByteBuf::into_vec).unwrap_or_default(),
    };
    let tail = object.tail.as_deref().map(Vec::as_slice);
    let mut room = Room { len: object.room, tail, usual: usual_room(kind) };
    let mut body = match (object.body, object.raw, object.content) {
        (Some(body), None, None) => body.into_body(kind)?,
        (None, Some(raw), None) => {
            room.usual = |covered| covered;
            Body::Opaque(raw.into_vec())
        }
        (None, None, Some(content)) => {
            let id = object.feature.ok_or_else(|| FieldError::new("missing field `feature`"))?;
            room.usual = |covered| covered;
            let data = section(id, content, &room, endian)?;
            // Room and tail belong to the feature section, not to the record.
            room = Room { len: None, tail: None, ..room };
            Body::HeaderFeature(HeaderFeature { feat_id: id.0.into(), data })
        }
        _ => return Err(FieldError::new("expected exactly one of: body, raw, content")),
    };
    let is_all = room.len.is_none() && room.tail.is_none();
    let fields = match &body {
        Body::Opaque(_) => None,
        Body::Sample(sample) => Some(sample.fields()),
        _ => Some(object.sample_id.map_or_else(SampleType::empty, |id| id.fields())),
    };
    match &mut body {
        Body::Auxtrace(auxtrace) => auxtrace.size = payload.len() as u64,
        Body::HeaderTracingData(record) if !payload.is_empty() => record.size = payload.len() as u32,
        _ => {}
    }
    out.resize(start + RecordHeader::SIZE, 0);
    let covered = appended(out, |writer| body.write(writer, endian)).map_err(|error| error.within("body"))?;
    room.fill(covered, out)?;
    appended(out, |writer| object.sample_id.write_options(writer, endian, ()))?;
    let len = out.len() - start;
    let header = RecordHeader { kind, misc: misc(object.cpumode, object.misc), size: 0 }.with_len(len);
    let header = header
        .ok_or_else(|| FieldError::new(format!("a record of {len} bytes does not fit the size field of its header")))?;
    let mut front = Cursor::new(&mut out[start..]);
    header.write_options(&mut front, endian, ()).map_err(encoding_error)?;
    out.extend_from_slice(&payload);
    Ok(fields.map(|fields| DescribedLayout { fields, is_all }))
}

/// Encodes tracepoint formats as the payload of HEADER_TRACING_DATA, zero-padded to a multiple of 8 bytes.
///
/// # Errors
/// If a value does not fit its field.
pub(super) fn tracing_data(formats: &TracingData, endian: Endian) -> BinResult<Vec<u8>> {
    let mut bytes = abi::to_bytes(formats, endian)?;
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

/// Encodes a feature section from its JSON.
///
/// # Errors
/// If a field is missing, or a value does not fit its field.
pub(super) fn section(
    id: FeatureId,
    content: &RawValue,
    room: &Room<'_>,
    endian: Endian,
) -> StdResult<Vec<u8>, FieldError> {
    let feature = read_seed(content.get(), ContentSeed(id)).map_err(|error| error.within("content"))?;
    feature_section(id, feature, room, endian)
}

/// Encodes a feature section.
///
/// # Errors
/// If a value does not fit its field.
pub(super) fn feature_section(
    id: FeatureId,
    feature: Feature,
    room: &Room<'_>,
    endian: Endian,
) -> StdResult<Vec<u8>, FieldError> {
    let section = FeatureSection { id, feature, tail: Vec::new() };
    let mut bytes = section.to_bytes(endian).map_err(encoding_error)?;
    room.fill(bytes.len(), &mut bytes)?;
    Ok(bytes)
}

/// The bytes after those that fields cover.
pub(super) struct Room<'a> {
    /// Total size of fields and tail, where it is not the usual one.
    pub len: Option<usize>,
    /// The bytes after the fields, where they are not zeros.
    pub tail: Option<&'a [u8]>,
    /// Usual total size for a number of covered bytes.
    pub usual: fn(usize) -> usize,
}

impl Room<'_> {
    /// Appends the bytes after `covered` bytes. If the fields have grown beyond the room, the room grows in words of
    /// 8 bytes; a tail is written only if it still fills the room exactly.
    fn fill(&self, covered: usize, out: &mut Vec<u8>) -> StdResult<(), FieldError> {
        let mut room = self.len.unwrap_or_else(|| (self.usual)(covered).max(covered));
        if room < covered {
            room += (covered - room).next_multiple_of(8);
        }
        match self.tail {
            Some(tail) if covered.checked_add(tail.len()) == Some(room) => out.extend_from_slice(tail),
            _ if room - covered > MAX_ZEROS => {
                return Err(FieldError::new(format!("more than {MAX_ZEROS} bytes of padding")).within("room"));
            }
            _ => out.resize(out.len() + room - covered, 0),
        }
        Ok(())
    }
}

fn misc(cpumode: Option<CpuMode>, misc: Option<Misc>) -> Misc {
    let (cpumode, misc) = (cpumode.unwrap_or_default(), misc.unwrap_or_default());
    Misc::from_bits_retain(misc.bits() | cpumode.0 & 7)
}

/// Calls `write` and returns the number of bytes appended.
fn appended(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Cursor<&mut Vec<u8>>) -> BinResult<()>,
) -> StdResult<usize, FieldError> {
    let start = out.len();
    let mut writer = Cursor::new(out);
    writer.set_position(start as u64);
    write(&mut writer).map_err(encoding_error)?;
    Ok(writer.into_inner().len() - start)
}

fn encoding_error(error: binrw::Error) -> FieldError {
    FieldError::new(error.to_string())
}
