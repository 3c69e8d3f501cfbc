//! Field values in the payload of a tracepoint.

use super::event_header::EventHeader;
use super::field::{Field, FieldLocation, TracepointKind};
use crate::abi::Endian;
use crate::abi::bytes::{ByteReader, Integer};
use crate::abi::text::until_nul;
use std::fmt;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A signed number.
    Signed(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// An address.
    Pointer(u64),
    /// A string up to its NUL, not necessarily UTF-8.
    Text(&'a [u8]),
    /// An array of integers.
    Numbers(Numbers<'a>),
    /// Fields that describe themselves.
    EventHeader(EventHeader<'a>),
    /// Other bytes.
    Bytes(&'a [u8]),
}

/// An array of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers<'a> {
    /// The bytes as recorded.
    pub bytes: &'a [u8],
    /// Size of an element: 2, 4 or 8 bytes.
    pub size: usize,
    /// Whether the elements are signed.
    pub is_signed: bool,
    /// Byte order.
    pub endian: Endian,
}

impl<'a> Numbers<'a> {
    /// The elements, each a [`FieldValue::Signed`] or [`FieldValue::Unsigned`].
    pub fn iter(&self) -> impl Iterator<Item = FieldValue<'a>> + use<'a> {
        let Self { bytes, size, is_signed, endian } = *self;
        bytes.chunks_exact(size).filter_map(move |bytes| number(bytes, is_signed, endian))
    }
}

impl<'a> FieldValue<'a> {
    /// Number of bytes of the value.
    pub fn size(&self) -> usize {
        match self {
            Self::Signed(_) | Self::Unsigned(_) | Self::Pointer(_) => size_of::<u64>(),
            Self::EventHeader(fields) => fields.size(),
            Self::Text(bytes) | Self::Bytes(bytes) | Self::Numbers(Numbers { bytes, .. }) => bytes.len(),
        }
    }

    /// Decodes a field from a payload, the RAW bytes of a sample. `None` if it lies beyond the end.
    pub fn read(field: &Field, payload: &'a [u8], endian: Endian) -> Option<Self> {
        let bytes = field_bytes(field.location, payload, endian)?;
        Some(match field.kind {
            TracepointKind::Number(_) => number(bytes, field.is_signed, endian)?,
            TracepointKind::Pointer(_) => Self::Pointer(unsigned(bytes, endian)?),
            TracepointKind::Text => Self::Text(until_nul(bytes)),
            TracepointKind::Numbers(size) => Self::Numbers(Numbers { bytes, size, is_signed: field.is_signed, endian }),
            TracepointKind::EventHeader => return None,
            TracepointKind::Bytes => Self::Bytes(bytes),
        })
    }
}

/// Formats a value as perf does.
impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(number) => number.fmt(f),
            Self::Unsigned(number) => number.fmt(f),
            Self::Pointer(address) => write!(f, "{address:#x}"),
            Self::Text(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::EventHeader(fields) => fields.fmt(f),
            Self::Numbers(Numbers { bytes, .. }) | Self::Bytes(bytes) => {
                f.write_str("ARRAY[")?;
                for (at, byte) in bytes.iter().enumerate() {
                    write!(f, "{}{byte:02x}", if at == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
        }
    }
}

/// The bytes of a field at a location in the payload.
pub(super) fn field_bytes(location: FieldLocation, payload: &[u8], endian: Endian) -> Option<&[u8]> {
    let (offset, base) = match location {
        FieldLocation::Here { offset, size } => return payload.get(offset..)?.get(..size),
        FieldLocation::DataLoc { offset } => (offset, 0),
        FieldLocation::RelLoc { offset } => (offset, offset + size_of::<u32>()),
    };
    let location = ByteReader::new(payload.get(offset..)?, endian).u32()?;
    let (begin, len) = (base + (location & 0xffff) as usize, (location >> 16) as usize);
    payload.get(begin..)?.get(..len)
}

fn number(bytes: &[u8], is_signed: bool, endian: Endian) -> Option<FieldValue<'static>> {
    let value = unsigned(bytes, endian)?;
    if !is_signed {
        return Some(FieldValue::Unsigned(value));
    }
    let unused = 64 - 8 * bytes.len() as u32;
    Some(FieldValue::Signed((value << unused) as i64 >> unused))
}

/// An unsigned integer of 1 to 8 bytes.
pub(super) fn unsigned(bytes: &[u8], endian: Endian) -> Option<u64> {
    let mut word = [0; 8];
    match endian {
        Endian::Little => word.get_mut(..bytes.len())?.copy_from_slice(bytes),
        Endian::Big => word[8_usize.checked_sub(bytes.len())?..].copy_from_slice(bytes),
    }
    Some(u64::from_bytes(word, endian))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(
        location: FieldLocation,
        kind: TracepointKind,
        is_signed: bool,
        payload: &[u8],
        endian: Endian,
    ) -> Option<FieldValue<'_>> {
        let field = Field { name: String::new(), type_name: String::new(), location, kind, is_signed };
        FieldValue::read(&field, payload, endian)
    }

    #[test]
    fn values_of_every_kind_in_both_byte_orders() {
        let here = |offset, size| FieldLocation::Here { offset, size };
        let payload = b"\x12\x34\xff\xfecat\0xx";
        let (little, big) = (Endian::Little, Endian::Big);
        assert_eq!(
            read(here(0, 2), TracepointKind::Number(2), false, payload, little),
            Some(FieldValue::Unsigned(0x3412))
        );
        assert_eq!(
            read(here(0, 2), TracepointKind::Number(2), false, payload, big),
            Some(FieldValue::Unsigned(0x1234))
        );
        assert_eq!(read(here(2, 2), TracepointKind::Number(2), true, payload, big), Some(FieldValue::Signed(-2)));
        assert_eq!(read(here(2, 1), TracepointKind::Number(1), true, payload, little), Some(FieldValue::Signed(-1)));
        assert_eq!(
            read(here(0, 4), TracepointKind::Pointer(4), false, payload, big),
            Some(FieldValue::Pointer(0x1234_fffe))
        );
        assert_eq!(read(here(4, 6), TracepointKind::Text, true, payload, little), Some(FieldValue::Text(b"cat")));
        assert_eq!(read(here(4, 3), TracepointKind::Text, true, payload, little), Some(FieldValue::Text(b"cat")));
        assert_eq!(read(here(8, 2), TracepointKind::Bytes, true, payload, little), Some(FieldValue::Bytes(b"xx")));
        let Some(FieldValue::Numbers(numbers)) = read(here(0, 4), TracepointKind::Numbers(2), true, payload, big)
        else {
            panic!("numbers")
        };
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [FieldValue::Signed(0x1234), FieldValue::Signed(-2)]);
    }

    #[test]
    fn values_are_formatted_as_by_perf() {
        assert_eq!(FieldValue::Signed(-3).to_string(), "-3");
        assert_eq!(FieldValue::Pointer(0xffff).to_string(), "0xffff");
        assert_eq!(FieldValue::Text(b"cat").to_string(), "cat");
        assert_eq!(FieldValue::Bytes(&[0, 0xab]).to_string(), "ARRAY[00, ab]");
    }

    #[test]
    fn follows_data_loc_and_rel_loc() {
        let payload = b"....\x08\x00\x03\x00cat.";
        let data_loc = FieldLocation::DataLoc { offset: 4 };
        assert_eq!(
            read(data_loc, TracepointKind::Text, false, payload, Endian::Little),
            Some(FieldValue::Text(b"cat"))
        );
        let payload = b"....\x00\x03\x00\x01.cat";
        let rel_loc = FieldLocation::RelLoc { offset: 4 };
        assert_eq!(read(rel_loc, TracepointKind::Text, false, payload, Endian::Big), Some(FieldValue::Text(b"cat")));
    }

    #[test]
    fn fields_beyond_the_end_are_none() {
        let data_loc = FieldLocation::DataLoc { offset: 0 };
        for (location, kind) in [
            (FieldLocation::Here { offset: 2, size: 4 }, TracepointKind::Number(4)),
            (FieldLocation::Here { offset: usize::MAX, size: 4 }, TracepointKind::Number(4)),
            (data_loc, TracepointKind::Text),
        ] {
            assert_eq!(read(location, kind, false, b"\xff\xff\xff\xff", Endian::Little), None);
        }
    }
}
