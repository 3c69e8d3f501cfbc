//! COMPRESSED2 records that perf 6.16 to 7.1 framed wrongly.
//!
//! What a ring buffer compresses to can be more than a record holds. perf then writes several records in a row, and
//! overwrites the header of the first as if it were all of them: its `data_size` is that of everything behind it, the
//! headers of the others included, and its size is what is left of the sum in 16 bits.

use crate::abi;
use crate::abi::Endian;
use crate::abi::bytes::Reader;
use crate::abi::record::{Misc, RecordHeader, RecordType};

/// Header and `data_size` of each record.
const HEADER: usize = RecordHeader::SIZE + size_of::<u64>();

/// As many compressed bytes as perf puts into a record before it begins another.
const CHUNK: usize = u16::MAX as usize - HEADER;

/// More than this no ring buffer compresses to.
const MOST: u64 = 1 << 30;

/// How many bytes the record that begins here takes with those that it has swallowed. `None` where it has swallowed none, as
/// far as can be seen: where the next one should begin, there may be no bytes yet.
pub fn size(bytes: &[u8], endian: Endian) -> Option<u64> {
    let header = RecordHeader::peek(bytes, endian)?;
    let data_size = Reader::new(bytes.get(RecordHeader::SIZE..)?, endian).u64()?;
    let is_misframed = header.kind == RecordType::COMPRESSED2 && (CHUNK as u64 + 1..MOST).contains(&data_size);
    let goes_on = || match bytes.get(HEADER + CHUNK..) {
        Some(next) => RecordHeader::peek(next, endian).is_none_or(|next| next.kind == RecordType::COMPRESSED2),
        None => true,
    };
    (is_misframed && goes_on()).then(|| HEADER as u64 + data_size)
}

/// The records as they should be, of all the bytes that one takes with those that it has swallowed.
pub fn reframed(bytes: &[u8], endian: Endian) -> Vec<u8> {
    let mut records = Vec::with_capacity(bytes.len() + bytes.len() / CHUNK * 8 + 8);
    let (mut rest, mut len) = (bytes, HEADER + CHUNK);
    loop {
        let (record, next) = rest.split_at(len.clamp(HEADER.min(rest.len()), rest.len()));
        let data = record.get(HEADER..).unwrap_or_default();
        // A record is full at most; what padding it needs goes to one of its own, which continues it.
        let most = CHUNK / 8 * 8;
        data.chunks(most).for_each(|data| records.extend(compressed2(data, endian)));
        let Some(header) = RecordHeader::peek(next, endian) else { return records };
        (rest, len) = (next, header.len().max(HEADER));
    }
}

/// A COMPRESSED2 record.
fn compressed2(data: &[u8], endian: Endian) -> Vec<u8> {
    let size = (HEADER + data.len()).next_multiple_of(8);
    let header = RecordHeader { kind: RecordType::COMPRESSED2, misc: Misc::empty(), size: size as u16 };
    let mut record = Vec::with_capacity(size);
    for part in [abi::to_bytes(&header, endian), abi::to_bytes(&(data.len() as u64), endian)] {
        record.extend(part.unwrap_or_default());
    }
    record.extend_from_slice(data);
    record.resize(size, 0);
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::compressed::compressed_bytes;

    /// What perf writes for so many compressed bytes.
    fn misframed(data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for chunk in data.chunks(CHUNK) {
            bytes.extend([83, 0, 0, 0, 0, 0]);
            bytes.extend(((HEADER + chunk.len()) as u16).to_le_bytes());
            bytes.extend([0xaa; 8]);
            bytes.extend(chunk);
        }
        let data_size = bytes.len() - HEADER;
        bytes[6..8].copy_from_slice(&((HEADER + data_size).next_multiple_of(8) as u16).to_le_bytes());
        bytes[8..16].copy_from_slice(&(data_size as u64).to_le_bytes());
        bytes
    }

    #[test]
    fn what_it_has_swallowed_is_found_again() {
        let data: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
        for len in [CHUNK + 1, CHUNK + 9, 2 * CHUNK, 131_056, 200_000] {
            let bytes = misframed(&data[..len]);
            assert_eq!(size(&bytes, Endian::Little), Some(bytes.len() as u64));
            assert_eq!(size(&bytes[..100], Endian::Little), Some(bytes.len() as u64));
            let (records, mut found, mut at) = (reframed(&bytes, Endian::Little), Vec::<u8>::new(), 0);
            while at < records.len() {
                let size = RecordHeader::peek(&records[at..], Endian::Little).unwrap().len();
                assert!(size.is_multiple_of(8));
                found.extend(compressed_bytes(&records[at..at + size], Endian::Little).unwrap());
                at += size;
            }
            assert!(found == data[..len], "{len}");
        }
    }

    #[test]
    fn a_record_that_fits_and_one_that_is_damaged_have_swallowed_none() {
        assert_eq!(size(&misframed(&[7; 1000]), Endian::Little), None);
        let mut damaged = misframed(&[7; 100_000]);
        damaged[HEADER + CHUNK] = 9;
        assert_eq!(size(&damaged, Endian::Little), None);
        damaged[14] = 1;
        assert_eq!(size(&damaged[..1000], Endian::Little), None);
    }
}
