//! Ranges that overlap, as ranges that do not.

use super::binary::PairCounts;
use std::collections::BTreeMap;

/// Splits ranges at the start of each and after the end of each. The count of a part is the sum of the ranges over it. Parts over
/// which no range was counted are there only where a range with the count 0 is.
pub(super) fn disjoint(ranges: &PairCounts) -> Vec<((u64, u64), u64)> {
    /// What changes at an address.
    #[derive(Default)]
    struct Change {
        begun: u64,
        ended: u64,
        /// Ranges that begin, less those that end.
        ranges: i64,
    }
    let mut changes: BTreeMap<u64, Change> = BTreeMap::new();
    for (&(start, end), &count) in ranges {
        let Some(after) = end.checked_add(1).filter(|&after| start < after) else { continue };
        let change = changes.entry(start).or_default();
        (change.begun, change.ranges) = (change.begun.saturating_add(count), change.ranges + 1);
        let change = changes.entry(after).or_default();
        (change.ended, change.ranges) = (change.ended.saturating_add(count), change.ranges - 1);
    }
    let (mut parts, mut open) = (Vec::new(), None);
    let (mut count, mut depth) = (0_u64, 0);
    for (address, change) in changes {
        if let Some(start) = open.take().filter(|_| depth > 0) {
            parts.push(((start, address - 1), count));
        }
        count = count.saturating_add(change.begun).saturating_sub(change.ended);
        depth += change.ranges;
        open = Some(address);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_are_split() {
        let ranges = PairCounts::from([((0, 99), 0), ((10, 20), 5), ((15, 30), 2), ((31, 31), 1), ((200, 210), 3)]);
        let parts =
            [((0, 9), 0), ((10, 14), 5), ((15, 20), 7), ((21, 30), 2), ((31, 31), 1), ((32, 99), 0), ((200, 210), 3)];
        assert_eq!(disjoint(&ranges), parts);
        assert!(disjoint(&PairCounts::from([((5, 4), 1), ((0, u64::MAX), 1)])).is_empty());
    }
}
