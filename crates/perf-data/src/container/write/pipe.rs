//! The pipe container. Records take the place of the header and sections of a file.

use super::encoded;
use crate::abi;
use crate::abi::Endian;
use crate::abi::attr::Attr;
use crate::abi::feature::FeatureId;
use crate::abi::feature::descriptor::FeatureFlags;
use crate::abi::header::{EventType, Magic};
use crate::abi::record::build_id::BuildId;
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::abi::text::PaddedStr;
use crate::container::read::file::FileAttr;
use crate::container::read::pipe::HEADER_SIZE;
use crate::error::Result;

/// Numbers that mark the end of the features: the number of features known to perf 5.14 to 6.19, and to perf 7.1. Older
/// versions reject a higher number; newer ones take a lower number for the feature with that ID.
const END_MARKS: [u64; 2] = [32, 35];

/// The header.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn header(endian: Endian) -> Result<Vec<u8>> {
    encoded(abi::to_bytes(&(Magic::V2, HEADER_SIZE as u64), endian))
}

/// Encodes a record; `None` if it does not fit the 16-bit size.
fn record(kind: RecordType, misc: Misc, parts: &[&[u8]], endian: Endian) -> Result<Option<Vec<u8>>> {
    let body = parts.concat();
    let Ok(size) = u16::try_from(RecordHeader::SIZE + body.len()) else { return Ok(None) };
    let mut bytes = encoded(abi::to_bytes(&RecordHeader { kind, misc, size }, endian))?;
    bytes.extend(body);
    Ok(Some(bytes))
}

/// HEADER_ATTR of an event; `None` if it has too many IDs for one record.
///
/// The attr is truncated to its own declared size, because readers expect the IDs there.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn event(event: &FileAttr, endian: Endian) -> Result<Option<Vec<u8>>> {
    let mut attr = encoded(event.attr.to_bytes(endian))?;
    attr.truncate(Attr::declared_size(&attr, endian).unwrap_or(attr.len()));
    let ids = encoded(abi::to_bytes(&event.ids, endian))?;
    record(RecordType::HEADER_ATTR, Misc::empty(), &[&attr, &ids], endian)
}

/// HEADER_EVENT_TYPE with the name of a tracepoint.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn event_type(event_type: &EventType, endian: Endian) -> Result<Vec<u8>> {
    let body = encoded(abi::to_bytes(event_type, endian))?;
    Ok(record(RecordType::HEADER_EVENT_TYPE, Misc::empty(), &[&body], endian)?.unwrap_or_default())
}

/// Whether perf writes a feature as a HEADER_FEATURE record in a pipe.
pub fn has_feature(id: FeatureId) -> bool {
    !id.has(FeatureFlags::FILE_ONLY)
}

/// HEADER_FEATURE; `None` if it is too large for a record.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn feature(id: FeatureId, bytes: &[u8], endian: Endian) -> Result<Option<Vec<u8>>> {
    let id = encoded(abi::to_bytes(&u64::from(id.0), endian))?;
    record(RecordType::HEADER_FEATURE, Misc::empty(), &[&id, bytes], endian)
}

/// The HEADER_FEATURE that marks the end of the features, after those up to `last`.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn feature_end(last: Option<FeatureId>, endian: Endian) -> Result<Vec<u8>> {
    let last = last.map_or(0, |last| u64::from(last.0));
    mark(END_MARKS.into_iter().find(|&mark| mark > last).unwrap_or(last + 1), endian)
}

/// The HEADER_FEATURE that marks the end of the features, for a perf that knows this many.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn mark(features: u64, endian: Endian) -> Result<Vec<u8>> {
    let mark = encoded(abi::to_bytes(&features, endian))?;
    Ok(record(RecordType::HEADER_FEATURE, Misc::empty(), &[&mark], endian)?.unwrap_or_default())
}

/// HEADER_TRACING_DATA and the tracepoint formats that follow it.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn tracing_data(bytes: &[u8], endian: Endian) -> Result<Vec<u8>> {
    let padded = bytes.len().next_multiple_of(8);
    let size = encoded(abi::to_bytes(&[padded as u32, 0], endian))?;
    let mut out = record(RecordType::HEADER_TRACING_DATA, Misc::empty(), &[&size], endian)?.unwrap_or_default();
    out.extend(bytes);
    out.resize(out.len() + padded - bytes.len(), 0);
    Ok(out)
}

/// HEADER_BUILD_ID; `None` if the name is too long for a record.
///
/// The name is padded with zeros whatever the recording has there: other bytes could be taken for a `sample_id`. perf 7.1 and
/// later reject records whose size is not a multiple of 8.
///
/// # Errors
/// None in practice: the bytes are written to memory.
pub fn build_id(misc: Misc, build_id: &BuildId, endian: Endian) -> Result<Option<Vec<u8>>> {
    let build_id = BuildId { filename: PaddedStr::new(build_id.filename.text(), 1), ..build_id.clone() };
    let body = encoded(abi::to_bytes(&build_id, endian))?;
    let padding = vec![0; body.len().next_multiple_of(8) - body.len()];
    record(RecordType::HEADER_BUILD_ID, misc, &[&body, &padding], endian)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_match_perf() {
        assert_eq!(header(Endian::Little).unwrap(), b"PERFILE2\x10\0\0\0\0\0\0\0");
        assert_eq!(header(Endian::Big).unwrap(), b"2ELIFREP\0\0\0\0\0\0\0\x10");
        let mark = |last| feature_end(last, Endian::Little).unwrap();
        assert_eq!(mark(None), [80, 0, 0, 0, 0, 0, 16, 0, 32, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!([mark(Some(FeatureId(32)))[8], mark(Some(FeatureId(40)))[8]], [35, 41]);
        let feature_of = |len| feature(FeatureId::ARCH, &vec![1; len], Endian::Little).unwrap();
        assert_eq!(feature_of(3).unwrap().len(), 19);
        assert!(feature_of(65520).is_none());
        assert!(has_feature(FeatureId::ARCH) && !has_feature(FeatureId::BUILD_ID));
        let tracing = tracing_data(&[7; 13], Endian::Little).unwrap();
        assert_eq!((tracing[6], tracing[8], tracing.len()), (16, 16, 32));
    }
}
