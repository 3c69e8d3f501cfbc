//! Which stack comes when: as often as the percents say, in an order that follows from the seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// Random numbers of a seed, the same on all machines and in all versions.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// Those of a seed, apart from those of the same seed for something else.
    pub fn new(seed: u64, of: u64) -> Self {
        let mut random = Self(Xoshiro256PlusPlus::seed_from_u64(seed));
        let own = random.0.next_u64();
        Self(Xoshiro256PlusPlus::seed_from_u64(own.wrapping_add(of)))
    }

    /// A number below another one, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }
}

/// Numbers in rounds of a hundred, each of them with every number as often as its percent says.
#[derive(Clone, Debug)]
pub struct Shares {
    round: Vec<u32>,
    left: usize,
}

impl Shares {
    /// Numbers from 0 on with these percents, which together are 100.
    pub fn new(percents: impl Iterator<Item = u64>) -> Self {
        let numbers = percents.enumerate().flat_map(|(number, percent)| (0..percent).map(move |_| number as u32));
        Self { round: numbers.collect(), left: 0 }
    }

    /// The next number; `None` where there are none.
    pub fn next(&mut self, random: &mut Random) -> Option<usize> {
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
    fn every_hundred_has_its_shares() {
        let mut shares = Shares::new([70, 30].into_iter());
        let mut random = Random::new(5, 1);
        for _ in 0..3 {
            let seconds = (0..100).filter(|_| shares.next(&mut random) == Some(1)).count();
            assert_eq!(seconds, 30);
        }
        assert_eq!(Shares::new([].into_iter()).next(&mut random), None);
    }

    #[test]
    fn a_seed_has_the_same_numbers_for_ever() {
        let numbers = |seed, of| {
            let mut random = Random::new(seed, of);
            [random.below(1000), random.below(1000), random.below(1000)]
        };
        assert_eq!(numbers(1, 0), [148, 89, 875]);
        assert!(numbers(1, 0) != numbers(1, 1) && numbers(1, 0) != numbers(2, 0));
    }
}
