//! How the counts of a profile are distributed: what LLVM calls hot and cold.

use super::source_profile::FunctionCounts;

/// Shares of all counts, in millionths, of which a summary has an entry.
const CUTOFFS: [u64; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000, 990_000, 999_000,
    999_900, 999_990, 999_999,
];

/// The largest counts that together have a share of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SummaryEntry {
    /// The share, in millionths.
    pub cutoff: u64,
    /// The smallest of these counts.
    pub smallest: u64,
    /// Their number.
    pub counts: u64,
}

/// Totals of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileSummary {
    /// Sum of all counts.
    pub total: u64,
    /// The largest.
    pub largest: u64,
    /// The largest number of calls of a function.
    pub head: u64,
    /// Number of counts.
    pub counts: u64,
    /// Number of functions.
    pub functions: u64,
    /// By ascending share.
    pub entries: Vec<SummaryEntry>,
}

impl ProfileSummary {
    /// Summarizes functions, with those that are inlined into them.
    pub fn new<'a>(functions: impl Iterator<Item = &'a FunctionCounts>) -> Self {
        let (mut counts, mut head, mut number) = (Vec::new(), 0, 0);
        for function in functions {
            each_count(function, &mut |count| counts.push(count));
            head = head.max(function.head);
            number += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total = counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count));
        let (mut sum, mut smallest, mut seen) = (0_u64, 0, 0);
        let entry = |cutoff: u64| {
            let wanted = (u128::from(total) * u128::from(cutoff) / 1_000_000) as u64;
            while sum < wanted && seen < counts.len() {
                // All counts of one size are taken together.
                smallest = counts[seen];
                let equal = counts[seen..].iter().take_while(|&&count| count == smallest).count();
                sum = sum.saturating_add(smallest.saturating_mul(equal as u64));
                seen += equal;
            }
            SummaryEntry { cutoff, smallest, counts: seen as u64 }
        };
        let entries = CUTOFFS.into_iter().map(entry).collect();
        let largest = counts.first().copied().unwrap_or(0);
        Self { total, largest, head, counts: counts.len() as u64, functions: number, entries }
    }

    /// The smallest of the largest counts that together have at least this share, in millionths, of all.
    pub fn smallest_at(&self, cutoff: u64) -> u64 {
        self.entries.iter().find(|entry| entry.cutoff >= cutoff).map_or(0, |entry| entry.smallest)
    }
}

/// Calls `on_count` with the counts of a function and of those inlined into it.
fn each_count(function: &FunctionCounts, on_count: &mut dyn FnMut(u64)) {
    function.body.values().for_each(|position| on_count(position.count));
    function.each_inlined().for_each(|(_, _, inlined)| each_count(inlined, on_count));
}
