//! Counts of traces: a hash table behind a direct-mapped cache.
//!
//! The cache compares addresses of a process, so that the objects of a trace are looked up only when it is not in the cache.

use super::location::Location;
use super::tally::BranchTally;
use hashbrown::HashMap;
use perf_data::session::ViewId;

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

/// A trace by the addresses of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AddressTrace {
    /// The mappings of the process.
    pub view: ViewId,
    /// Source; 0 if unknown.
    pub from: u64,
    /// Target.
    pub to: u64,
    /// Source of the next taken branch; 0 if unknown.
    pub next: u64,
}

/// The range after a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangeKind {
    /// Its end is unknown, or it is outside of files.
    Unknown,
    /// Between the ends of the trace.
    Possible,
    /// No code has it.
    Impossible,
}

/// A trace in objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocatedTrace {
    pub trace: Trace,
    pub range: RangeKind,
}

impl LocatedTrace {
    /// Whether an end of the branch is in an object.
    pub(super) fn is_inside(&self) -> bool {
        self.trace.from.object().is_some() || self.trace.to.object().is_some()
    }
}

/// Number of traces in the cache: programs have a few thousand in which they spend most of their time.
const CACHED: usize = 1 << 14;

/// Bits of a hash that are no index in the cache.
const SHIFT: u32 = u64::BITS - CACHED.trailing_zeros();

/// A trace in the cache.
#[derive(Clone, Copy)]
struct CachedTrace {
    key: AddressTrace,
    located: LocatedTrace,
    sum: TraceCount,
}

/// Counts of distinct traces.
pub(super) struct TraceTable {
    cache: Box<[CachedTrace]>,
    counts: HashMap<Key, TraceCount>,
}

impl Default for TraceTable {
    fn default() -> Self {
        let outside = Location::OUTSIDE;
        let none = CachedTrace {
            // No branch has the target 0.
            key: AddressTrace { view: 0, from: 0, to: 0, next: 0 },
            located: LocatedTrace {
                trace: Trace { from: outside, to: outside, next: None },
                range: RangeKind::Unknown,
            },
            sum: TraceCount::default(),
        };
        Self { cache: vec![none; CACHED].into(), counts: HashMap::new() }
    }
}

impl TraceTable {
    /// Counts a trace, whose objects `locate` looks up if they are not known.
    #[inline]
    pub(super) fn add(
        &mut self,
        key: AddressTrace,
        is_mispredicted: bool,
        tally: &mut BranchTally,
        locate: impl FnOnce() -> LocatedTrace,
    ) -> &LocatedTrace {
        let AddressTrace { view, from, to, next } = key;
        // Odd constants that spread low bits, in which addresses differ, to the upper ones.
        let hash = (from.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ to).wrapping_mul(0xc2b2_ae3d_27d4_eb4f) ^ next;
        let hash = (hash ^ view << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let cached = &mut self.cache[(hash >> SHIFT) as usize];
        if cached.key != key {
            Self::move_to_table(&mut self.counts, cached, tally);
            *cached = CachedTrace { key, located: locate(), sum: TraceCount::default() };
        }
        cached.sum.count += 1;
        cached.sum.mispredicted += u64::from(is_mispredicted);
        &cached.located
    }

    fn move_to_table(counts: &mut HashMap<Key, TraceCount>, cached: &CachedTrace, tally: &mut BranchTally) {
        let CachedTrace { located, sum, .. } = cached;
        if sum.count == 0 {
            return;
        }
        tally.ranges += if located.range == RangeKind::Unknown { 0 } else { sum.count };
        tally.impossible_ranges += if located.range == RangeKind::Impossible { sum.count } else { 0 };
        if !located.is_inside() {
            tally.outside += sum.count;
            return;
        }
        let Trace { from, to, next } = located.trace;
        let key = [from.word(), to.word(), next.map_or(NO_NEXT, Location::word)];
        counts.entry(key).or_default().add(*sum);
    }

    /// All traces with their counts, sorted.
    pub(super) fn finish(self, tally: &mut BranchTally) -> Vec<(Trace, TraceCount)> {
        let Self { cache, mut counts } = self;
        cache.iter().for_each(|cached| Self::move_to_table(&mut counts, cached, tally));
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
        let (mut table, mut tally) = (TraceTable::default(), BranchTally::default());
        let at = |address| if address == 0 { Location::OUTSIDE } else { Location::new(1, address) };
        let mut add = |table: &mut TraceTable, view, to, next: u64, is_mispredicted| {
            let trace = Trace { from: at(0), to: at(to), next: (next > 0).then(|| at(next)) };
            let range = if next > 0 { RangeKind::Possible } else { RangeKind::Unknown };
            let key = AddressTrace { view, from: 0, to, next };
            table.add(key, is_mispredicted, &mut tally, || LocatedTrace { trace, range });
        };
        // Twice as many as the cache holds, so that they displace one another, in processes that map the same object.
        for view in 0..3 {
            for number in 1..=2 * CACHED as u64 {
                add(&mut table, view, number, number + 1, view == 0);
            }
            add(&mut table, view, 5, 0, false);
        }
        let traces = table.finish(&mut tally);
        assert_eq!(traces.len(), 2 * CACHED + 1);
        assert!(
            traces.iter().all(|(trace, sum)| { sum.count == 3 && sum.mispredicted == u64::from(trace.next.is_some()) })
        );
        assert!(traces.windows(2).all(|pair| pair[0].0.from <= pair[1].0.from));
        assert_eq!((tally.ranges, tally.impossible_ranges, tally.outside), (6 * CACHED as u64, 0, 0));
    }
}
