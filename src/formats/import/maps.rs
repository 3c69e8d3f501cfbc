//! Maps of a process, and allocation of unmapped addresses.

use super::source::SourceMapping;
use perf_data::session::map::PAGE;
use perf_data::session::range_map::RangeMap;

/// Maps of a process by number; later ones replace earlier ones.
#[derive(Debug, Default)]
pub(super) struct ProcessMaps(RangeMap<u32>);

impl ProcessMaps {
    /// Whether this map is the one at an address.
    pub(super) fn has(&self, address: u64, map: u32) -> bool {
        self.0.find(address).is_some_and(|part| part.value == map)
    }

    /// Adds a map, replacing the parts of others that it overlaps.
    pub(super) fn map(&mut self, number: u32, map: &SourceMapping) {
        if map.start < map.limit {
            self.0.insert(map.start, map.limit - 1, number);
        }
    }
}

/// A range of unmapped user addresses, allocated from its start.
#[derive(Clone, Debug)]
pub(crate) struct UnmappedRange {
    next: u64,
    end: u64,
}

impl UnmappedRange {
    /// A start above the addresses that programs normally use.
    const FIRST: u64 = 0x10_0000_0000;
    /// End of the user space common to all 64-bit machines.
    const END: u64 = 1 << 38;

    /// The largest range between these maps, minus a page before the next map.
    pub(crate) fn between(maps: &[SourceMapping]) -> Self {
        let mut used: Vec<_> =
            maps.iter().map(|map| (map.start, map.limit)).filter(|(start, end)| start < end).collect();
        used.sort_unstable();
        let (mut next, mut largest) = (Self::FIRST, Self { next: Self::FIRST, end: Self::FIRST });
        for (start, limit) in used.into_iter().chain([(Self::END, Self::END)]) {
            let end = start.min(Self::END).saturating_sub(PAGE);
            if end.saturating_sub(next) > largest.end - largest.next {
                largest = Self { next, end };
            }
            next = next.max(limit.checked_next_multiple_of(PAGE).unwrap_or(Self::END));
        }
        largest
    }

    /// Allocates `len` bytes and returns the first address; without enough room, returns one that is not free.
    pub(crate) fn take(&mut self, len: u64) -> u64 {
        let end = self.next.checked_add(len).and_then(|end| end.checked_next_multiple_of(PAGE));
        match end.filter(|&end| end <= self.end) {
            Some(end) => std::mem::replace(&mut self.next, end),
            None => Self::FIRST,
        }
    }
}

/// Which maps overlap others.
pub(super) fn overlapping(maps: &[SourceMapping]) -> Vec<bool> {
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

    fn map(start: u64, limit: u64) -> SourceMapping {
        SourceMapping { start, limit, ..SourceMapping::default() }
    }

    #[test]
    fn later_maps_replace_earlier_ones() {
        let mut maps = ProcessMaps::default();
        maps.map(0, &map(0x1000, 0x5000));
        maps.map(1, &map(0x2000, 0x3000));
        let hits: Vec<_> = [0x1000, 0x2000, 0x2fff, 0x3000, 0x4fff].map(|at| maps.has(at, 0)).into();
        assert_eq!(hits, [true, false, false, true, true]);
        assert!(maps.has(0x2fff, 1) && !maps.has(0x5000, 0) && !maps.has(0xfff, 0));
        maps.map(2, &map(0, 0x10000));
        assert!(maps.has(0x2000, 2) && !maps.has(0x1000, 0));
    }

    #[test]
    fn allocates_unmapped_addresses() {
        let (first, end) = (UnmappedRange::FIRST, UnmappedRange::END);
        assert_eq!(UnmappedRange::between(&[]).take(1), first);
        let maps = [map(end - 0x5000, u64::MAX), map(first - 10, first + 0x1001), map(first + 0x9000, first + 0xa000)];
        let mut range = UnmappedRange::between(&maps);
        let used: Vec<_> = [1, 0x1000, 0, 0x2001, 1, u64::MAX].map(|len| range.take(len) - first).into();
        assert_eq!(used, [0xa000, 0xb000, 0xc000, 0xc000, 0xf000, 0]);
        let rest = end - 0x6000 - first - 0x1_0000;
        assert_eq!([range.take(rest + 1), range.take(rest), range.take(1)], [first, first + 0x1_0000, first]);
        assert_eq!(UnmappedRange::between(&[map(0, end)]).take(1), first);
    }

    #[test]
    fn finds_overlapping_maps() {
        let maps = [map(0, 10), map(10, 20), map(15, 16), map(30, 40), map(5, 5)];
        assert_eq!(overlapping(&maps), [false, true, true, false, false]);
    }
}
