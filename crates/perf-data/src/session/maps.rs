//! The mappings of one address space.

use super::map::MapId;
use super::range_map::{RangeEntry, RangeMap};
use std::sync::atomic::{AtomicU64, Ordering};

/// Mappings by address. A new one replaces what it overlaps, because the kernel does not record munmap. Parent and child share
/// what neither has changed since the fork.
#[derive(Clone, Debug, Default)]
pub struct Maps {
    parts: RangeMap<MapId>,
    generation: u64,
}

impl Maps {
    /// The mapping at an address.
    #[inline]
    pub fn find(&self, address: u64) -> Option<MapId> {
        self.parts.find(address).map(|part| part.value)
    }

    /// Inserts a mapping at `start..limit`.
    pub fn insert(&mut self, start: u64, limit: u64, map: MapId) {
        let new = RangeEntry { start, last: limit.saturating_sub(1), value: map };
        // The same mapping again: the generation, by which views are cached, need not change.
        if self.parts.at_or_before(start) == Some(new) {
            return;
        }
        self.generation = next_generation();
        if start < limit {
            self.parts.insert(start, new.last, map);
        }
    }

    /// Removes what is mapped at `start..limit`; mappings that extend beyond are split.
    pub fn remove(&mut self, start: u64, limit: u64) {
        self.generation = next_generation();
        if start < limit {
            self.parts.clear(start, limit - 1);
        }
    }

    /// Equal numbers mean equal mappings. An address space that has never had any has 0.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// A number never used before.
fn next_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maps(inserted: &[(u64, u64)]) -> Maps {
        let mut maps = Maps::default();
        for (index, &(start, limit)) in inserted.iter().enumerate() {
            maps.insert(start, limit, MapId(index as u32));
        }
        maps
    }

    fn at(maps: &Maps, addresses: &[u64]) -> Vec<Option<u32>> {
        addresses.iter().map(|&address| maps.find(address).map(|id| id.0)).collect()
    }

    #[test]
    fn a_new_mapping_splits_an_older_one() {
        let maps = maps(&[(10, 50), (20, 30)]);
        assert_eq!(
            at(&maps, &[9, 10, 19, 20, 29, 30, 49, 50]),
            [None, Some(0), Some(0), Some(1), Some(1), Some(0), Some(0), None]
        );
    }

    #[test]
    fn a_new_mapping_can_cover_several() {
        let maps = maps(&[(10, 20), (20, 30), (40, 50), (15, 45)]);
        assert_eq!(
            at(&maps, &[10, 14, 15, 25, 35, 44, 45, 49]),
            [Some(0), Some(0), Some(3), Some(3), Some(3), Some(3), Some(2), Some(2)]
        );
    }

    #[test]
    fn removal_splits_a_mapping() {
        let mut maps = maps(&[(10, 50)]);
        let before = maps.generation();
        maps.remove(20, 30);
        assert_ne!(maps.generation(), before);
        assert_eq!(at(&maps, &[19, 20, 29, 30]), [Some(0), None, None, Some(0)]);
        maps.remove(0, u64::MAX);
        assert_eq!(at(&maps, &[10, 40]), [None, None]);
    }

    #[test]
    fn parent_and_child_diverge_after_the_fork() {
        let mut parent = maps(&[(10, 50)]);
        let mut child = parent.clone();
        assert_eq!(child.generation(), parent.generation());
        child.insert(20, 30, MapId(7));
        parent.insert(40, 60, MapId(8));
        assert_ne!(child.generation(), parent.generation());
        assert_eq!(at(&child, &[15, 20, 45, 55]), [Some(0), Some(7), Some(0), None]);
        assert_eq!(at(&parent, &[15, 20, 45, 55]), [Some(0), Some(0), Some(8), Some(8)]);
    }

    #[test]
    fn each_generation_of_forks_keeps_its_mappings() {
        let mut generations = vec![Maps::default()];
        let mut naive = vec![[None; 512]];
        for generation in 0..200 {
            let (mut child, mut table) = (generations[generation].clone(), naive[generation]);
            let start = generation * 37 % 400;
            child.insert(start as u64, start as u64 + 60, MapId(generation as u32));
            table[start..start + 60].fill(Some(generation as u32));
            generations.push(child);
            naive.push(table);
        }
        let addresses: Vec<u64> = (0..512).collect();
        for (maps, naive) in generations.iter().zip(&naive) {
            assert_eq!(at(maps, &addresses), naive);
        }
    }

    #[test]
    fn replacing_many_shared_mappings_is_fast() {
        let inserted: Vec<_> = (0..40_000).map(|number| (number * 16, number * 16 + 16)).collect();
        let parent = maps(&inserted);
        for number in 0..20_000 {
            let mut child = parent.clone();
            child.insert(8, 500_000, MapId(number));
            assert_eq!(at(&child, &[7, 8, 499_999, 500_000]), [Some(0), Some(number), Some(number), Some(31_250)]);
        }
        assert_eq!(at(&parent, &[8, 499_999]), [Some(0), Some(31_249)]);
    }

    #[test]
    fn matches_a_naive_table() {
        proptest::proptest!(|(ops: Vec<(u8, u8, bool)>)| {
            let mut maps = Maps::default();
            let mut naive = [None; 256];
            for (index, (a, b, insert)) in ops.into_iter().enumerate() {
                let (start, limit) = (a.min(b), a.max(b));
                let map = MapId(index as u32);
                if insert && start < limit {
                    maps.insert(start.into(), limit.into(), map);
                } else {
                    maps.remove(start.into(), limit.into());
                }
                naive[start as usize..limit as usize].fill(insert.then_some(map));
            }
            for (address, expected) in naive.into_iter().enumerate() {
                assert_eq!(maps.find(address as u64), expected);
            }
        });
    }
}
