//! Arrays whose count or length is recorded. They are limited to the remaining bytes, so a hostile count cannot cause large
//! allocations.

use crate::abi::bytes::Integer;
use binrw::{BinRead, BinResult, Endian, Error};
use std::io::{Read, Seek, SeekFrom};

/// `count` integers of 8 bytes.
pub(crate) fn u64s<R: Read + Seek>(reader: &mut R, endian: Endian, (count,): (u64,)) -> BinResult<Vec<u64>> {
    check_length(reader, count.checked_mul(8))?;
    let mut numbers = Vec::with_capacity(count as usize);
    let mut bytes = [0; 8];
    for _ in 0..count {
        reader.read_exact(&mut bytes)?;
        numbers.push(u64::from_bytes(bytes, endian));
    }
    Ok(numbers)
}

/// Integers of 8 bytes, to the end.
pub(crate) fn u64s_to_end<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Vec<u64>> {
    let count = remaining(reader)? / 8;
    u64s(reader, endian, (count,))
}

/// `len` bytes.
pub(crate) fn bytes<R: Read + Seek>(reader: &mut R, _: Endian, (len,): (u64,)) -> BinResult<Vec<u8>> {
    check_length(reader, Some(len))?;
    let mut bytes = vec![0; len as usize];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// All remaining bytes.
pub(crate) fn bytes_to_end<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Vec<u8>> {
    let len = remaining(reader)?;
    bytes(reader, endian, (len,))
}

/// `count` structures.
pub(crate) fn items<R, T>(reader: &mut R, endian: Endian, (count,): (u64,)) -> BinResult<Vec<T>>
where
    R: Read + Seek,
    T: for<'a> BinRead<Args<'a> = ()>,
{
    items_with(reader, endian, (count, ()))
}

/// `count` structures with arguments.
pub(crate) fn items_with<'a, R, T>(
    reader: &mut R,
    endian: Endian,
    (count, args): (u64, T::Args<'a>),
) -> BinResult<Vec<T>>
where
    R: Read + Seek,
    T: BinRead,
    T::Args<'a>: Clone,
{
    // A structure takes at least a byte. Memory is allocated as structures are decoded.
    check_length(reader, Some(count))?;
    let start = reader.stream_position()?;
    let items = (0..count).map(|_| T::read_options(reader, endian, args.clone())).collect::<BinResult<Vec<T>>>();
    if items.is_err() {
        reader.seek(SeekFrom::Start(start))?;
    }
    items
}

/// Number of bytes from here to the end.
pub(crate) fn remaining<R: Read + Seek>(reader: &mut R) -> BinResult<u64> {
    let here = reader.stream_position()?;
    let end = reader.seek(SeekFrom::End(0))?;
    reader.seek(SeekFrom::Start(here))?;
    Ok(end.saturating_sub(here))
}

/// Rejects a length beyond the remaining bytes; `None` is longer than any number.
fn check_length<R: Read + Seek>(reader: &mut R, len: Option<u64>) -> BinResult<()> {
    let left = remaining(reader)?;
    if len.is_some_and(|len| len <= left) {
        return Ok(());
    }
    let pos = reader.stream_position()?;
    let len = len.map_or_else(|| "more than 2^64".to_owned(), |len| len.to_string());
    Err(Error::AssertFail { pos, message: format!("needs {len} bytes, {left} left") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn hostile_counts_are_rejected_and_consume_nothing() {
        let mut cursor = Cursor::new([0; 24]);
        for count in [4, 1 << 61, u64::MAX] {
            assert!(u64s(&mut cursor, Endian::Little, (count,)).is_err());
            assert!(items::<_, u64>(&mut cursor, Endian::Little, (count,)).is_err());
            assert!(bytes(&mut cursor, Endian::Little, (count.max(25),)).is_err());
            assert_eq!(cursor.position(), 0);
        }
        assert_eq!(u64s(&mut cursor, Endian::Little, (2,)).unwrap(), [0, 0]);
        assert_eq!(u64s_to_end(&mut cursor, Endian::Little, ()).unwrap(), [0]);
    }
}
