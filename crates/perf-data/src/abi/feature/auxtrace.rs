//! Feature AUXTRACE.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use crate::abi::counted;
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::roles;
use binrw::{BinResult, Endian, binrw};
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek};

/// Index of the AUXTRACE records of a file. Since perf 4.2. Must be rebuilt when the records move.
///
/// ```c
/// u64 nr; struct { u64 file_offset, sz; } entries[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AuxtraceIndex {
    /// As perf writes it.
    Counted {
        #[br(temp)]
        #[bw(calc = entries.len() as u64)]
        nr: u64,
        /// The records.
        #[br(parse_with = counted::items, args(nr))]
        entries: Vec<AuxtraceIndexEntry>,
    },
    /// As written by simpleperf: without `nr`, to the end of the section.
    Uncounted {
        /// The records.
        #[br(parse_with = entries_to_end)]
        entries: Vec<AuxtraceIndexEntry>,
    },
}

impl AuxtraceIndex {
    /// The records.
    pub fn entries(&self) -> &[AuxtraceIndexEntry] {
        match self {
            Self::Counted { entries } | Self::Uncounted { entries } => entries,
        }
    }

    /// The records, mutable.
    pub fn entries_mut(&mut self) -> &mut [AuxtraceIndexEntry] {
        match self {
            Self::Counted { entries } | Self::Uncounted { entries } => entries,
        }
    }
}

fn entries_to_end<R: Read + Seek>(reader: &mut R, endian: Endian, (): ()) -> BinResult<Vec<AuxtraceIndexEntry>> {
    let size = 16;
    let left = counted::remaining(reader)?;
    if !left.is_multiple_of(size) {
        let pos = reader.stream_position()?;
        let message = format!("{left} bytes are not a multiple of the entry size, {size}");
        return Err(binrw::Error::AssertFail { pos, message });
    }
    counted::items(reader, endian, (left / size,))
}

/// Location of an AUXTRACE record.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuxtraceIndexEntry {
    /// Offset in the file.
    pub file_offset: u64,
    /// Size of the record, without its payload.
    pub sz: u64,
}

/// Descriptor of AUXTRACE.
pub const AUXTRACE: FeatureDescriptor =
    FeatureDescriptor::code(FeatureId::AUXTRACE, (4, 2)).with(FeatureFlags::FILE_ONLY.union(FeatureFlags::STORAGE));

impl VisitFields for AuxtraceIndex {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        match self {
            Self::Counted { entries } | Self::Uncounted { entries } => entries.visit_fields(visitor),
        }
    }
}

roles! { AuxtraceIndexEntry { file_offset: number, sz: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let entries = vec![AuxtraceIndexEntry { file_offset: 0x1000, sz: 48 }];
        assert_eq!(AuxtraceIndex::Counted { entries: entries.clone() }.entries(), entries);
        let (little, big) = ("0010000000000000 3000000000000000", "0000000000001000 0000000000000030");
        both_orders(
            &AuxtraceIndex::Counted { entries: entries.clone() },
            (),
            &format!("0100000000000000 {little}"),
            &format!("0000000000000001 {big}"),
        );
        both_orders(&AuxtraceIndex::Uncounted { entries }, (), little, big);
    }
}
