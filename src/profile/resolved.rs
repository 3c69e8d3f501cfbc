//! Stacks that have been resolved already, by what the samples told.

use super::stacks::StackId;
use crate::abi::record::CpuMode;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hash, Hasher};

/// All that decides what a sample's stack is: the same key gives the same stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// Which maps there were.
    pub generation: [u64; 4],
    /// Where the CPU was.
    pub ip: Option<u64>,
    /// In which mode it was.
    pub mode: CpuMode,
    /// The call chain as recorded.
    pub chain: &'a [u8],
}

/// The chain says most; where it is the same, the maps may differ, and where there is none, the address does.
impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.generation[0] ^ self.ip.unwrap_or(0).rotate_left(32));
        state.write(self.chain);
    }
}

/// A resolved stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Its number.
    pub stack: StackId,
    /// What the record is known by that its user frames come in, where they come apart.
    pub cookie: Option<u64>,
}

/// A key whose chain lies in the cache's own memory.
struct Slot {
    generation: [u64; 4],
    ip: Option<u64>,
    mode: CpuMode,
    start: usize,
    len: usize,
    resolved: Resolved,
}

impl Slot {
    fn key<'a>(&self, chains: &'a [u8]) -> Key<'a> {
        let Self { generation, ip, mode, start, len, .. } = *self;
        Key { generation, ip, mode, chain: &chains[start..start + len] }
    }
}

/// How many bytes of chains, and how many slots, are kept before the cache starts anew.
const CHAINS: usize = 24 << 20;
const SLOTS: usize = 1 << 18;

/// Remembers stacks. It forgets all when it is full: maps that are gone do not come back, nor do their keys.
#[derive(Default)]
pub struct ResolvedStacks {
    hasher: DefaultHashBuilder,
    slots: HashTable<Slot>,
    chains: Vec<u8>,
}

impl ResolvedStacks {
    /// The stack of a key, if it is remembered.
    #[inline]
    pub fn find(&self, key: &Key<'_>) -> Option<Resolved> {
        let slot = self.slots.find(self.hasher.hash_one(key), |slot| slot.key(&self.chains) == *key)?;
        Some(slot.resolved)
    }

    /// Remembers the stack of a key that is not there yet.
    pub fn insert(&mut self, key: &Key<'_>, resolved: Resolved) {
        if self.chains.len() + key.chain.len() > CHAINS || self.slots.len() >= SLOTS {
            self.chains.clear();
            self.slots.clear();
        }
        let Key { generation, ip, mode, chain } = *key;
        let slot = Slot { generation, ip, mode, start: self.chains.len(), len: chain.len(), resolved };
        self.chains.extend_from_slice(chain);
        let Self { hasher, slots, chains } = self;
        slots.insert_unique(hasher.hash_one(key), slot, |slot| hasher.hash_one(slot.key(chains)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_key_counts_and_a_full_cache_starts_anew() {
        let mut cache = ResolvedStacks::default();
        let key = Key { generation: [1, 2, 3, 0], ip: Some(4), mode: CpuMode::USER, chain: &[1, 2] };
        let resolved = Resolved { stack: 7, cookie: None };
        cache.insert(&key, resolved);
        assert_eq!(cache.find(&key), Some(resolved));
        let others = [
            Key { generation: [1, 2, 4, 0], ..key },
            Key { ip: None, ..key },
            Key { mode: CpuMode::KERNEL, ..key },
            Key { chain: &[1], ..key },
        ];
        assert!(others.iter().all(|other| cache.find(other).is_none()));
        let long = vec![0; CHAINS];
        cache.insert(&Key { chain: &long, ..key }, resolved);
        assert_eq!(cache.find(&key), None);
    }
}
