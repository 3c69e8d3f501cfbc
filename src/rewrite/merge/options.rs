//! Options of a merge.

/// How to merge recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// Align times to the wall clock; requires recordings with a selected clock (`perf record -k`).
    pub align_wall: bool,
    /// Offset the process and thread IDs of each recording by [`PID_STEP`] from those of the previous one.
    pub offset_pids: bool,
    /// Index of the recording whose features are kept where they differ.
    pub features_from: Option<usize>,
    /// Index of the recording whose kernel is kept; kernel records of the others are removed.
    pub kernel_from: Option<usize>,
}

/// Offset between the process IDs of two recordings; larger than any process ID of the kernel.
pub const PID_STEP: u32 = 10_000_000;

/// Maximum number of recordings with offset process IDs, which are signed 32-bit numbers.
pub const MAX_OFFSET_MEMBERS: usize = (i32::MAX as u32 / PID_STEP) as usize;
