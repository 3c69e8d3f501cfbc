//! COMPRESSED2 records with the wrong header that perf 6.16 to 7.1 writes.
//!
//! The compressed data of one ring buffer can exceed the size of a record. perf then writes several records in a row, and
//! overwrites the header of the first as if it covered all of them: its `data_size` counts everything that follows,
//! including the headers of the other records, and its size is the sum truncated to 16 bits.

use crate::abi;
use crate::abi::Endian;
use crate::abi::bytes::Reader;
use crate::abi::record::{Misc, RecordHeader, RecordType};

/// Size of the record header and `data_size`.
const HEADER: usize = RecordHeader::SIZE + size_of::<u64>();

/// Maximum of compressed bytes that perf puts into one record.
const CHUNK: usize = u16::MAX as usize - HEADER;

/// Upper bound of the compressed size of one ring buffer.
const MAX_DATA_SIZE: u64 = 1 << 30;

/// Total size of a misframed record at the start of `bytes`, including the records it covers; `None` if it is not misframed.
/// The bytes after the first record may not have arrived yet.
pub fn size(bytes: &[u8], endian: Endian) -> Option<u64> {
    let header = RecordHeader::peek(bytes, endian)?;
    let data_size = Reader::new(bytes.get(RecordHeader::SIZE..)?, endian).u64()?;
    let is_misframed = header.kind == RecordType::COMPRESSED2 && (CHUNK as u64 + 1..MAX_DATA_SIZE).contains(&data_size);
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
        let most = CHUNK / 8 * 8;
        data.chunks(most).for_each(|data| records.extend(compressed2(data, endian)));
        let Some(header) = RecordHeader::peek(next, endian) else { return records };
        (rest, len) = (next, header.len().max(HEADER));
    }
}

/// Encodes a COMPRESSED2 record.
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
    fn ignores_fitting_and_corrupt_records() {
        assert_eq!(size(&misframed(&[7; 1000]), Endian::Little), None);
        let mut corrupt = misframed(&[7; 100_000]);
        corrupt[HEADER + CHUNK] = 9;
        assert_eq!(size(&corrupt, Endian::Little), None);
        corrupt[14] = 1;
        assert_eq!(size(&corrupt[..1000], Endian::Little), None);
        corrupt[8..16].fill(0xff);
        assert_eq!(size(&corrupt[..1000], Endian::Little), None);
    }
}
