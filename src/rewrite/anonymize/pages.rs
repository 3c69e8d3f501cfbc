//! Permutes the pages of an address space: everything that was ever mapped moves as a block, all other pages individually.
//!
//! The permutation does not depend on time or process: an address always has the same replacement. Overlapping mappings, whether
//! in one process over time or in different ones, move together. All pages of a region are permuted, so no two addresses collide
//! and no unmapped address becomes mapped.

use super::key::Key;
use super::permutation::Permutation;
use perf_data::session::map::PAGE;
use std::collections::BTreeMap;

/// The last page, which contains the context markers of call chains; it is not moved.
const LAST: u64 = u64::MAX / PAGE;

/// First pages of regions, which are permuted separately: the page of null pointers; halves of 32-bit machines, wherever the
/// kernel starts; the rest of 32-bit programs; user spaces; kernels, and where x86-64 has its kernel and modules.
const CUTS: [u64; 9] =
    [0, 1, 1 << 19, 0xc_0000, 1 << 20, 1 << 35, 1 << 51, 0xffff_8000_0000_0000 / PAGE, 0xffff_ffff_8000_0000 / PAGE];

/// Number of ranges collected before overlapping ones are merged.
const MANY: usize = 1 << 18;

/// How many positions are tried before falling back to packing: when so many are taken, the region is almost full.
const TRIES: usize = 64;

/// Number of cached pages.
const CACHED_PAGES: usize = 1 << 12;

/// The pages that are mapped at any time.
#[derive(Debug, Default)]
pub(crate) struct Extents {
    /// First page, and end (exclusive), of each range.
    list: Vec<(u64, u64)>,
    /// List length at which ranges are merged next.
    room: usize,
}

impl Extents {
    /// Adds a mapping.
    pub(crate) fn add(&mut self, start: u64, len: u64) {
        let Some(last) = len.checked_sub(1) else { return };
        let (first, end) = (start / PAGE, (start.saturating_add(last) / PAGE + 1).min(LAST));
        if first >= end || self.list.last() == Some(&(first, end)) {
            return;
        }
        self.list.push((first, end));
        if self.list.len() >= self.room.max(MANY) {
            self.merge();
            self.room = 2 * self.list.len();
        }
    }

    /// Merges overlapping ranges, but not adjacent ones.
    fn merge(&mut self) {
        self.list.sort_unstable();
        self.list.dedup_by(|(first, end), (_, before)| {
            let is_within = *first < *before;
            if is_within {
                *before = (*before).max(*end);
            }
            is_within
        });
    }
}

/// A keyed permutation of the pages of an address space.
#[derive(Debug)]
pub(crate) struct Pages {
    regions: Vec<Region>,
    cached: Vec<(u64, u64)>,
}

impl Pages {
    /// Creates the permutation of a space.
    pub(crate) fn new(key: &Key, space: &'static str, mut extents: Extents) -> Self {
        extents.merge();
        let list = extents.list;
        let is_crossed = |cut: u64| {
            let after = list.partition_point(|&(first, _)| first < cut);
            after > 0 && list[after - 1].1 > cut
        };
        let cuts: Vec<_> = CUTS.into_iter().filter(|&cut| !is_crossed(cut)).collect();
        let ends = cuts.iter().skip(1).copied().chain([LAST]);
        let mut rest = &list[..];
        let regions = cuts.iter().zip(ends).map(|(&from, end)| {
            let (inside, after) = rest.split_at(rest.partition_point(|&(first, _)| first < end));
            rest = after;
            Region::new(key, space, from, end, inside)
        });
        // An empty entry: the last page is never looked up.
        Self { regions: regions.collect(), cached: vec![(LAST, LAST); CACHED_PAGES] }
    }

    /// Whether an address is mapped.
    pub(crate) fn is_mapped(&self, address: u64) -> bool {
        let page = address / PAGE;
        self.region(page).is_some_and(|region| region.block(page).is_some())
    }

    /// The replacement of an address.
    #[inline]
    pub(crate) fn replace(&mut self, address: u64) -> u64 {
        let page = address / PAGE;
        // Includes higher bits: the starts of mappings often have the same low bits.
        let at = (page ^ page >> 20) as usize % CACHED_PAGES;
        let (cached_page, to) = self.cached[at];
        if cached_page == page && page != LAST {
            return to * PAGE + address % PAGE;
        }
        let Some(region) = self.region(page) else { return address };
        let to = region.replace_page(page);
        self.cached[at] = (page, to);
        to * PAGE + address % PAGE
    }

    fn region(&self, page: u64) -> Option<&Region> {
        self.regions.get(self.regions.partition_point(|region| region.end <= page)).filter(|_| page < LAST)
    }
}

/// Pages that are permuted among themselves.
#[derive(Debug)]
struct Region {
    from: u64,
    end: u64,
    /// The mapped blocks, sorted by first page.
    blocks: Vec<Block>,
    /// Targets of blocks: first page, and the number of block pages before it and up to its end.
    targets: Vec<(u64, u64, u64)>,
    /// The permutation of the unmapped pages.
    others: Permutation,
}

/// Pages that move together.
#[derive(Clone, Copy, Debug)]
struct Block {
    first: u64,
    end: u64,
    to: u64,
    /// Number of block pages before it in its region.
    before: u64,
}

impl Region {
    fn new(key: &Key, space: &'static str, from: u64, end: u64, list: &[(u64, u64)]) -> Self {
        let to = scattered(key, space, from, end, list).unwrap_or_else(|| packed(key, space, from, end, list));
        let mut blocks = Vec::with_capacity(list.len());
        let mut mapped = 0;
        for (&(first, end), to) in list.iter().zip(to) {
            blocks.push(Block { first, end, to, before: mapped });
            mapped += end - first;
        }
        let mut targets: Vec<_> = blocks.iter().map(|block| (block.to, 0, block.end - block.first)).collect();
        targets.sort_unstable();
        let mut before = 0;
        for (_, sum, len) in &mut targets {
            *sum = before;
            before += *len;
            *len = before;
        }
        Self { from, end, blocks, targets, others: Permutation::new(key, space, from, end - from - mapped) }
    }

    fn block(&self, page: u64) -> Option<&Block> {
        let after = self.blocks.partition_point(|block| block.first <= page);
        self.blocks[..after].last().filter(|block| page < block.end)
    }

    fn replace_page(&self, page: u64) -> u64 {
        if let Some(block) = self.block(page) {
            return block.to + (page - block.first);
        }
        let after = self.blocks.partition_point(|block| block.first <= page);
        let before = self.blocks[..after].last().map_or(0, |block| block.before + block.end - block.first);
        // The nth unmapped page moves to the mth one.
        let number = self.others.permute(page - self.from - before);
        let blocks_before = self.targets.partition_point(|&(to, sum, _)| to - self.from - sum <= number);
        let skipped = self.targets[..blocks_before].last().map_or(0, |&(_, _, with)| with);
        self.from + number + skipped
    }
}

/// Targets of blocks that depend only on their own addresses, or follow a colliding block, so that equal mappings of two
/// recordings have equal targets. `None` if the region is too full.
fn scattered(key: &Key, space: &str, from: u64, end: u64, list: &[(u64, u64)]) -> Option<Vec<u64>> {
    // Large blocks first: they are the hardest to fit.
    let mut order: Vec<_> = (0..list.len()).collect();
    order.sort_by_key(|&index| (u64::MAX - (list[index].1 - list[index].0), list[index].0));
    let (mut used, mut to) = (BTreeMap::new(), vec![0; list.len()]);
    for index in order {
        let (first, after) = list[index];
        let len = after - first;
        let mut at = from + key.number(space, &[first]) % (end - from - len + 1);
        let free = (0..TRIES).find(|_| {
            let before: Option<(&u64, &u64)> = used.range(..at + len).next_back();
            match before.filter(|&(_, &end)| end > at) {
                None => true,
                Some((_, &next)) => {
                    at = if next + len <= end { next } else { from };
                    false
                }
            }
        });
        free?;
        used.insert(at, at + len);
        to[index] = at;
    }
    Some(to)
}

/// Targets of blocks in a full region: shuffled, with the unmapped pages distributed between them.
fn packed(key: &Key, space: &str, from: u64, end: u64, list: &[(u64, u64)]) -> Vec<u64> {
    let mapped: u64 = list.iter().map(|(first, end)| end - first).sum();
    let left = end - from - mapped;
    let mut order: Vec<_> = (0..list.len()).collect();
    order.sort_by_key(|&index| key.number(space, &[list[index].0, 1]));
    let mut gaps: Vec<_> = list.iter().map(|(first, _)| key.number(space, &[*first, 2]) % (left + 1)).collect();
    gaps.sort_unstable();
    let (mut to, mut before) = (vec![0; list.len()], 0);
    for (index, gap) in order.into_iter().zip(gaps) {
        to[index] = from + gap + before;
        before += list[index].1 - list[index].0;
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn pages(maps: &[(u64, u64)]) -> Pages {
        let mut extents = Extents::default();
        maps.iter().for_each(|&(start, len)| extents.add(start, len));
        Pages::new(&Key::new(&[3; 16]).unwrap(), "test", extents)
    }

    #[test]
    fn a_mapping_moves_as_a_block_within_its_half() {
        let maps = [(0x40_0000, 0x3000), (0x7f00_1234_5000, 0x20_0000), (0xffff_ffff_8100_0000, 0x200_0000)];
        let mut pages = pages(&maps);
        for (start, len) in maps {
            let to = pages.replace(start);
            assert_ne!(to, start);
            assert_eq!(pages.replace(start + len - 1), to + len - 1);
            assert_eq!((to >> 63, to >> 32 == 0, to % PAGE), (start >> 63, start >> 32 == 0, start % PAGE));
            assert!(pages.is_mapped(start + len - 1) && !pages.is_mapped(start + len));
        }
        assert_eq!(
            [0, 0x10, u64::MAX, 0xffff_ffff_ffff_fe00].map(|address| pages.replace(address)),
            [0, 0x10, u64::MAX, 0xffff_ffff_ffff_fe00]
        );
        let stack = 0x7ffc_0000_0010;
        assert_ne!(pages.replace(stack), stack);
        assert_eq!(pages.replace(stack), pages.replace(stack));
        assert_eq!(pages.replace(stack) % PAGE, 0x10);
    }

    #[test]
    fn is_injective_even_in_a_full_region() {
        // All but two of the 2^19 - 1 pages of the lowest region are mapped, in pieces of one and of many pages.
        let small = (1..1 << 12).filter(|page| page % 1000 != 7 || *page > 2000).map(|page| (page * PAGE, 1));
        let large = (1 << 3..1 << 10).map(|piece| (piece << 9) * PAGE).map(|start| (start, PAGE << 9));
        let maps: Vec<_> = small.chain(large).collect();
        for maps in [&maps[..], &maps[..1000], &[(PAGE, (1 << 31) - PAGE)], &[(0, 1 << 33)], &[(0, u64::MAX)]] {
            let pages = pages(maps);
            let some = (1..1 << 19).step_by(611);
            let all: HashSet<_> = some.clone().map(|page| pages.region(page).unwrap().replace_page(page)).collect();
            assert_eq!(all.len(), some.count());
            let is_confined = maps.len() > 1 || maps[0].1 < 1 << 32;
            assert!(!is_confined || all.iter().all(|&page| page < 1 << 19));
        }
    }

    #[test]
    fn overlapping_mappings_move_together_and_adjacent_ones_do_not() {
        let mut pages = pages(&[(0x1_0000, 0x2000), (0x1_1000, 0x3000), (0x1_4000, 0x1000)]);
        let to = pages.replace(0x1_0000);
        assert_eq!(pages.replace(0x1_3fff), to + 0x3fff);
        assert_ne!(pages.replace(0x1_4000), to + 0x4000);
    }

    #[test]
    fn equal_mappings_of_two_recordings_have_equal_targets() {
        let [mut one, mut other] =
            [&[(0x7f00_1234_5000, 0x2000)][..], &[(0x7f00_1234_5000, 0x2000), (0x7e00_0000_0000, 0x8000)]].map(pages);
        assert_eq!(one.replace(0x7f00_1234_5678), other.replace(0x7f00_1234_5678));
    }
}
