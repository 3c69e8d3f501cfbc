//! Random choice of stacks: exactly by percentage, in an order determined by the seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Random numbers from a seed, the same on all machines and in all versions.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Random numbers of a seed and a stream index.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(Xoshiro256PlusPlus::seed_from_u64(seed));
        let own = random.0.next_u64();
        Self(Xoshiro256PlusPlus::seed_from_u64(own.wrapping_add(stream)))
    }

    /// A number below `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }
}

/// Indexes in rounds of a hundred, each of which contains every index as often as its percentage.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    round: Vec<u32>,
    left: usize,
}

impl Shares {
    /// Indexes from 0 with these percentages, which add up to 100.
    pub(crate) fn new(percents: impl Iterator<Item = u64>) -> Self {
        let numbers = percents.enumerate().flat_map(|(number, percent)| (0..percent).map(move |_| number as u32));
        Self { round: numbers.collect(), left: 0 }
    }

    /// The next index; `None` if there are none.
    pub(crate) fn next(&mut self, random: &mut Random) -> Option<usize> {
        if self.left == 0 {
            self.left = self.round.len();
        }
        let last = self.left.checked_sub(1)?;
        self.round.swap(random.below(self.left as u64) as usize, last);
        self.left = last;
        self.round.get(last).map(|&number| number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_matches_the_percentages() {
        let mut shares = Shares::new([70, 30].into_iter());
        let mut random = Random::new(5, 1);
        for _ in 0..3 {
            let seconds = (0..100).filter(|_| shares.next(&mut random) == Some(1)).count();
            assert_eq!(seconds, 30);
        }
        assert_eq!(Shares::new([].into_iter()).next(&mut random), None);
    }

    #[test]
    fn the_sequence_of_a_seed_is_fixed() {
        let numbers = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [random.below(1000), random.below(1000), random.below(1000)]
        };
        assert_eq!(numbers(1, 0), [148, 89, 875]);
        assert!(numbers(1, 0) != numbers(1, 1) && numbers(1, 0) != numbers(2, 0));
    }
}
