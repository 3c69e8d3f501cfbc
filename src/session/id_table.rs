//! Hash tables of IDs, whose keys are stored elsewhere.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hash};

/// IDs by the hash of their key. The hash is stored with the ID, so that growing reads no keys, and few keys are compared in vain:
/// in large tables each access to a key is one to memory.
#[derive(Clone, Debug, Default)]
pub struct IdTable {
    hasher: DefaultHashBuilder,
    table: HashTable<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: KeyHash,
    id: u32,
}

/// Hash of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash(u32);

impl KeyHash {
    /// The highest bits, of which hashbrown uses seven, depend on all bits.
    fn spread(self) -> u64 {
        u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl IdTable {
    /// The hash of a key.
    #[inline]
    pub fn hash(&self, key: impl Hash) -> KeyHash {
        KeyHash(self.hasher.hash_one(key) as u32)
    }

    /// The ID of a key. `is_same` compares the key of an ID with it.
    #[inline]
    pub fn find(&self, hash: KeyHash, is_same: impl Fn(u32) -> bool) -> Option<u32> {
        self.table.find(hash.spread(), |entry| entry.hash == hash && is_same(entry.id)).map(|entry| entry.id)
    }

    /// The ID of a key, which becomes `new` if it has none.
    #[inline]
    pub fn find_or_insert(&mut self, hash: KeyHash, new: u32, is_same: impl Fn(u32) -> bool) -> u32 {
        let is_same = |entry: &Entry| entry.hash == hash && is_same(entry.id);
        let entry = self.table.entry(hash.spread(), is_same, |entry| entry.hash.spread());
        entry.or_insert(Entry { hash, id: new }).get().id
    }

    /// Inserts the ID of a key that has none.
    pub fn insert(&mut self, hash: KeyHash, id: u32) {
        self.table.insert_unique(hash.spread(), Entry { hash, id }, |entry| entry.hash.spread());
    }

    /// Number of IDs.
    pub fn count(&self) -> usize {
        self.table.len()
    }

    /// Removes all IDs.
    pub fn clear(&mut self) {
        self.table.clear();
    }
}
