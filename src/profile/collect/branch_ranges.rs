//! Counts of the code between taken branches, which branch stacks have besides the samples.

use super::branch_entries::{MAX_RANGE, branch_entries, is_not_taken, is_on_wrong_path};
use crate::profile::intern::stacks::{FrameId, StackId, Stacks};
use hashbrown::HashMap;
use perf_data::abi::Endian;
use perf_data::abi::sample::branch::{BranchFlags, BranchStackView};

/// Code that was executed without a taken branch, from the target of one to the source of the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BranchRange {
    /// Its first instruction.
    pub start: FrameId,
    /// Its last instruction, a branch.
    pub end: FrameId,
    /// How often it was executed.
    pub count: u64,
    /// How often the cycles were recorded.
    pub timed: u64,
    /// Sum of the recorded cycles.
    pub cycles: u64,
}

/// A taken branch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedBranch {
    pub from: FrameId,
    pub to: FrameId,
    /// How often it was taken.
    pub count: u64,
    /// How often it was mispredicted.
    pub mispredicted: u64,
}

/// What branch stacks say about the code.
#[derive(Debug, Default)]
pub(crate) struct BranchRanges {
    pub ranges: Vec<BranchRange>,
    pub branches: Vec<CountedBranch>,
}

/// Counts ranges and branches by the stack of their two ends, whose numbers are known when all samples have been read.
#[derive(Default)]
pub(super) struct BranchRangeCounter {
    /// Number of times, of times with cycles, and cycles.
    ranges: HashMap<StackId, [u64; 3]>,
    /// Number of times, and how often mispredicted.
    branches: HashMap<StackId, [u64; 2]>,
}

impl BranchRangeCounter {
    /// Counts a branch stack. `frame` resolves an address, `stack` numbers a pair of frames.
    pub(super) fn add(
        &mut self,
        stack: &BranchStackView<'_>,
        endian: Endian,
        mut pair: impl FnMut(u64, u64) -> StackId,
    ) {
        let mut next: Option<(u64, u64)> = None;
        let (entries, _) = branch_entries(stack, endian);
        for entry in entries.filter(|entry| !is_on_wrong_path(entry)) {
            let (from, to) = (entry.from, entry.to);
            if from != 0 && to != 0 && !is_not_taken(entry.flags) {
                let [count, mispredicted] = self.branches.entry(pair(from, to)).or_default();
                *count += 1;
                *mispredicted += entry.flags.get(BranchFlags::MISPRED);
            }
            let range = next.filter(|(end, _)| {
                to != 0 && !is_not_taken(entry.flags) && end.checked_sub(to).is_some_and(|len| len <= MAX_RANGE)
            });
            if let Some((end, cycles)) = range {
                let [count, timed, sum] = self.ranges.entry(pair(to, end)).or_default();
                *count += 1;
                *timed += u64::from(cycles > 0);
                *sum += cycles;
            }
            // Without a source, it is unknown where the code before the branch ended.
            next = (from != 0).then(|| (from, entry.flags.get(BranchFlags::CYCLES)));
        }
    }

    /// The counts, given the number that each stack has among all.
    pub(super) fn finish(self, stacks: &Stacks, number: impl Fn(StackId) -> StackId) -> BranchRanges {
        let ends = |id| match stacks.stack(number(id)) {
            &[first, second] => Some((first, second)),
            _ => None,
        };
        let range = |(id, [count, timed, cycles]): (StackId, [u64; 3])| {
            let (start, end) = ends(id)?;
            Some(BranchRange { start, end, count, timed, cycles })
        };
        let branch = |(id, [count, mispredicted]): (StackId, [u64; 2])| {
            let (from, to) = ends(id)?;
            Some(CountedBranch { from, to, count, mispredicted })
        };
        let mut ranges: Vec<_> = self.ranges.into_iter().filter_map(range).collect();
        let mut branches: Vec<_> = self.branches.into_iter().filter_map(branch).collect();
        ranges.sort_unstable_by_key(|range| (range.start, range.end));
        branches.sort_unstable_by_key(|branch| (branch.from, branch.to));
        BranchRanges { ranges, branches }
    }
}
