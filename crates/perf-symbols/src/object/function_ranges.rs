//! Functions by address, of which a later one replaces earlier ones where they overlap.

use std::collections::BTreeMap;

/// Values of disjoint address ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRanges<V> {
    /// End address and value by start address.
    ranges: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for FunctionRanges<V> {
    fn default() -> Self {
        Self { ranges: BTreeMap::new() }
    }
}

impl<V: Clone> FunctionRanges<V> {
    /// Inserts a value at `start..end`; returns whether it replaces others. Ranges that extend beyond are split.
    pub fn insert(&mut self, start: u64, end: u64, value: V) -> bool {
        let mut replaces = false;
        while let Some((at, last)) = self.last_before(end).filter(|&(_, last)| start < end && last > start) {
            replaces = true;
            let Some((_, other)) = self.ranges.remove(&at) else { break };
            if last > end {
                self.ranges.insert(end, (last, other.clone()));
            }
            if at < start {
                self.ranges.insert(at, (start, other));
            }
        }
        if start < end {
            self.ranges.insert(start, (end, value));
        }
        replaces
    }

    /// Whether a function overlaps `start..end`.
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        self.last_before(end).is_some_and(|(_, last)| last > start)
    }

    fn last_before(&self, end: u64) -> Option<(u64, u64)> {
        self.ranges.range(..end).next_back().map(|(&at, &(last, _))| (at, last))
    }

    /// Start and value of the function at an address.
    pub fn find(&self, address: u64) -> Option<(u64, &V)> {
        let (&start, (end, value)) = self.ranges.range(..=address).next_back()?;
        (address < *end).then_some((start, value))
    }

    /// Start, end and value of all functions, by address.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u64, u64, &V)> {
        self.ranges.iter().map(|(&start, (end, value))| (start, *end, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_functions_replace_overlapping_ones() {
        let mut functions = FunctionRanges::default();
        let all = |functions: &FunctionRanges<char>| -> Vec<_> {
            functions.iter().map(|(start, end, &value)| (start, end, value)).collect()
        };
        assert!(!functions.insert(10, 30, 'a') && !functions.insert(40, 50, 'b') && functions.insert(15, 20, 'c'));
        assert_eq!(all(&functions), [(10, 15, 'a'), (15, 20, 'c'), (20, 30, 'a'), (40, 50, 'b')]);
        assert!(functions.insert(12, 45, 'd') && !functions.insert(60, 60, 'e'));
        assert_eq!(all(&functions), [(10, 12, 'a'), (12, 45, 'd'), (45, 50, 'b')]);
        let overlapped = [(0, 11), (49, 60), (0, 10), (50, 60)].map(|(start, end)| functions.overlaps(start, end));
        assert_eq!(overlapped, [true, true, false, false]);
        assert_eq!([9, 10, 44, 50].map(|at| functions.find(at)), [None, Some((10, &'a')), Some((12, &'d')), None]);
    }
}
