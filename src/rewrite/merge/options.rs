//! What can be asked of a merge.

/// How recordings are merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeOptions {
    /// Times become those of the wall clock, which recordings tell that were made with a clock of their own (`perf record -k`).
    pub align_wall: bool,
    /// Processes and threads of each recording but the first get numbers of their own: [`PID_STEP`] more than those of the
    /// recording before.
    pub offset_pids: bool,
    /// The recording, by its number, whose features are taken where they are not equal.
    pub features_from: Option<usize>,
    /// The recording, by its number, whose kernel is taken; what the others tell of theirs is left out.
    pub kernel_from: Option<usize>,
}

/// How far the processes of two recordings are apart. The kernel's own are all below it.
pub const PID_STEP: u32 = 10_000_000;

/// How many recordings have numbers of their own: processes are told as signed 32 bits.
pub const MOST_OFFSET: usize = (i32::MAX as u32 / PID_STEP) as usize;
