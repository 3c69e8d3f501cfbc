//! `PERF_RECORD_MMAP2`.

use super::Misc;
use crate::abi::text::PaddedStr;
use binrw::binrw;

/// A file was mapped. Since Linux 3.12; with a build id since 5.12.
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
#[brw(import(misc: Misc))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mmap2 {
    /// Process; -1 for the kernel.
    pub pid: u32,
    /// Thread that mapped it.
    pub tid: u32,
    /// First address.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
    /// Offset in the file, in bytes. Of the kernel's first map: the address of the reference symbol.
    pub pgoff: u64,
    /// Which file it is.
    #[br(args(misc.contains(Misc::MMAP_BUILD_ID)))]
    pub file: MappedFile,
    /// `PROT_*` of mmap(2).
    pub prot: u32,
    /// `MAP_*` of mmap(2).
    pub flags: u32,
    /// Path, or a name such as `[vdso]`, `//anon`, `[kernel.kallsyms]_text`.
    pub filename: PaddedStr,
}

/// What identifies a mapped file: which of the two is there is told by the record's misc word.
#[binrw]
#[br(import(by_build_id: bool))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Build id.
    #[br(pre_assert(by_build_id))]
    BuildId {
        /// How many bytes of `build_id` count.
        size: u8,
        /// Unused.
        reserved_1: u8,
        /// Unused.
        reserved_2: u16,
        /// The id, zero-padded.
        build_id: [u8; 20],
    },
}

impl MappedFile {
    /// The build id's own bytes; `None` where the file is told by its inode. A size beyond the 20 bytes that there are
    /// counts as 20.
    pub fn build_id(&self) -> Option<&[u8]> {
        match self {
            Self::Inode { .. } => None,
            Self::BuildId { size, build_id, .. } => Some(&build_id[..usize::from(*size).min(build_id.len())]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{self, Endian};

    #[test]
    fn misc_tells_inode_from_build_id() {
        let mut bytes = vec![1, 0, 0, 0, 2, 0, 0, 0];
        bytes.extend([0_u8; 24]);
        bytes.extend([200, 9, 0, 0]);
        bytes.extend([7; 20]);
        bytes.extend([5, 0, 0, 0, 2, 0, 0, 0]);
        bytes.extend(b"/bin/cat\0\0\0\0\0\0\0\0");
        let parse = |misc| abi::parse::<Mmap2>(&bytes, Endian::Little, (misc,)).unwrap().0;
        let by_inode = parse(Misc::empty());
        assert_eq!(by_inode.file.build_id(), None);
        assert_eq!((by_inode.prot, by_inode.filename.text()), (5, &b"/bin/cat"[..]));
        let by_id = parse(Misc::MMAP_BUILD_ID);
        assert_eq!(by_id.file.build_id(), Some(&[7; 20][..]), "a size of 200 does not reach past the id");
    }
}
