//! COMPRESSED2 records with the wrong header that perf 6.16 to 7.1 writes.
//!
//! perf stores the size of a record rounded up to a multiple of 8 in 16 bits, which goes wrong in two cases:
//!
//! - 65,513 to 65,519 bytes of compressed data fit into a record, but its rounded size is 65,536, stored as 0. The data follows
//!   whole, without padding, because the size of the padding, computed from the stored size, is wrong, too.
//! - The compressed data of one ring buffer exceeds a record. perf then writes several records in a row, and overwrites the
//!   header of the first as if it covered all of them: its `data_size` counts everything that follows, including the headers of
//!   the other records, and its size is the rounded sum truncated to 16 bits. That can be any multiple of 8, also one smaller
//!   than the header.

use crate::abi::Endian;
use crate::abi::bytes::ByteReader;
use crate::abi::bytes::Integer;
use crate::abi::record::{Misc, RecordHeader, RecordType};

/// Size of the record header and `data_size`.
const HEADER: usize = RecordHeader::SIZE + size_of::<u64>();

/// Maximum of compressed bytes that perf puts into one record.
const CHUNK: usize = u16::MAX as usize - HEADER;

/// Upper bound of the compressed size of one ring buffer. Larger sizes are damage, not a frame whose record size was cut.
const MAX_DATA_SIZE: u64 = 1 << 30;

/// Maximum of compressed bytes in a record whose size is a multiple of 8 of 16 bits.
const MAX_PADDED: usize = CHUNK / 8 * 8;

/// Whether the bytes are the beginning of a COMPRESSED2 record that is too short to decide whether it is misframed.
pub fn is_undecided(bytes: &[u8], endian: Endian) -> bool {
    bytes.len() < HEADER && RecordHeader::peek(bytes, endian).is_some_and(|h| h.kind == RecordType::COMPRESSED2)
}

/// Total size of a misframed record at the start of `bytes`, including the records it covers; `None` if it is not misframed.
/// The bytes after the first record may not have arrived yet.
pub fn size(bytes: &[u8], endian: Endian) -> Option<u64> {
    let header = RecordHeader::peek(bytes, endian)?;
    let data_size = ByteReader::new(bytes.get(RecordHeader::SIZE..)?, endian).u64()?;
    if header.kind != RecordType::COMPRESSED2 {
        return None;
    }
    // The first case: a size of 0x10000 was stored as 0.
    if header.size == 0 && (MAX_PADDED as u64 + 1..=CHUNK as u64).contains(&data_size) {
        return Some(HEADER as u64 + data_size);
    }
    let is_misframed = (CHUNK as u64 + 1..MAX_DATA_SIZE).contains(&data_size);
    let continues = || match bytes.get(HEADER + CHUNK..) {
        Some(next) => RecordHeader::peek(next, endian).is_none_or(|next| next.kind == RecordType::COMPRESSED2),
        None => true,
    };
    (is_misframed && continues()).then(|| HEADER as u64 + data_size)
}

/// Splits the bytes of a misframed record into records with correct headers.
pub fn reframed(bytes: &[u8], endian: Endian) -> Vec<u8> {
    let mut records = Vec::with_capacity(bytes.len() + bytes.len() / CHUNK * 8 + 8);
    let (mut rest, mut len) = (bytes, HEADER + CHUNK);
    loop {
        let (record, next) = rest.split_at(len.clamp(HEADER.min(rest.len()), rest.len()));
        let data = record.get(HEADER..).unwrap_or_default();
        // A full record has no room for padding, so the remainder goes into another record that continues the stream.
        data.chunks(MAX_PADDED).for_each(|data| records.extend(compressed2(data, endian)));
        let Some(header) = RecordHeader::peek(next, endian) else { return records };
        (rest, len) = (next, header.len().max(HEADER));
    }
}

/// Encodes a COMPRESSED2 record.
fn compressed2(data: &[u8], endian: Endian) -> Vec<u8> {
    let size = (HEADER + data.len()).next_multiple_of(8);
    let header = RecordHeader { kind: RecordType::COMPRESSED2, misc: Misc::empty(), size: size as u16 };
    let mut record = Vec::with_capacity(size);
    record.extend(header.to_bytes(endian));
    record.extend((data.len() as u64).to_bytes(endian));
    record.extend_from_slice(data);
    record.resize(size, 0);
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::compressed::compressed_bytes;

    /// Encodes compressed bytes the way perf does.
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
    fn splits_a_misframed_record() {
        let data: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
        let single = MAX_PADDED + 1..=CHUNK;
        // From 131,017 bytes in two chunks, the stored size runs through 0, 8 and 16 again.
        for len in single.chain([CHUNK + 1, CHUNK + 9, 2 * CHUNK, 131_056, 200_000]).chain(131_000..131_040) {
            let bytes = misframed(&data[..len]);
            assert_eq!(size(&bytes, Endian::Little), Some(bytes.len() as u64));
            assert_eq!(size(&bytes[..100], Endian::Little), Some(bytes.len() as u64));
            let (records, mut compressed, mut at) = (reframed(&bytes, Endian::Little), Vec::<u8>::new(), 0);
            while at < records.len() {
                let size = RecordHeader::peek(&records[at..], Endian::Little).unwrap().len();
                assert!(size.is_multiple_of(8));
                compressed.extend(compressed_bytes(&records[at..at + size], Endian::Little).unwrap());
                at += size;
            }
            assert!(compressed == data[..len], "{len}");
        }
    }

    #[test]
    fn ignores_fitting_and_corrupt_records() {
        for len in [1000, MAX_PADDED - 1, MAX_PADDED] {
            assert_eq!(size(&misframed(&[7; MAX_PADDED][..len]), Endian::Little), None);
        }
        let mut corrupt = misframed(&[7; 100_000]);
        corrupt[HEADER + CHUNK] = 9;
        assert_eq!(size(&corrupt, Endian::Little), None);
        corrupt[14] = 1;
        assert_eq!(size(&corrupt[..1000], Endian::Little), None);
        corrupt[8..16].fill(0xff);
        assert_eq!(size(&corrupt[..1000], Endian::Little), None);
    }
}
