//! What happened to the samples and entries of branch stacks: the count of each rule.

/// Numbers of samples, of entries of branch stacks, and of ranges, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BranchTally {
    /// Samples with a branch stack that is not empty.
    pub samples: u64,
    /// Samples without a branch stack, or with an empty one.
    pub without_stack: u64,
    /// Samples whose branch stack is a call stack (`--call-graph lbr`), which has no branches.
    pub call_stacks: u64,
    /// Samples of guests, whose mappings are not recorded.
    pub guests: u64,
    /// Mappings of memory that the code of a file was moved to.
    pub remapped: u64,
    /// Entries of branch stacks.
    pub entries: u64,
    /// Entries that the processor executed speculatively on a wrong path; they are skipped.
    pub wrong_path: u64,
    /// Newest entries that repeat the next one, by an erratum of Intel's processors; they are skipped.
    pub duplicates: u64,
    /// Entries without source or target.
    pub missing_ends: u64,
    /// Entries that neither begin nor end in a file.
    pub outside: u64,
    /// Ranges of code between two entries.
    pub ranges: u64,
    /// Ranges that no code can have: their end is before their start, in another object, or more than
    /// [`MAX_RANGE`](super::MAX_RANGE) bytes after it. They are not counted; branches are.
    pub impossible_ranges: u64,
}
