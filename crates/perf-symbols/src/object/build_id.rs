//! Build IDs.

use perf_data::abi::hex::to_hex;
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::record::mmap2::MappedFile;
use perf_data::abi::record::{CpuMode, Misc};
use perf_data::abi::text::PaddedStr;
use std::fmt;

/// Maximum size of a build ID in a recording.
const SIZE: usize = 20;

/// Alignment of file names in perf's build ID table.
const NAME_ALIGN: usize = 64;

/// A build ID: 20 bytes from most linkers, 16 from some, 8 from `lld --build-id=fast`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    bytes: [u8; SIZE],
    size: u8,
}

impl Id {
    /// Creates an ID, truncated to 20 bytes as in perf. `None` if it is empty or all zeros.
    pub fn new(id: &[u8]) -> Option<Self> {
        let id = &id[..id.len().min(SIZE)];
        let mut bytes = [0; SIZE];
        bytes[..id.len()].copy_from_slice(id);
        (bytes != [0; SIZE]).then_some(Self { bytes, size: id.len() as u8 })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.size)]
    }

    /// The ID as a field of MMAP2.
    pub fn into_mapped_file(self) -> MappedFile {
        MappedFile::BuildId { size: self.size, reserved_1: 0, reserved_2: 0, build_id: self.bytes }
    }

    /// The ID as an entry of the build ID table, for a file of the host.
    pub fn into_table_entry(self, mode: CpuMode, filename: &[u8]) -> (Misc, BuildId) {
        let misc = Misc::from_bits_retain(mode.0) | Misc::BUILD_ID_SIZE;
        let filename = PaddedStr::new(filename, NAME_ALIGN);
        let Self { bytes, size } = self;
        (misc, BuildId { pid: -1, build_id: bytes, size, reserved_1: 0, reserved_2: 0, filename })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(self.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_1_to_20_bytes() {
        assert_eq!((Id::new(&[]), Id::new(&[0; 20])), (None, None));
        assert_eq!(Id::new(&[7; 8]).unwrap().to_string(), "0707070707070707");
        assert_eq!(Id::new(&[7; 32]).unwrap().bytes(), [7; 20]);
    }

    #[test]
    fn table_entries_have_perf_injects_size() {
        let (misc, entry) = Id::new(&[7; 16]).unwrap().into_table_entry(CpuMode::USER, b"/usr/bin/cat");
        assert_eq!((misc.bits(), entry.id(misc), entry.filename.as_bytes().len()), (0x8002, &[7; 16][..], 64));
    }
}
