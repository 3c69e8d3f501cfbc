//! Distributions of lengths in little memory.

use std::collections::BTreeMap;

/// Lengths in buckets that are at most a 64th of a length wide, so that memory does not depend on their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    buckets: BTreeMap<u16, u64>,
    count: u64,
    min: u64,
    max: u64,
}

impl Lengths {
    /// Bits of a length that distinguish buckets, besides its magnitude.
    const BITS: u32 = 6;

    /// Adds a length.
    pub fn add(&mut self, length: u64) {
        *self.buckets.entry(Self::bucket(length)).or_default() += 1;
        self.min = if self.count == 0 { length } else { self.min.min(length) };
        self.max = self.max.max(length);
        self.count += 1;
    }

    fn bucket(length: u64) -> u16 {
        let shift = (u64::BITS - length.leading_zeros()).saturating_sub(Self::BITS + 1);
        ((u64::from(shift) << Self::BITS) + (length >> shift)) as u16
    }

    /// The lowest length in a bucket.
    fn lowest(bucket: u16) -> u64 {
        let shift = (bucket >> Self::BITS).saturating_sub(1);
        (u64::from(bucket) - (u64::from(shift) << Self::BITS)) << shift
    }

    /// Number of lengths.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shortest length, the median, the length of which 99 % are at most as long, and the longest; the inner ones within the
    /// width of a bucket. `None` if there are no lengths.
    pub fn summary(&self) -> Option<[u64; 4]> {
        (self.count > 0).then(|| [self.min, self.quantile(50), self.quantile(99), self.max])
    }

    /// The length of which this share is at most as long, within the width of a bucket.
    fn quantile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1);
        let mut sum = 0;
        let bucket = self.buckets.iter().find(|(_, count)| {
            sum += u128::from(**count);
            sum >= rank
        });
        Self::lowest(bucket.map_or(0, |(bucket, _)| *bucket)).clamp(self.min, self.max)
    }

    /// Numbers of lengths from a power of two to below the next, from the shortest to the longest; the first begins with 0.
    pub fn histogram(&self) -> Vec<(u64, u64)> {
        let mut powers: Vec<(u64, u64)> = Vec::new();
        let power = |length: u64| length.checked_ilog2().map_or(0, |power| 1 << power);
        for (&bucket, &count) in &self.buckets {
            let from = power(Self::lowest(bucket));
            while let Some(&(last, _)) = powers.last().filter(|(last, _)| *last < from) {
                powers.push((if last == 0 { 1 } else { last << 1 }, 0));
            }
            match powers.last_mut() {
                Some((_, sum)) => *sum += count,
                None => powers.push((from, count)),
            }
        }
        powers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_64th() {
        for length in [0, 1, 63, 64, 127, 128, 129, 1000, 123_456_789, u64::MAX] {
            let lowest = Lengths::lowest(Lengths::bucket(length));
            assert!(lowest <= length && length - lowest <= length / 64, "{length} {lowest}");
        }
        let mut lengths = Lengths::default();
        assert_eq!(lengths.summary(), None);
        (1..=1000).for_each(|length| lengths.add(1000 * length));
        assert_eq!((lengths.count(), lengths.summary()), (1000, Some([1000, 499_712, 983_040, 1_000_000])));
    }

    #[test]
    fn histograms_have_a_line_for_each_power_of_two() {
        let mut lengths = Lengths::default();
        assert_eq!(lengths.histogram(), []);
        [0, 1, 5, 7, 4, 64, 127, u64::MAX].into_iter().for_each(|length| lengths.add(length));
        let histogram = lengths.histogram();
        assert_eq!(histogram[..8], [(0, 1), (1, 1), (2, 0), (4, 3), (8, 0), (16, 0), (32, 0), (64, 2)]);
        assert_eq!((histogram.len(), histogram[64]), (65, (1 << 63, 1)));
    }
}
