//! Payloads: bytes that follow a record without being counted in its size.

use super::{RecordHeader, RecordType};
use crate::abi::Endian;
use crate::abi::bytes::ByteReader;

/// Size of a HEADER_TRACING_DATA without data; 12 before perf 6.12. That of simpleperf contains the data.
const TRACING_DATA_SIZE: usize = 16;

/// Size of the payload: AUX data after an AUXTRACE (`u64 size` first in its body), and tracing data after a HEADER_TRACING_DATA
/// (`u32 size`). 0 for other records.
pub(crate) fn payload_size(record: &[u8], endian: Endian) -> u64 {
    let Some(header) = RecordHeader::peek(record, endian) else { return 0 };
    let mut body = ByteReader::new(record.get(RecordHeader::SIZE..).unwrap_or_default(), endian);
    match header.kind {
        RecordType::AUXTRACE => body.u64(),
        RecordType::HEADER_TRACING_DATA if header.len() <= TRACING_DATA_SIZE => body.u32().map(u64::from),
        _ => None,
    }
    .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_types_have_a_payload() {
        let mut record = [0_u8; 48];
        record[6] = 48;
        record[8] = 100;
        record[12] = 1;
        let mut of = |kind: RecordType| {
            record[0] = kind.0 as u8;
            payload_size(&record, Endian::Little)
        };
        assert_eq!(of(RecordType::AUXTRACE), 100 | 1 << 32);
        assert_eq!(of(RecordType::HEADER_TRACING_DATA), 0, "the record contains its data");
        assert_eq!(of(RecordType::SAMPLE), 0);
        record[6] = 12;
        record[0] = 66;
        assert_eq!(payload_size(&record[..12], Endian::Little), 100);
    }
}
