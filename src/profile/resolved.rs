//! Stacks that have been resolved already, by what the samples told.

use super::stacks::StackId;
use crate::abi::record::CpuMode;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hasher};

/// All that decides what a sample's stack is: the same key gives the same stack.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a, const N: usize> {
    /// Which maps there were.
    pub view: [u64; N],
    /// Where the CPU was.
    pub ip: Option<u64>,
    /// In which mode it was.
    pub mode: CpuMode,
    /// The call chain as recorded.
    pub chain: &'a [[u8; 8]],
}

impl<const N: usize> Key<'_, N> {
    #[inline]
    fn chain(&self) -> impl ExactSizeIterator<Item = u64> {
        self.chain.iter().map(|word| u64::from_ne_bytes(*word))
    }

    /// What tells keys apart, but for the view and the chain.
    #[inline]
    fn head(&self) -> [u64; 2] {
        let mode = u64::from(self.mode.0) << 1 | u64::from(self.ip.is_some());
        [(self.chain.len() as u64) << 32 | mode, self.ip.unwrap_or(0)]
    }

    /// Whether an entry is of this key.
    #[inline]
    fn is_of(&self, entry: &[u64]) -> bool {
        let [a, b] = self.head();
        let Some((&[_, head, ip], entry)) = entry.split_first_chunk() else { return false };
        let Some((view, entry)) = entry.split_first_chunk() else { return false };
        let Some(chain) = entry.get(..self.chain.len()) else { return false };
        (head, ip) == (a, b) && *view == self.view && self.chain().eq(chain.iter().copied())
    }
}

/// How many words of entries there are, and how many entries, before the cache starts anew.
const WORDS: usize = 3 << 20;
const ENTRIES: usize = 1 << 18;

/// Remembers stacks, by `N` numbers of what was mapped. It forgets all when it is full: maps that are gone do not come
/// back, nor do their keys.
pub struct ResolvedStacks<const N: usize> {
    hasher: DefaultHashBuilder,
    /// Where each entry begins.
    table: HashTable<u32>,
    /// One entry behind the other: the stack, the head of its key, the view, the chain. All of one is in one place, since
    /// most of the time that a look-up takes is waiting for memory.
    entries: Vec<u64>,
}

impl<const N: usize> Default for ResolvedStacks<N> {
    fn default() -> Self {
        Self { hasher: <_>::default(), table: HashTable::new(), entries: Vec::new() }
    }
}

impl<const N: usize> ResolvedStacks<N> {
    /// The stack of a key, if it is remembered.
    #[inline]
    pub fn find(&self, key: &Key<'_, N>) -> Option<StackId> {
        let at =
            self.table.find(hash(&self.hasher, key.view.into_iter(), key.ip.unwrap_or(0), key.chain()), |&at| {
                key.is_of(&self.entries[at as usize..])
            })?;
        Some(self.entries[*at as usize] as StackId)
    }

    /// Remembers the stack of a key that is not there yet.
    pub fn insert(&mut self, key: &Key<'_, N>, stack: StackId) {
        if self.entries.len() + key.chain.len() > WORDS || self.table.len() >= ENTRIES {
            self.entries.clear();
            self.table.clear();
        }
        let Self { hasher, table, entries } = self;
        let at = entries.len() as u32;
        entries.push(stack.into());
        entries.extend(key.head());
        entries.extend(key.view);
        entries.extend(key.chain());
        let hash_of = |&at: &u32| {
            let entry = &entries[at as usize..];
            let (view, len) = (&entry[3..3 + N], (entry[1] >> 32) as usize);
            hash(hasher, view.iter().copied(), entry[2], entry[3 + N..][..len].iter().copied())
        };
        table.insert_unique(hash_of(&at), at, hash_of);
    }
}

#[inline]
fn hash(
    hasher: &DefaultHashBuilder,
    view: impl Iterator<Item = u64>,
    ip: u64,
    chain: impl Iterator<Item = u64>,
) -> u64 {
    let mut state = hasher.build_hasher();
    view.for_each(|word| state.write_u64(word));
    state.write_u64(ip);
    chain.for_each(|word| state.write_u64(word));
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_key_counts_and_a_full_cache_starts_anew() {
        let mut cache = ResolvedStacks::default();
        let key = Key { view: [1, 3], ip: Some(0), mode: CpuMode::USER, chain: &[[1; 8], [2; 8]] };
        let others = [
            Key { view: [1, 4], ..key },
            Key { view: [2, 3], ..key },
            Key { ip: None, ..key },
            Key { ip: Some(5), ..key },
            Key { mode: CpuMode::KERNEL, ..key },
            Key { chain: &[[1; 8]], ..key },
            Key { chain: &[[1; 8], [3; 8]], ..key },
        ];
        cache.insert(&key, 7);
        assert_eq!(cache.find(&key), Some(7));
        assert!(others.iter().all(|other| cache.find(other).is_none()));
        others.iter().zip(8..).for_each(|(other, stack)| cache.insert(other, stack));
        assert!(others.iter().zip(8..).all(|(other, stack)| cache.find(other) == Some(stack)));
        assert_eq!(cache.find(&key), Some(7));
        let long = vec![[0; 8]; WORDS];
        cache.insert(&Key { chain: &long, ..key }, 20);
        assert_eq!(cache.find(&key), None);
    }

    #[test]
    fn it_remembers_as_it_grows() {
        let mut cache = ResolvedStacks::default();
        let chains: Vec<_> = (0..3000_u64).map(|n| vec![n.to_ne_bytes(); n as usize % 5]).collect();
        let key = |n: usize| Key { view: [0], ip: Some(n as u64), mode: CpuMode::USER, chain: &chains[n] };
        (0..3000).for_each(|n| cache.insert(&key(n), n as StackId));
        assert!((0..3000).all(|n| cache.find(&key(n)) == Some(n as StackId)));
    }
}
