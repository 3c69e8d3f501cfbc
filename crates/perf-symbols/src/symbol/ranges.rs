//! Finds the innermost range that contains an address.

/// Ranges, split into parts that do not overlap.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    starts: Vec<u64>,
    values: Vec<u32>,
}

/// Marks addresses outside of all ranges.
const NONE: u32 = u32::MAX;

impl Ranges {
    /// Builds the parts from non-empty ranges sorted by start. A range is identified by its position in the input.
    pub(super) fn new(ranges: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut built = Self::default();
        // Ranges that have not ended, innermost last.
        let mut open: Vec<(u64, u32)> = Vec::new();
        for (number, (start, end)) in (0..NONE).zip(ranges) {
            built.close(&mut open, start);
            built.push(start, number);
            open.push((end, number));
        }
        built.close(&mut open, u64::MAX);
        built
    }

    /// Ends the ranges that end at or before an address.
    fn close(&mut self, open: &mut Vec<(u64, u32)>, until: u64) {
        while let Some(&(end, _)) = open.last().filter(|&&(end, _)| end <= until) {
            while open.last().is_some_and(|&(other, _)| other <= end) {
                open.pop();
            }
            self.push(end, open.last().map_or(NONE, |&(_, number)| number));
        }
    }

    fn push(&mut self, start: u64, owner: u32) {
        if self.starts.last() == Some(&start) {
            self.values.pop();
            self.starts.pop();
        }
        if self.values.last() != Some(&owner) {
            self.starts.push(start);
            self.values.push(owner);
        }
    }

    /// The number of the innermost range that contains an address.
    pub(super) fn find(&self, address: u64) -> Option<usize> {
        let part = self.starts.partition_point(|&start| start <= address).checked_sub(1)?;
        self.values.get(part).filter(|&&owner| owner != NONE).map(|&owner| owner as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_all(ranges: &[(u64, u64)], addresses: &[u64]) -> Vec<Option<usize>> {
        let ranges = Ranges::new(ranges.iter().copied());
        addresses.iter().map(|&address| ranges.find(address)).collect()
    }

    #[test]
    fn the_innermost_range_counts() {
        let ranges = [(10, 20), (12, 14), (30, 40), (35, 50), (36, 37)];
        let addresses = [9, 10, 12, 13, 14, 19, 20, 34, 35, 36, 37, 45, 50];
        let expected = [
            None,
            Some(0),
            Some(1),
            Some(1),
            Some(0),
            Some(0),
            None,
            Some(2),
            Some(3),
            Some(4),
            Some(3),
            Some(3),
            None,
        ];
        assert_eq!(find_all(&ranges, &addresses), expected);
    }

    #[test]
    fn adjacent_and_nested_ranges_that_end_together() {
        assert_eq!(find_all(&[(0, 10), (5, 10), (10, 11)], &[4, 9, 10, 11]), [Some(0), Some(1), Some(2), None]);
        assert_eq!(find_all(&[(0, u64::MAX)], &[u64::MAX - 1]), [Some(0)]);
        assert_eq!(find_all(&[], &[0]), [None]);
    }
}
