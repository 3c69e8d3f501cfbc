//! `PERF_RECORD_COMPRESSED` and `PERF_RECORD_COMPRESSED2`: frames of compressed records.

use super::descriptor::{RecordDescriptor, RecordFlags};
use super::{RecordHeader, RecordType};
use crate::abi::bytes::ByteReader;
use crate::abi::{Endian, counted};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Compressed records, to the end: `u8 data[]`. Since perf 5.2.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compressed {
    /// Part of a zstd stream.
    #[br(parse_with = counted::bytes_to_end)]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
}

/// Compressed records, padded with zeros to a multiple of 8. Since perf 6.16.
///
/// ```c
/// u64 data_size; u8 data[data_size];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compressed2 {
    #[br(temp)]
    #[bw(calc = data.len() as u64)]
    data_size: u64,
    /// Part of a zstd stream.
    #[br(parse_with = counted::bytes, args(data_size))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub data: Vec<u8>,
}

/// The compressed bytes of a COMPRESSED or COMPRESSED2 record.
///
/// `None` for other records, or if the `data_size` of a COMPRESSED2 exceeds the record.
pub fn compressed_bytes(record: &[u8], endian: Endian) -> Option<&[u8]> {
    let header = RecordHeader::peek(record, endian)?;
    let body = record.get(RecordHeader::SIZE..)?;
    match header.kind {
        RecordType::COMPRESSED => Some(body),
        RecordType::COMPRESSED2 => {
            let mut reader = ByteReader::new(body, endian);
            let data_size = reader.u64()?;
            reader.take(usize::try_from(data_size).ok()?)
        }
        _ => None,
    }
}

/// Descriptor of COMPRESSED.
pub const COMPRESSED: RecordDescriptor = RecordDescriptor::state(RecordType::COMPRESSED, (5, 2), 8)
    .with(RecordFlags::CONFIDENTIAL.union(RecordFlags::FRAME).union(RecordFlags::UNALIGNED));

/// Descriptor of COMPRESSED2.
pub const COMPRESSED2: RecordDescriptor = RecordDescriptor::state(RecordType::COMPRESSED2, (6, 16), 16)
    .with(RecordFlags::CONFIDENTIAL.union(RecordFlags::FRAME).union(RecordFlags::PAYLOAD));

roles! { Compressed { data: opaque } }

roles! { Compressed2 { data: opaque } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&Compressed { data: vec![1, 2, 3] }, (), "010203", "010203");
        let data = vec![1, 2, 3];
        both_orders(&Compressed2 { data }, (), "0300000000000000 010203", "0000000000000003 010203");
    }

    #[test]
    fn the_padding_of_a_compressed2_is_not_data() {
        let record = [83, 0, 0, 0, 0, 0, 24, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0];
        assert_eq!(compressed_bytes(&record, Endian::Little), Some(&[1, 2, 3][..]));
        let mut too_long = record;
        too_long[8] = 9;
        assert_eq!(compressed_bytes(&too_long, Endian::Little), None);
        let old = [81, 0, 0, 0, 0, 0, 11, 0, 1, 2, 3];
        assert_eq!(compressed_bytes(&old, Endian::Little), Some(&[1, 2, 3][..]));
    }
}
