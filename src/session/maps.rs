//! The maps of one address space, by address.

use super::map::MapId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is mapped at each address. A new map takes the place of whatever was there: the kernel tells of no munmap.
#[derive(Debug, Default)]
pub struct Maps {
    /// Parts of maps that are visible, by their first address. They do not overlap.
    parts: BTreeMap<u64, Part>,
    /// What is at all other addresses: the maps at the time of a fork, which parent and child share.
    below: Option<Arc<Maps>>,
    /// How many there are below each other.
    depth: usize,
    generation: u64,
}

/// How deep maps may lie below each other before they are made one, so that they are found quickly.
const DEPTH: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    limit: u64,
    map: MapId,
}

impl Maps {
    /// The map at an address.
    #[inline]
    pub fn find(&self, address: u64) -> Option<MapId> {
        let part = self.parts.range(..=address).next_back().map(|(_, part)| part);
        match part.filter(|part| address < part.limit) {
            Some(part) => Some(part.map),
            None => self.below.as_ref()?.find(address),
        }
    }

    /// The same maps for a child: both share what there is now, and have their own of what comes.
    pub fn fork(&mut self) -> Self {
        if !self.parts.is_empty() {
            let mut now = std::mem::take(self);
            if now.depth >= DEPTH {
                now.flatten();
            }
            let (depth, generation) = (now.depth + 1, now.generation);
            *self = Self { parts: BTreeMap::new(), below: Some(Arc::new(now)), depth, generation };
        }
        Self { parts: BTreeMap::new(), below: self.below.clone(), ..*self }
    }

    /// Puts all maps into one table.
    fn flatten(&mut self) {
        let mut layers = Vec::new();
        let mut below = self.below.take();
        while let Some(layer) = below {
            below = layer.below.clone();
            layers.push(layer);
        }
        let own = std::mem::take(&mut self.parts);
        for (&start, part) in layers.iter().rev().flat_map(|layer| &layer.parts).chain(&own) {
            self.clear(start, part.limit);
            self.parts.insert(start, *part);
        }
        self.depth = 0;
    }

    /// Puts a map at `start..limit`.
    pub fn insert(&mut self, start: u64, limit: u64, map: MapId) {
        if self.parts.get(&start) == Some(&Part { limit, map }) {
            return;
        }
        self.remove(start, limit);
        self.parts.insert(start, Part { limit, map });
    }

    /// Takes away whatever is at `start..limit`; of maps that reach beyond, the rest stays. Not for maps that were forked.
    pub fn remove(&mut self, start: u64, limit: u64) {
        self.generation = next_generation();
        self.clear(start, limit);
    }

    fn clear(&mut self, start: u64, limit: u64) {
        if start >= limit {
            return;
        }
        if let Some((&first, &part)) = self.parts.range(..start).next_back()
            && part.limit > start
        {
            self.parts.insert(first, Part { limit: start, ..part });
            if part.limit > limit {
                self.parts.insert(limit, part);
            }
        }
        while let Some((&first, &part)) = self.parts.range(start..limit).next() {
            self.parts.remove(&first);
            if part.limit > limit {
                self.parts.insert(limit, part);
            }
        }
    }

    /// The same number means the same maps. An empty space that nothing was ever in has 0.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}

/// A number that was not used before.
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
    fn a_map_in_the_middle_splits_the_older_one() {
        let maps = maps(&[(10, 50), (20, 30)]);
        assert_eq!(
            at(&maps, &[9, 10, 19, 20, 29, 30, 49, 50]),
            [None, Some(0), Some(0), Some(1), Some(1), Some(0), Some(0), None]
        );
    }

    #[test]
    fn a_larger_map_covers_several() {
        let maps = maps(&[(10, 20), (20, 30), (40, 50), (15, 45)]);
        assert_eq!(
            at(&maps, &[10, 14, 15, 25, 35, 44, 45, 49]),
            [Some(0), Some(0), Some(3), Some(3), Some(3), Some(3), Some(2), Some(2)]
        );
    }

    #[test]
    fn removing_leaves_the_ends() {
        let mut maps = maps(&[(10, 50)]);
        let before = maps.generation();
        maps.remove(20, 30);
        assert_ne!(maps.generation(), before);
        assert_eq!(at(&maps, &[19, 20, 29, 30]), [Some(0), None, None, Some(0)]);
        maps.remove(0, u64::MAX);
        assert_eq!(at(&maps, &[10, 40]), [None, None]);
    }

    #[test]
    fn parent_and_child_go_on_from_the_same_maps() {
        let mut parent = maps(&[(10, 50)]);
        let mut child = parent.fork();
        assert_eq!(child.generation(), parent.generation());
        child.insert(20, 30, MapId(7));
        parent.insert(40, 60, MapId(8));
        assert_ne!(child.generation(), parent.generation());
        assert_eq!(at(&child, &[15, 20, 45, 55]), [Some(0), Some(7), Some(0), None]);
        assert_eq!(at(&parent, &[15, 20, 45, 55]), [Some(0), Some(0), Some(8), Some(8)]);
    }

    #[test]
    fn many_forks_find_what_one_table_would() {
        let (mut parent, mut naive) = (Maps::default(), [None; 512]);
        for generation in 0..100 {
            let start = generation * 37 % 400;
            parent.insert(start, start + 60, MapId(generation as u32));
            naive[start as usize..start as usize + 60].fill(Some(generation as u32));
            let child = parent.fork();
            assert!(child.depth <= DEPTH + 1);
            let addresses: Vec<u64> = (0..512).collect();
            assert_eq!(at(&child, &addresses), naive);
            assert_eq!(at(&parent, &addresses), naive);
        }
    }

    #[test]
    fn a_naive_table_agrees() {
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
