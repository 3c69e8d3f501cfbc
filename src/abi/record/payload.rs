//! Bytes that follow a record and are not counted in its header's size.

use super::tracing_data::HeaderTracingData;
use super::{RecordHeader, RecordType};
use crate::abi::Endian;
use crate::abi::bytes::Reader;

/// How many bytes follow the record: those of the AUX area behind an AUXTRACE (`u64 size` first in its body), and the
/// tracing data behind a HEADER_TRACING_DATA (`u32 size`). 0 for all others.
pub fn payload_size(record: &[u8], endian: Endian) -> u64 {
    let Some(header) = RecordHeader::peek(record, endian) else { return 0 };
    let mut body = Reader::new(record.get(RecordHeader::SIZE..).unwrap_or_default(), endian);
    match header.kind {
        RecordType::AUXTRACE => body.u64(),
        RecordType::HEADER_TRACING_DATA => {
            body.u32().map(|size| HeaderTracingData::outside(size, body.rest().len() as u64).into())
        }
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
        record[8] = 36;
        record[12] = 1;
        let mut of = |kind: RecordType, len: usize| {
            record[0] = kind.0 as u8;
            payload_size(&record[..len], Endian::Little)
        };
        assert_eq!(of(RecordType::AUXTRACE, 48), 36 | 1 << 32);
        assert_eq!(of(RecordType::HEADER_TRACING_DATA, 12), 36);
        assert_eq!(of(RecordType::HEADER_TRACING_DATA, 16), 36);
        assert_eq!(of(RecordType::HEADER_TRACING_DATA, 47), 36, "there is no room for them inside");
        assert_eq!(of(RecordType::HEADER_TRACING_DATA, 48), 0, "simpleperf has them inside");
        assert_eq!(of(RecordType::SAMPLE, 48), 0);
    }
}
