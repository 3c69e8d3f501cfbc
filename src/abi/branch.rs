//! `PERF_SAMPLE_BRANCH_STACK`: the last branches before a sample.

use super::bytes::{Reader, Words};
use super::sample_type::BranchSampleType;

/// A branch stack, borrowed from a SAMPLE.
///
/// ```c
/// u64 nr;
/// u64 hw_idx;                     // with BRANCH_HW_INDEX
/// struct { u64 from, to, flags; } entries[nr];
/// u64 counters[nr];               // with BRANCH_COUNTERS
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BranchStackView<'a> {
    /// Index of the newest entry in the hardware's ring.
    pub hw_idx: Option<u64>,
    /// Three words an entry: from, to, flags; newest first.
    pub entries: Words<'a>,
    /// Event counts, one word an entry.
    pub counters: Option<Words<'a>>,
}

impl<'a> BranchStackView<'a> {
    /// Takes the structure from the front of `reader`; `None` where the bytes end first.
    ///
    /// Where the kernel has no branch stack it writes `nr` = 0 alone, without `hw_idx` even if that was asked for;
    /// `hw_idx_if_empty` says whether to expect it then.
    pub fn take(reader: &mut Reader<'a>, what: BranchSampleType, hw_idx_if_empty: bool) -> Option<Self> {
        let nr = reader.u64()?;
        let hw_idx = if what.contains(BranchSampleType::HW_INDEX) && (nr > 0 || hw_idx_if_empty) {
            Some(reader.u64()?)
        } else {
            None
        };
        let entries = reader.words(nr.checked_mul(3)?)?;
        let counters = if what.contains(BranchSampleType::COUNTERS) { Some(reader.words(nr)?) } else { None };
        Some(Self { hw_idx, entries, counters })
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len() / 3
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
