//! The size of a cache that is cleared when it is full.

/// The maximum number of entries. A small cache stays in the caches of the CPU, but where keys recur late, only a large one has them.
/// So it doubles as long as that reduces the share of misses by more than a tenth, and starts again at times: loads change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheSize {
    bits: u32,
    lookups: usize,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The size doubles; with the share of misses of the size before.
    Growing { before: f64 },
    /// The size stays for this many more rounds.
    Settled { rounds: u32 },
}

impl Default for CacheSize {
    fn default() -> Self {
        Self { bits: Self::SMALLEST, lookups: 0, phase: Phase::START }
    }
}

impl Phase {
    const START: Self = Self::Growing { before: f64::INFINITY };
    const SETTLED: Self = Self::Settled { rounds: 8 };
}

impl CacheSize {
    const SMALLEST: u32 = 13;
    const LARGEST: u32 = 16;

    /// The maximum number of entries.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        1 << self.bits
    }

    /// Counts a lookup.
    #[inline]
    pub(crate) fn count_lookup(&mut self) {
        self.lookups += 1;
    }

    /// Chooses the size of the next round, after a round with this many entries.
    pub(crate) fn next(&mut self, entries: usize) {
        let misses = entries as f64 / std::mem::take(&mut self.lookups).max(1) as f64;
        (self.bits, self.phase) = match self.phase {
            Phase::Growing { before } if misses >= before * 0.9 => (self.bits - 1, Phase::SETTLED),
            Phase::Growing { .. } if self.bits < Self::LARGEST => (self.bits + 1, Phase::Growing { before: misses }),
            Phase::Growing { .. } => (self.bits, Phase::SETTLED),
            Phase::Settled { rounds: 0 } => (Self::SMALLEST, Phase::START),
            Phase::Settled { rounds } => (self.bits, Phase::Settled { rounds: rounds - 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of rounds, in which the share of misses depends on the size.
    fn sizes(rounds: usize, misses: impl Fn(usize) -> f64) -> Vec<usize> {
        let mut size = CacheSize::default();
        let round = |_| {
            let entries = size.entries();
            (0..(entries as f64 / misses(entries)) as usize).for_each(|_| size.count_lookup());
            size.next(entries);
            entries >> CacheSize::SMALLEST
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn grows_only_while_that_reduces_misses() {
        let [few, more] = [11, 15].map(|rounds| sizes(rounds, |_| 0.7));
        assert_eq!(few, [1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(more[few.len()..], [1, 2, 1, 1]);
        assert_eq!(sizes(6, |entries| 8192.0 / entries as f64), [1, 2, 4, 8, 8, 8]);
        assert_eq!(
            sizes(6, |entries| if entries < 20_000 { 8192.0 / entries as f64 } else { 0.5 }),
            [1, 2, 4, 2, 2, 2]
        );
    }
}
