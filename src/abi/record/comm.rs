//! `PERF_RECORD_COMM`.

use crate::abi::text::PaddedStr;
use binrw::binrw;

/// A thread was named; with [`Misc::COMM_EXEC`](super::Misc::COMM_EXEC) by running a new program. Since Linux 2.6.31.
///
/// ```c
/// u32 pid, tid; char comm[];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comm {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Name, at most 15 bytes from the kernel.
    pub comm: PaddedStr,
}
