//! `PERF_RECORD_FORK` and `PERF_RECORD_EXIT`.

use binrw::binrw;

/// A thread began (FORK) or ended (EXIT). Since Linux 2.6.31.
///
/// ```c
/// u32 pid, ppid; u32 tid, ptid; u64 time;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Process.
    pub pid: u32,
    /// Process of the parent; the same process for a new thread.
    pub ppid: u32,
    /// Thread.
    pub tid: u32,
    /// Thread of the parent.
    pub ptid: u32,
    /// Nanoseconds of the recording's clock.
    pub time: u64,
}
