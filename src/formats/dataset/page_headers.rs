//! Headers of Parquet pages, whose sizes are checked before the `parquet` crate allocates memory for them: it trusts them, and they
//! need not agree with the footer of the file.
//!
//! A header is a struct in Thrift's compact protocol, as the Parquet format defines `PageHeader`.

use parquet::file::metadata::ColumnChunkMetaData;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that are read at a time. Nearly all headers are shorter.
const PIECE: u64 = 1 << 12;

/// How deep the structs of a header are nested at most: it has statistics in the header of a kind of page.
const DEPTH: usize = 8;

/// Sizes of the pages of a column chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PageSizes {
    /// Bytes that the pages decompress to.
    pub uncompressed: u64,
    /// Values in data pages.
    pub values: u64,
    /// Whether a dictionary has more values than its bytes can contain.
    pub has_impossible_dictionary: bool,
}

/// Adds up the sizes of the pages of a column chunk.
///
/// # Errors
/// If a header is invalid or cannot be read.
pub(super) fn sizes(mut file: &File, column: &ColumnChunkMetaData) -> io::Result<PageSizes> {
    let (start, len) = column.byte_range();
    let (mut at, end) = (start, start.saturating_add(len));
    let mut sizes = PageSizes::default();
    let mut bytes = Vec::new();
    while at < end {
        let mut piece = PIECE;
        let (header, header_len) = loop {
            bytes.clear();
            file.seek(SeekFrom::Start(at))?;
            file.take(piece.min(end - at)).read_to_end(&mut bytes)?;
            let mut rest = &bytes[..];
            match PageHeader::read(&mut rest) {
                Some(header) => break (header, (bytes.len() - rest.len()) as u64),
                None if bytes.len() as u64 == piece => piece = piece.saturating_mul(4),
                None => return Err(io::Error::other("a page header is damaged")),
            }
        };
        sizes.uncompressed = sizes.uncompressed.saturating_add(header.uncompressed);
        match header.dictionary_values {
            Some(values) => sizes.has_impossible_dictionary |= values > header.uncompressed,
            None => sizes.values = sizes.values.saturating_add(header.values),
        }
        at = at.saturating_add(header_len).saturating_add(header.compressed);
    }
    Ok(sizes)
}

/// What matters of a `PageHeader`.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageHeader {
    uncompressed: u64,
    compressed: u64,
    /// Number of values of a data page.
    values: u64,
    /// Number of values of a dictionary page.
    dictionary_values: Option<u64>,
}

impl PageHeader {
    /// Reads a header and takes its bytes; `None` if it is invalid or incomplete.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let mut header = Self::default();
        fields(bytes, |id, kind, bytes| {
            match (id, kind) {
                (2, Kind::Integer) => header.uncompressed = size(bytes)?,
                (3, Kind::Integer) => header.compressed = size(bytes)?,
                // The headers of data pages, of both versions.
                (5 | 8, Kind::Struct) => header.values = first_size(bytes)?,
                (7, Kind::Struct) => header.dictionary_values = Some(first_size(bytes)?),
                _ => skip(kind, bytes, DEPTH)?,
            }
            Some(())
        })?;
        Some(header)
    }
}

/// The size that is the first field of a struct, `num_values` of all kinds of pages.
fn first_size(bytes: &mut &[u8]) -> Option<u64> {
    let mut first = 0;
    fields(bytes, |id, kind, bytes| match (id, kind) {
        (1, Kind::Integer) => size(bytes).map(|size| first = size),
        _ => skip(kind, bytes, DEPTH),
    })?;
    Some(first)
}

/// Kinds of values, by how they are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// In the type.
    Bool,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Kind {
    fn new(code: u8) -> Option<Self> {
        Some(match code {
            1 | 2 => Self::Bool,
            3 => Self::Byte,
            4..=6 => Self::Integer,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            _ => return None,
        })
    }
}

/// Calls `read` with the number and kind of each field of a struct; it takes the bytes of the value.
fn fields(bytes: &mut &[u8], mut read: impl FnMut(i64, Kind, &mut &[u8]) -> Option<()>) -> Option<()> {
    let mut id = 0_i64;
    loop {
        let head = byte(bytes)?;
        if head == 0 {
            return Some(());
        }
        id = match head >> 4 {
            0 => signed(varint(bytes)?),
            delta => id.checked_add(delta.into())?,
        };
        read(id, Kind::new(head & 0xf)?, bytes)?;
    }
}

/// Skips a value.
fn skip(kind: Kind, bytes: &mut &[u8], depth: usize) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    match kind {
        Kind::Bool => {}
        Kind::Byte => drop(byte(bytes)?),
        Kind::Integer => drop(varint(bytes)?),
        Kind::Double => drop(bytes.split_off(..8)?),
        Kind::Binary => {
            let len = usize::try_from(varint(bytes)?).ok()?;
            bytes.split_off(..len)?;
        }
        Kind::Struct => fields(bytes, |_, kind, bytes| skip(kind, bytes, depth))?,
        Kind::List => {
            let head = byte(bytes)?;
            let count = if head >> 4 == 15 { varint(bytes)? } else { u64::from(head >> 4) };
            elements(count, Kind::new(head & 0xf)?, bytes, depth)?;
        }
        // Page headers have none.
        Kind::Map => return None,
    }
    Some(())
}

/// Skips the elements of a list, where Booleans have a byte each.
fn elements(count: u64, kind: Kind, bytes: &mut &[u8], depth: usize) -> Option<()> {
    let kind = if kind == Kind::Bool { Kind::Byte } else { kind };
    (0..count).try_for_each(|_| skip(kind, bytes, depth))
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    bytes.split_off_first().copied()
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let next = byte(bytes)?;
        value |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The number that zigzag encoding stores as an unsigned one.
fn signed(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn size(bytes: &mut &[u8]) -> Option<u64> {
    u64::try_from(signed(varint(bytes)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers, in zigzag encoding, of fields that each follow the one before.
    fn integers(values: &[u8]) -> Vec<u8> {
        values.iter().flat_map(|value| [0x15, value << 1]).collect()
    }

    #[test]
    fn sizes_are_read_of_all_kinds_of_pages() {
        let page = |kind: u8, inner: &[u8]| [&integers(&[0, 40, 30])[..], &[kind], inner, &[0, 0]].concat();
        // Statistics of a data page: a field 5 with a minimum.
        let statistics = [&integers(&[9, 0, 3, 3])[..], &[0x1c, 0x18, 2, b'a', b'b', 0]].concat();
        let read = |bytes: Vec<u8>| {
            let mut rest = &bytes[..];
            let header = PageHeader::read(&mut rest);
            assert_eq!(rest.len(), 0);
            header.unwrap()
        };
        let data = PageHeader { uncompressed: 40, compressed: 30, values: 9, dictionary_values: None };
        assert_eq!(read(page(0x2c, &statistics)), data);
        assert_eq!(read(page(0x5c, &integers(&[9]))), data);
        let dictionary = PageHeader { values: 0, dictionary_values: Some(7), ..data };
        assert_eq!(read(page(0x4c, &integers(&[7, 2]))), dictionary);
    }

    #[test]
    fn damaged_headers_are_rejected() {
        let nested = [vec![0x1c; 40], vec![0; 40]].concat();
        for bytes in [&[][..], &[0x15], &[0x15, 0xff], &[0x1f, 0], &[0x25, 1, 0], &[0x18, 200, 1, b'a', 0], &nested] {
            assert_eq!(PageHeader::read(&mut &bytes[..]), None, "{bytes:?}");
        }
        assert_eq!(signed(u64::MAX), i64::MIN);
    }
}
