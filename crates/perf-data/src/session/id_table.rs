//! Hash tables of IDs, whose keys are stored elsewhere.

use hashbrown::DefaultHashBuilder;
use std::hash::{BuildHasher, Hash};
use std::hint::black_box;

/// IDs by the hash of their key, with open addressing and linear probing. In large tables most of the time is spent waiting for
/// memory: a slot has hash and ID, so that a lookup reads one place in memory, growing reads no keys, and few keys are compared in
/// vain. [`Self::load`] serves to wait for many lookups at once.
#[derive(Clone, Debug, Default)]
pub struct IdTable {
    hasher: DefaultHashBuilder,
    /// A power of two, or none. At least a quarter is free.
    slots: Vec<Slot>,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: KeyHash,
    id: u32,
}

/// The ID of free slots.
const FREE: u32 = u32::MAX;

/// Hash of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyHash(u32);

impl IdTable {
    /// The hash of a key.
    #[inline]
    pub fn hash(&self, key: impl Hash) -> KeyHash {
        KeyHash(self.hasher.hash_one(key) as u32)
    }

    /// Loads what lookups of keys with these hashes read into the CPU caches, many at the same time: the slots of the table, then what
    /// `read_key` reads of the key with an ID. It is also called with IDs that no key has.
    #[inline]
    pub fn load(&self, hashes: &[KeyHash], read_key: impl Fn(u32) -> u64) {
        // The sums are not used.
        black_box(hashes.iter().fold(0, |all, &hash| all ^ self.nearest(hash)));
        black_box(hashes.iter().fold(0, |all, &hash| all ^ read_key(self.nearest(hash))));
    }

    /// The ID that is probably that of the key with this hash, if it has one.
    #[inline]
    fn nearest(&self, hash: KeyHash) -> u32 {
        self.slots.get(hash.0 as usize & self.slots.len().wrapping_sub(1)).map_or(FREE, |slot| slot.id)
    }

    /// The ID of a key. `is_same` compares the key of an ID with it.
    #[inline]
    pub fn find(&self, hash: KeyHash, is_same: impl Fn(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[self.probe(hash, is_same)];
        (slot.id != FREE).then_some(slot.id)
    }

    /// The ID of a key, which becomes `new` if it has none.
    #[inline]
    pub fn find_or_insert(&mut self, hash: KeyHash, new: u32, is_same: impl Fn(u32) -> bool) -> u32 {
        self.reserve_one();
        let at = self.probe(hash, is_same);
        let slot = &mut self.slots[at];
        if slot.id == FREE {
            *slot = Slot { hash, id: new };
            self.count += 1;
        }
        slot.id
    }

    /// Inserts the ID of a key that has none.
    pub fn insert(&mut self, hash: KeyHash, id: u32) {
        self.find_or_insert(hash, id, |_| false);
    }

    /// The slot of a key, or the free one where it belongs.
    #[inline]
    fn probe(&self, hash: KeyHash, is_same: impl Fn(u32) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash.0 as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.id == FREE || slot.hash == hash && is_same(slot.id) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Grows the table if it has no room for another ID.
    #[inline]
    fn reserve_one(&mut self) {
        if self.count >= self.slots.len() / 4 * 3 {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![Slot { hash: KeyHash(0), id: FREE }; (self.slots.len() * 2).max(8)];
        for slot in std::mem::replace(&mut self.slots, larger) {
            if slot.id != FREE {
                let at = self.probe(slot.hash, |_| false);
                self.slots[at] = slot;
            }
        }
    }

    /// Number of IDs.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Removes all IDs.
    pub fn clear(&mut self) {
        self.slots.fill(Slot { hash: KeyHash(0), id: FREE });
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_distinguish_equal_hashes() {
        let mut table = IdTable::default();
        assert_eq!((table.find(KeyHash(5), |_| true), table.nearest(KeyHash(5))), (None, FREE));
        for id in 0..100 {
            assert_eq!(table.find_or_insert(KeyHash(5), id, |other| other == id), id);
            table.insert(KeyHash(id * 8), 1000 + id);
        }
        assert_eq!((table.count(), table.nearest(KeyHash(5))), (200, 0));
        for id in 0..100 {
            assert_eq!(table.find(KeyHash(5), |other| other == id), Some(id));
            assert_eq!(table.find_or_insert(KeyHash(id * 8), 7, |other| other == 1000 + id), 1000 + id);
        }
        assert_eq!(table.find(KeyHash(5), |_| false), None);
        table.clear();
        assert_eq!((table.count(), table.find(KeyHash(5), |_| true)), (0, None));
    }
}
