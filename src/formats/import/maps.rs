//! What is mapped in a process at a moment.

use super::told::ToldMapping;
use std::collections::BTreeMap;

/// What is mapped in a process: maps by their numbers, later ones over earlier ones.
#[derive(Debug, Default)]
pub struct ProcessMaps {
    /// By first address: one past the last, and the number.
    pieces: BTreeMap<u64, (u64, u32)>,
}

impl ProcessMaps {
    /// Whether that map is what is at an address.
    pub fn has(&self, address: u64, map: u32) -> bool {
        let piece = self.pieces.range(..=address).next_back();
        piece.is_some_and(|(_, &(end, number))| address < end && number == map)
    }

    /// Maps it, over what is there.
    pub fn map(&mut self, number: u32, map: &ToldMapping) {
        let (start, limit) = (map.start, map.limit);
        let overlapped = self.pieces.range(..limit).rev().take_while(|(_, (end, _))| *end > start);
        let overlapped: Vec<_> = overlapped.map(|(&first, &(end, number))| (first, end, number)).collect();
        for (first, end, number) in overlapped {
            self.pieces.remove(&first);
            if first < start {
                self.pieces.insert(first, (start, number));
            }
            if end > limit {
                self.pieces.insert(limit, (end, number));
            }
        }
        self.pieces.insert(start, (limit, number));
    }
}

/// Which maps have addresses that others have too.
pub fn overlapping(maps: &[ToldMapping]) -> Vec<bool> {
    let mut order: Vec<_> = (0..maps.len()).filter(|&map| maps[map].start < maps[map].limit).collect();
    order.sort_by_key(|&map| (maps[map].start, maps[map].limit));
    let mut overlap = vec![false; maps.len()];
    let mut furthest: Option<usize> = None;
    for map in order {
        if let Some(before) = furthest.filter(|&before| maps[before].limit > maps[map].start) {
            (overlap[before], overlap[map]) = (true, true);
        }
        if furthest.is_none_or(|before| maps[before].limit < maps[map].limit) {
            furthest = Some(map);
        }
    }
    overlap
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(start: u64, limit: u64) -> ToldMapping {
        ToldMapping { start, limit, ..ToldMapping::default() }
    }

    #[test]
    fn later_maps_are_over_earlier_ones() {
        let mut maps = ProcessMaps::default();
        maps.map(0, &map(0x1000, 0x5000));
        maps.map(1, &map(0x2000, 0x3000));
        let found: Vec<_> = [0x1000, 0x2000, 0x2fff, 0x3000, 0x4fff].map(|at| maps.has(at, 0)).into();
        assert_eq!(found, [true, false, false, true, true]);
        assert!(maps.has(0x2fff, 1) && !maps.has(0x5000, 0) && !maps.has(0xfff, 0));
        maps.map(2, &map(0, 0x10000));
        assert!(maps.has(0x2000, 2) && !maps.has(0x1000, 0));
    }

    #[test]
    fn maps_that_overlap_are_found() {
        let maps = [map(0, 10), map(10, 20), map(15, 16), map(30, 40), map(5, 5)];
        assert_eq!(overlapping(&maps), [false, true, true, false, false]);
    }
}
