//! Stacks that have been resolved already, by what the samples told; and how many samples were of each.

use super::stacks::StackId;
use crate::abi::record::CpuMode;
use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hasher};

/// A word of an entry, in the order of the machine's bytes, or as it stands in the record where it is never reckoned with.
type Word = [u8; 8];

/// All that decides what a sample's stack is: the same key gives the same stack.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a, const N: usize> {
    /// Which maps there were, and what else samples are told apart by.
    pub view: [u64; N],
    /// Where the CPU was.
    pub ip: Option<u64>,
    /// In which mode it was.
    pub mode: CpuMode,
    /// The call chain as recorded.
    pub chain: &'a [[u8; 8]],
}

impl<const N: usize> Key<'_, N> {
    /// What tells keys apart, but for the view and the chain.
    #[inline]
    fn head(&self) -> [Word; 2] {
        let mode = u64::from(self.mode.0) << 1 | u64::from(self.ip.is_some());
        [((self.chain.len() as u64) << 32 | mode).to_ne_bytes(), self.ip.unwrap_or(0).to_ne_bytes()]
    }

    /// Whether an entry is of this key.
    #[inline]
    fn is_of(&self, entry: &[Word]) -> bool {
        let Some((head, rest)) = entry.get(COUNTS..).and_then(<[_]>::split_first_chunk) else { return false };
        let Some((view, rest)) = rest.split_first_chunk::<N>() else { return false };
        let is_same_view = view.iter().zip(self.view).all(|(&word, number)| word == number.to_ne_bytes());
        // What follows a shorter chain is another entry: the length is in the head.
        let Some(chain) = rest.get(..self.chain.len()) else { return false };
        *head == self.head() && is_same_view && self.chain.as_flattened() == chain.as_flattened()
    }
}

/// An entry begins with its stack and what was counted of it: samples, and their values.
const COUNTS: usize = 3;

/// How many words of entries there are, and how many entries, before the cache starts anew.
const WORDS: usize = 4 << 20;
const ENTRIES: usize = 1 << 18;

/// Remembers stacks, by `N` numbers of what was mapped, and counts samples of them. It forgets all when it is full: maps
/// that are gone do not come back, nor do their keys.
pub struct ResolvedStacks<const N: usize> {
    hasher: DefaultHashBuilder,
    /// Where each entry begins.
    table: HashTable<u32>,
    /// One entry behind the other: the stack, its counts, the head of its key, the view, the chain. All of one is in one
    /// place, since most of the time that a look-up takes is waiting for memory.
    entries: Vec<Word>,
}

/// A stack that is remembered.
#[derive(Clone, Copy, Debug)]
pub struct Remembered {
    /// The stack.
    pub stack: StackId,
    at: u32,
}

/// What was counted of a stack that was remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<const N: usize> {
    /// The stack.
    pub stack: StackId,
    /// The view of its key.
    pub view: [u64; N],
    /// How many samples were counted.
    pub samples: u64,
    /// The sum of their values.
    pub value: u64,
}

impl<const N: usize> Default for ResolvedStacks<N> {
    fn default() -> Self {
        Self { hasher: <_>::default(), table: HashTable::new(), entries: Vec::new() }
    }
}

impl<const N: usize> ResolvedStacks<N> {
    /// The stack of a key, if it is remembered.
    #[inline]
    pub fn find(&self, key: &Key<'_, N>) -> Option<Remembered> {
        let [_, ip] = key.head();
        let hash = hash(&self.hasher, key.view.into_iter(), ip, key.chain);
        let at = *self.table.find(hash, |&at| key.is_of(&self.entries[at as usize..]))?;
        Some(Remembered { stack: number(self.entries[at as usize]) as StackId, at })
    }

    /// Counts a sample of a stack that was just found.
    #[inline]
    pub fn count(&mut self, known: Remembered, value: u64) {
        if let Some([_, samples, values, ..]) = self.entries.get_mut(known.at as usize..) {
            *samples = (number(*samples) + 1).to_ne_bytes();
            *values = number(*values).saturating_add(value).to_ne_bytes();
        }
    }

    /// Whether one more key can be remembered without forgetting all others, and what was counted of them.
    pub fn has_room(&self, key: &Key<'_, N>) -> bool {
        self.entries.len() + key.chain.len() <= WORDS && self.table.len() < ENTRIES
    }

    /// Remembers the stack of a key that is not there yet.
    pub fn insert(&mut self, key: &Key<'_, N>, stack: StackId) -> Remembered {
        if !self.has_room(key) {
            self.entries.clear();
            self.table.clear();
        }
        let Self { hasher, table, entries } = self;
        let at = entries.len() as u32;
        entries.extend([stack.into(), 0, 0].map(u64::to_ne_bytes));
        entries.extend(key.head());
        entries.extend(key.view.iter().map(|number| number.to_ne_bytes()));
        entries.extend(key.chain);
        let hash_of = |&at: &u32| {
            let entry = &entries[at as usize + COUNTS..];
            let (view, chain) = (&entry[2..2 + N], &entry[2 + N..][..chain_len(entry)]);
            hash(hasher, view.iter().copied().map(number), entry[1], chain)
        };
        table.insert_unique(hash_of(&at), at, hash_of);
        Remembered { stack, at }
    }

    /// Forgets all, and tells what was counted.
    pub fn take_counted(&mut self) -> impl Iterator<Item = Counted<N>> {
        self.table.clear();
        let entries = std::mem::take(&mut self.entries);
        let mut at = 0;
        let all = std::iter::from_fn(move || {
            let ([stack, samples, value], entry) = entries.get(at..)?.split_first_chunk()?;
            at += COUNTS + 2 + N + chain_len(entry);
            let view = std::array::from_fn(|i| number(entry[2 + i]));
            Some(Counted { stack: number(*stack) as StackId, view, samples: number(*samples), value: number(*value) })
        });
        all.filter(|counted| counted.samples > 0)
    }
}

/// How long the chain is of an entry that begins with the head of its key.
#[inline]
fn chain_len(entry: &[Word]) -> usize {
    (number(entry[0]) >> 32) as usize
}

#[inline]
fn number(word: Word) -> u64 {
    u64::from_ne_bytes(word)
}

#[inline]
fn hash(hasher: &DefaultHashBuilder, view: impl Iterator<Item = u64>, ip: Word, chain: &[Word]) -> u64 {
    // An odd number without a pattern: the view's numbers are small ones.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = hasher.build_hasher();
    state.write_u64(view.fold(number(ip), |all, number| (all ^ number).wrapping_mul(SPREAD).rotate_left(29)));
    state.write(chain.as_flattened());
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack<const N: usize>(cache: &ResolvedStacks<N>, key: &Key<'_, N>) -> Option<StackId> {
        cache.find(key).map(|known| known.stack)
    }

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
        assert_eq!(stack(&cache, &key), Some(7));
        assert!(others.iter().all(|other| cache.find(other).is_none()));
        for (other, number) in others.iter().zip(8..) {
            cache.insert(other, number);
        }
        assert!(others.iter().zip(8..).all(|(other, number)| stack(&cache, other) == Some(number)));
        assert_eq!(stack(&cache, &key), Some(7));
        let long = vec![[0; 8]; WORDS];
        let long = Key { chain: &long, ..key };
        assert!(cache.has_room(&key) && !cache.has_room(&long));
        cache.insert(&long, 20);
        assert_eq!(stack(&cache, &key), None);
    }

    #[test]
    fn it_remembers_as_it_grows() {
        let mut cache = ResolvedStacks::default();
        let chains: Vec<_> = (0..3000_u64).map(|n| vec![n.to_ne_bytes(); n as usize % 5]).collect();
        let key = |n: usize| Key { view: [0], ip: Some(n as u64), mode: CpuMode::USER, chain: &chains[n] };
        for n in 0..3000 {
            cache.insert(&key(n), n as StackId);
        }
        assert!((0..3000).all(|n| stack(&cache, &key(n)) == Some(n as StackId)));
    }

    #[test]
    fn what_was_counted_is_told_once() {
        let mut cache = ResolvedStacks::default();
        let key = |view| Key { view: [view, 9], ip: None, mode: CpuMode::USER, chain: &[[1; 8], [2; 8], [3; 8]] };
        let known: Vec<_> = (0..3).map(|view| cache.insert(&key(view), 70 + view as StackId)).collect();
        [(0, 5), (2, u64::MAX), (2, 1), (0, 6)].iter().for_each(|&(at, value)| cache.count(known[at], value));
        let counted: Vec<_> = cache.take_counted().collect();
        let expected = [
            Counted { stack: 70, view: [0, 9], samples: 2, value: 11 },
            Counted { stack: 72, view: [2, 9], samples: 2, value: u64::MAX },
        ];
        assert_eq!(counted, expected);
        assert!(cache.take_counted().next().is_none() && cache.find(&key(0)).is_none());
    }
}
