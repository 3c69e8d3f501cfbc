//! `PERF_RECORD_HEADER_TRACING_DATA`.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use crate::abi::counted;
use crate::roles;
use binrw::{BinResult, Endian, binrw};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek};

/// Tracepoint formats, as in the feature TRACING_DATA, which follow the record as a payload not counted in its size. Those of
/// simpleperf are in the record.
///
/// ```c
/// u32 size; u32 pad;  // no pad before perf 6.12
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderTracingData {
    /// Size of the formats in bytes, padded to a multiple of 8.
    pub size: u32,
    /// The formats, if they are in the record.
    #[br(parse_with = sized_bytes, args(size))]
    #[serde(with = "crate::abi::serde::byte_string")]
    pub inside: Vec<u8>,
    /// Unused.
    #[br(if(inside.is_empty()), try)]
    pub pad: Option<u32>,
}

fn sized_bytes<R: Read + Seek>(reader: &mut R, endian: Endian, (size,): (u32,)) -> BinResult<Vec<u8>> {
    let room_of_pad = 4;
    let is_inside = counted::remaining(reader)? > room_of_pad;
    counted::bytes(reader, endian, (if is_inside { size.into() } else { 0 },))
}

/// Descriptor of HEADER_TRACING_DATA.
pub const HEADER_TRACING_DATA: RecordDescriptor = RecordDescriptor::state(RecordType::HEADER_TRACING_DATA, (2, 6), 12)
    .with(
        RecordFlags::CONFIDENTIAL.union(RecordFlags::HEADER).union(RecordFlags::UNALIGNED).union(RecordFlags::PAYLOAD),
    );

roles! { HeaderTracingData { size: number, inside: opaque, pad: opaque } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let mut data = HeaderTracingData { size: 0x1234, inside: Vec::new(), pad: None };
        both_orders(&data, (), "34120000", "00001234");
        data.pad = Some(1);
        both_orders(&data, (), "34120000 01000000", "00001234 00000001");
        let inside = vec![0x17, 8, 0x44, 0, 0];
        both_orders(
            &HeaderTracingData { size: 5, inside, pad: None },
            (),
            "05000000 1708440000",
            "00000005 1708440000",
        );
    }
}
