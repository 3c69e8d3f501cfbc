//! `PERF_RECORD_MMAP`.

use crate::abi::text::PaddedStr;
use binrw::binrw;

/// A file was mapped executable, or, with [`Misc::MMAP_DATA`](super::Misc::MMAP_DATA), otherwise. Since Linux 2.6.31.
///
/// ```c
/// u32 pid, tid; u64 addr, len, pgoff; char filename[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mmap {
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
    /// Path, or a name such as `[vdso]`, `//anon`, `[kernel.kallsyms]_text`.
    pub filename: PaddedStr,
}
