//! `PERF_RECORD_HEADER_BUILD_ID`, also an entry of the feature BUILD_ID.

use super::RecordType;
use super::descriptor::{RecordDescriptor, RecordFlags};
use super::{Misc, RecordHeader};
use crate::abi::fields::{FieldVisitor, VisitFields};
use crate::abi::serde::readable;
use crate::abi::text::{PaddedStr, until_nul};
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Build ID of a file.
///
/// ```c
/// s32 pid; u8 build_id[20]; u8 size; u8 reserved_1; u16 reserved_2; char filename[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BuildId {
    /// -1 for the host, else the guest.
    pub pid: i32,
    /// The ID, zero-padded.
    #[serde(with = "readable::hex_bytes")]
    pub build_id: [u8; 20],
    /// Length of the ID, with [`Misc::BUILD_ID_SIZE`]; perf before 5.12 writes 20 bytes and no size.
    pub size: u8,
    /// Unused.
    pub reserved_1: u8,
    /// Unused.
    pub reserved_2: u16,
    /// Path of the file.
    pub filename: PaddedStr,
}

impl BuildId {
    /// Offset of the name in the body.
    const FILENAME: usize = 28;

    /// Offset in the body of the end of the name, padded with zeros so that the record size is a multiple of 8.
    pub(crate) fn name_end(body: &[u8]) -> Option<usize> {
        let name = until_nul(body.get(Self::FILENAME..)?);
        let record = RecordHeader::SIZE + Self::FILENAME + name.len() + 1;
        Some(record.next_multiple_of(8) - RecordHeader::SIZE)
    }

    /// The bytes of the ID; without a recorded size, those with the padding, see [`unpadded_id`](Self::unpadded_id).
    pub fn id(&self, misc: Misc) -> &[u8] {
        let size = if misc.contains(Misc::BUILD_ID_SIZE) { usize::from(self.size) } else { self.build_id.len() };
        &self.build_id[..size.min(self.build_id.len())]
    }

    /// The ID, without zero padding if its size is not recorded: comparable with IDs of files and of other recordings.
    pub fn unpadded_id(&self, misc: Misc) -> &[u8] {
        let id = self.id(misc);
        if misc.contains(Misc::BUILD_ID_SIZE) { id } else { unpadded(id) }
    }
}

/// An ID without zero padding. IDs consist of 4-byte groups.
pub fn unpadded(mut id: &[u8]) -> &[u8] {
    while let Some(rest) = id.strip_suffix(&[0; 4]) {
        id = rest;
    }
    id
}

/// Descriptor of HEADER_BUILD_ID.
pub const HEADER_BUILD_ID: RecordDescriptor =
    RecordDescriptor::state(RecordType::HEADER_BUILD_ID, (2, 6), 36).with(RecordFlags::HEADER);

impl VisitFields for BuildId {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        visitor.file_build_id(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn an_id_without_size_is_unpadded() {
        let mut build_id = [7; 20];
        build_id[15..].fill(0);
        let filename = PaddedStr::new(b"/bin/ls", 8);
        let entry = BuildId { pid: -1, build_id, size: 18, reserved_1: 0, reserved_2: 0, filename };
        assert_eq!((entry.id(Misc::empty()).len(), entry.unpadded_id(Misc::empty()).len()), (20, 16));
        assert_eq!((entry.id(Misc::BUILD_ID_SIZE).len(), entry.unpadded_id(Misc::BUILD_ID_SIZE).len()), (18, 18));
        assert_eq!(unpadded(&[0; 20]), [0; 0]);
    }

    #[test]
    fn bytes() {
        both_orders(
            &BuildId {
                pid: -1,
                build_id: [7; 20],
                size: 20,
                reserved_1: 1,
                reserved_2: 2,
                filename: PaddedStr::new(b"/bin/ls", 8),
            },
            (),
            "ffffffff 07 *20 14 01 0200 '/bin/ls' 00",
            "ffffffff 07 *20 14 01 0002 '/bin/ls' 00",
        );
    }
}
