//! `PERF_RECORD_MMAP2`.

use super::Misc;
use super::RecordType;
use super::descriptor::RecordDescriptor;
use crate::abi::fields::{FieldVisitor, InodeFields, MappingFields, TextField, VisitFields};
use crate::abi::serde::readable;
use crate::abi::text::PaddedStr;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// A mapping. Since Linux 3.12; with a build ID since 5.12.
///
/// ```c
/// u32 pid, tid; u64 addr, len, pgoff;
/// union {
///     struct { u32 maj, min; u64 ino, ino_generation; };
///     struct { u8 build_id_size, reserved_1; u16 reserved_2; u8 build_id[20]; };  // PERF_RECORD_MISC_MMAP_BUILD_ID
/// };
/// u32 prot, flags; char filename[];
/// ```
#[binrw]
#[br(import(misc: Misc))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mmap2 {
    /// Process ID; -1 for the kernel.
    pub pid: u32,
    /// Thread ID.
    pub tid: u32,
    /// First address.
    #[serde(serialize_with = "readable::hex")]
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
    /// Offset in the file in bytes; for the kernel, the address of the reference symbol.
    #[serde(serialize_with = "readable::hex")]
    pub pgoff: u64,
    /// Identification of the file.
    #[br(args(misc.contains(Misc::MMAP_BUILD_ID)))]
    pub file: MappedFile,
    /// `PROT_*` of mmap(2).
    pub prot: u32,
    /// `MAP_*` of mmap(2).
    pub flags: u32,
    /// Path, or a name such as `[vdso]`, `//anon`, `[kernel.kallsyms]_text`.
    pub filename: PaddedStr,
}

/// Identification of a mapped file. [`Misc::MMAP_BUILD_ID`] selects the variant.
#[binrw]
#[br(import(by_build_id: bool))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MappedFile {
    /// Device and inode.
    #[br(pre_assert(!by_build_id))]
    Inode {
        /// Major number of the device.
        maj: u32,
        /// Minor number of the device.
        min: u32,
        /// Inode.
        ino: u64,
        /// Generation of the inode.
        ino_generation: u64,
    },
    /// Build ID.
    #[br(pre_assert(by_build_id))]
    BuildId {
        /// Length of the ID.
        size: u8,
        /// Unused.
        reserved_1: u8,
        /// Unused.
        reserved_2: u16,
        /// The ID, zero-padded.
        #[serde(with = "readable::hex_bytes")]
        build_id: [u8; 20],
    },
}

impl MappedFile {
    /// The bytes of the build ID; `None` if the file is identified by inode. Sizes beyond 20 count as 20.
    pub fn build_id(&self) -> Option<&[u8]> {
        match self {
            Self::Inode { .. } => None,
            Self::BuildId { size, build_id, .. } => Some(&build_id[..usize::from(*size).min(build_id.len())]),
        }
    }
}

/// Descriptor of MMAP2.
pub const MMAP2: RecordDescriptor = RecordDescriptor::state(RecordType::MMAP2, (3, 12), 73);

impl VisitFields for Mmap2 {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        let Self { pid, tid, addr, len, pgoff, file, prot: _, flags: _, filename } = self;
        let filename = TextField::new("filename", filename);
        visitor.mapping(MappingFields { pid: *pid, addr, len, pgoff, filename });
        visitor.own_process(pid.into());
        visitor.task(tid.into());
        file.visit_fields(visitor);
    }
}

impl VisitFields for MappedFile {
    fn visit_fields(&mut self, visitor: &mut dyn FieldVisitor) {
        match self {
            Self::Inode { maj, min, ino, ino_generation } => {
                visitor.inode(InodeFields { maj, min, ino, generation: ino_generation });
            }
            Self::BuildId { size, reserved_1, reserved_2, build_id } => {
                visitor.build_id(build_id, size);
                visitor.opaque(reserved_1);
                visitor.opaque(reserved_2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    fn mmap2(file: MappedFile) -> Mmap2 {
        let filename = PaddedStr::new(b"/bin/cat", 8);
        Mmap2 { pid: 1, tid: 2, addr: 0x1000, len: 0x20, pgoff: 3, file, prot: 5, flags: 0x1802, filename }
    }

    #[test]
    fn bytes_with_an_inode() {
        both_orders(
            &mmap2(MappedFile::Inode { maj: 8, min: 1, ino: 0x99, ino_generation: 0x77 }),
            (Misc::empty(),),
            "01000000 02000000 0010000000000000 2000000000000000 0300000000000000 \
             08000000 01000000 9900000000000000 7700000000000000 05000000 02180000 '/bin/cat' 00 *8",
            "00000001 00000002 0000000000001000 0000000000000020 0000000000000003 \
             00000008 00000001 0000000000000099 0000000000000077 00000005 00001802 '/bin/cat' 00 *8",
        );
    }

    #[test]
    fn bytes_with_a_build_id() {
        let file = MappedFile::BuildId { size: 200, reserved_1: 9, reserved_2: 10, build_id: [7; 20] };
        assert_eq!(file.build_id(), Some(&[7; 20][..]), "a size of 200 does not reach past the id");
        both_orders(
            &mmap2(file),
            (Misc::MMAP_BUILD_ID,),
            "01000000 02000000 0010000000000000 2000000000000000 0300000000000000 \
             c8 09 0a00 07 *20 05000000 02180000 '/bin/cat' 00 *8",
            "00000001 00000002 0000000000001000 0000000000000020 0000000000000003 \
             c8 09 000a 07 *20 00000005 00001802 '/bin/cat' 00 *8",
        );
    }
}
