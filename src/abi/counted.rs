//! Arrays whose count or length the recording tells. They are read within the bytes that are left, so that a hostile
//! count can neither ask for memory nor leave the slice.

use binrw::{BinRead, BinResult, Endian, Error};
use std::io::{Read, Seek, SeekFrom};

/// `count` numbers of 8 bytes.
pub(crate) fn u64s<R: Read + Seek>(reader: &mut R, endian: Endian, (count,): (u64,)) -> BinResult<Vec<u64>> {
    announced(reader, count.checked_mul(8))?;
    let mut numbers = Vec::with_capacity(count as usize);
    let mut bytes = [0; 8];
    for _ in 0..count {
        reader.read_exact(&mut bytes)?;
        numbers.push(match endian {
            Endian::Little => u64::from_le_bytes(bytes),
            Endian::Big => u64::from_be_bytes(bytes),
        });
    }
    Ok(numbers)
}

/// As many numbers of 8 bytes as there are.
pub(crate) fn u64s_to_end<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Vec<u64>> {
    let count = left(reader)? / 8;
    u64s(reader, endian, (count,))
}

/// `len` bytes.
pub(crate) fn bytes<R: Read + Seek>(reader: &mut R, _: Endian, (len,): (u64,)) -> BinResult<Vec<u8>> {
    announced(reader, Some(len))?;
    let mut bytes = vec![0; len as usize];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// All bytes that are left.
pub(crate) fn bytes_to_end<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Vec<u8>> {
    let len = left(reader)?;
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

/// `count` structures that need arguments.
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
    // Every structure takes a byte at least; how much memory is asked for is up to those that are really there.
    announced(reader, Some(count))?;
    let start = reader.stream_position()?;
    let items = (0..count).map(|_| T::read_options(reader, endian, args.clone())).collect::<BinResult<Vec<T>>>();
    if items.is_err() {
        reader.seek(SeekFrom::Start(start))?;
    }
    items
}

/// Bytes between here and the end.
pub(crate) fn left<R: Read + Seek>(reader: &mut R) -> BinResult<u64> {
    let here = reader.stream_position()?;
    let end = reader.seek(SeekFrom::End(0))?;
    reader.seek(SeekFrom::Start(here))?;
    Ok(end.saturating_sub(here))
}

/// Refuses what is announced to be longer than what is left; `None` is longer than any number tells.
fn announced<R: Read + Seek>(reader: &mut R, len: Option<u64>) -> BinResult<()> {
    let left = left(reader)?;
    if len.is_some_and(|len| len <= left) {
        return Ok(());
    }
    let pos = reader.stream_position()?;
    let len = len.map_or_else(|| "more than 2^64".to_owned(), |len| len.to_string());
    Err(Error::AssertFail { pos, message: format!("{len} bytes are announced, {left} are left") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn hostile_counts_are_refused_and_nothing_is_taken() {
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
