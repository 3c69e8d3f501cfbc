//! Counts of traces: a hash table behind a direct-mapped cache.

use super::location::Location;
use hashbrown::HashMap;

/// A taken branch, and where the code after it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trace {
    /// Source of the branch: the address of its instruction.
    pub from: Location,
    /// Target.
    pub to: Location,
    /// Source of the next taken branch: all code from `to` to it was executed. `None` if that is unknown, as for the newest branch of
    /// a stack.
    pub next: Option<Location>,
}

/// How often a trace was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCount {
    /// Number of times.
    pub count: u64,
    /// How many of them were mispredicted.
    pub mispredicted: u64,
}

impl TraceCount {
    /// Adds counts.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.mispredicted = self.mispredicted.saturating_add(other.mispredicted);
    }
}

/// The words of a trace.
type Key = [u64; 3];

/// `next` of a trace without one.
const NO_NEXT: u64 = u64::MAX;

/// Number of traces in the cache: programs have a few thousand in which they spend most of their time, and a megabyte is what the
/// second-level caches of most processors hold.
const CACHED: usize = 1 << 14;

/// Counts of distinct traces.
pub(super) struct TraceTable {
    cache: Box<[(Key, TraceCount)]>,
    counts: HashMap<Key, TraceCount>,
}

impl Default for TraceTable {
    fn default() -> Self {
        Self { cache: vec![([0; 3], TraceCount::default()); CACHED].into(), counts: HashMap::new() }
    }
}

impl TraceTable {
    /// Counts a trace.
    #[inline]
    pub(super) fn add(&mut self, trace: Trace, is_mispredicted: bool) {
        let key = [trace.from.word(), trace.to.word(), trace.next.map_or(NO_NEXT, Location::word)];
        // Odd constants that spread low bits, in which addresses differ, to the upper ones.
        let hash = (key[0].wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ key[1]).wrapping_mul(0xc2b2_ae3d_27d4_eb4f) ^ key[2];
        let hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (cached, sum) = &mut self.cache[(hash >> 50) as usize];
        if *cached != key {
            Self::move_to_table(&mut self.counts, *cached, *sum);
            (*cached, *sum) = (key, TraceCount::default());
        }
        sum.count += 1;
        sum.mispredicted += u64::from(is_mispredicted);
    }

    fn move_to_table(counts: &mut HashMap<Key, TraceCount>, key: Key, sum: TraceCount) {
        if sum.count > 0 {
            counts.entry(key).or_default().add(sum);
        }
    }

    /// All traces with their counts, sorted.
    pub(super) fn finish(self) -> Vec<(Trace, TraceCount)> {
        let Self { cache, mut counts } = self;
        cache.into_iter().for_each(|(key, sum)| Self::move_to_table(&mut counts, key, sum));
        let mut sorted: Vec<_> = counts.into_iter().collect();
        sorted.sort_unstable_by_key(|&(key, _)| key);
        let trace = |[from, to, next]: Key| Trace {
            from: Location::from_word(from),
            to: Location::from_word(to),
            next: (next != NO_NEXT).then(|| Location::from_word(next)),
        };
        sorted.into_iter().map(|(key, sum)| (trace(key), sum)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_traces_are_added_up() {
        let mut table = TraceTable::default();
        let at = |offset| Location::new(1, offset);
        // Twice as many as the cache holds, so that they displace one another.
        for round in 0..3 {
            for number in 0..2 * CACHED as u64 {
                let trace = Trace { from: at(number), to: Location::OUTSIDE, next: Some(at(number + 1)) };
                table.add(trace, round == 0);
            }
            table.add(Trace { from: at(5), to: Location::OUTSIDE, next: None }, false);
        }
        let traces = table.finish();
        assert_eq!(traces.len(), 2 * CACHED + 1);
        assert!(
            traces.iter().all(|(trace, sum)| { sum.count == 3 && sum.mispredicted == u64::from(trace.next.is_some()) })
        );
        assert!(traces.windows(2).all(|pair| pair[0].0.from <= pair[1].0.from));
    }
}
