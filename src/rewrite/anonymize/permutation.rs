//! Keyed permutations of the numbers below a limit.

use super::key::Key;

/// Rounds of the Feistel network: four are indistinguishable from random.
const ROUNDS: u64 = 4;

/// A permutation of the numbers below `count`.
///
/// A Feistel network over the next even number of bits, repeated while the result is too large (cycle walking): on average less
/// than four times.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    key: Key,
    kind: &'static str,
    /// Distinguishes several permutations of a kind.
    salt: u64,
    count: u64,
    half: u32,
}

impl Permutation {
    /// Creates a permutation of a kind.
    pub(crate) fn new(key: &Key, kind: &'static str, salt: u64, count: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        Self { key: key.clone(), kind, salt, count, half: bits.div_ceil(2).max(1) }
    }

    /// The image of a number; numbers beyond the limit map to themselves.
    pub(crate) fn permute(&self, number: u64) -> u64 {
        if number >= self.count {
            return number;
        }
        let mut to = self.mixed(number);
        while to >= self.count {
            to = self.mixed(to);
        }
        to
    }

    fn mixed(&self, number: u64) -> u64 {
        let mask = u64::MAX >> (u64::BITS - self.half);
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 0..ROUNDS {
            let mix = self.key.number(self.kind, &[self.salt, round, right]);
            (left, right) = (right, left ^ mix & mask);
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_permutation() {
        let key = Key::new(&[5; 16]).unwrap();
        for count in [1, 2, 3, 5, 16, 17, 100, 1000] {
            let order = Permutation::new(&key, "test", 0, count);
            let mut all: Vec<_> = (0..count).map(|number| order.permute(number)).collect();
            assert!(count < 100 || all.iter().zip(0..).filter(|&(&to, from)| to == from).count() < 10);
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count), "{count}");
            assert_eq!(order.permute(count + 1), count + 1);
        }
        assert!(Permutation::new(&key, "test", 0, 1 << 52).permute(7) < 1 << 52);
        assert_ne!(
            Permutation::new(&key, "test", 0, 1 << 40).permute(7),
            Permutation::new(&key, "test", 1, 1 << 40).permute(7)
        );
    }
}
