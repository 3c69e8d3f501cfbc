//! Words for the flags of branches, as in perf report.

use perf_data::abi::sample::branch::BranchFlags;

/// Whether a branch was predicted, as an index of [`PREDICTIONS`].
pub(crate) fn prediction(flags: BranchFlags) -> u64 {
    flags.get(BranchFlags::MISPRED) << 1 | flags.get(BranchFlags::PREDICTED)
}

/// Whether a branch was mispredicted.
pub(crate) const PREDICTIONS: [&str; 4] = ["N/A", "N", "Y", "Y"];

/// Whether a branch was in a transaction.
pub(crate) const IN_TRANSACTION: [&str; 2] = [".", "T"];

/// Whether a branch aborted a transaction.
pub(crate) const ABORTS: [&str; 2] = [".", "A"];
