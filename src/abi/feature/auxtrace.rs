//! Feature AUXTRACE.

use crate::abi::counted;
use binrw::binrw;

/// Where in the file the AUXTRACE records are. Since perf 4.2. It must be made anew when they move.
///
/// ```c
/// u64 nr; struct { u64 file_offset, sz; } entries[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuxtraceIndex {
    #[br(temp)]
    #[bw(calc = entries.len() as u64)]
    nr: u64,
    /// The records.
    #[br(parse_with = counted::items, args(nr))]
    pub entries: Vec<AuxtraceIndexEntry>,
}

/// Where an AUXTRACE record is.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuxtraceIndexEntry {
    /// From the beginning of the file.
    pub file_offset: u64,
    /// Size of the record, without the data that follows it.
    pub sz: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &AuxtraceIndex { entries: vec![AuxtraceIndexEntry { file_offset: 0x1000, sz: 48 }] },
            (),
            "0100000000000000 0010000000000000 3000000000000000",
            "0000000000000001 0000000000001000 0000000000000030",
        );
    }
}
