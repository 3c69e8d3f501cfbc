//! Cache of resolved stacks by recorded stack, with sample counts.

use super::cache_size::CacheSize;
use super::stacks::StackId;
use perf_data::abi::record::CpuMode;
use perf_data::session::id_table::{IdTable, KeyHash};

/// A word of an entry: in native byte order, or as recorded if it is only compared.
type Word = [u8; 8];

/// Everything that determines a sample's stack: equal keys have equal stacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackCacheKey<'a, const N: usize> {
    /// The version of the address space, and other numbers that distinguish samples.
    pub view: [u64; N],
    /// Instruction pointer.
    pub ip: Option<u64>,
    /// CPU mode.
    pub mode: CpuMode,
    /// The call chain as recorded.
    pub chain: &'a [[u8; 8]],
}

impl<const N: usize> StackCacheKey<'_, N> {
    /// The key without the view and the chain.
    #[inline]
    fn head(&self) -> [Word; 2] {
        let mode = u64::from(self.mode.0) << 1 | u64::from(self.ip.is_some());
        [((self.chain.len() as u64) << 32 | mode).to_ne_bytes(), self.ip.unwrap_or(0).to_ne_bytes()]
    }

    /// Whether an entry has this key.
    #[inline]
    fn matches(&self, entry: &[Word]) -> bool {
        let Some((head, rest)) = entry.get(COUNTS..).and_then(<[_]>::split_first_chunk) else { return false };
        let Some((view, rest)) = rest.split_first_chunk::<N>() else { return false };
        let is_same_view = view.iter().zip(self.view).all(|(&word, number)| word == number.to_ne_bytes());
        // The words after a shorter chain belong to the next entry; the head contains the length.
        let Some(chain) = rest.get(..self.chain.len()) else { return false };
        *head == self.head() && is_same_view && self.chain.as_flattened() == chain.as_flattened()
    }
}

/// Words at the start of an entry: stack, samples, sum of values.
const COUNTS: usize = 3;

/// Maximum average number of words of an entry.
const WORDS: usize = 16;

/// A cache of stacks, distinguished by `N` numbers besides the stack, that counts samples.
///
/// Its owner clears it when full: old versions of an address space do not return, nor do their keys.
pub(crate) struct StackCache<const N: usize> {
    /// Start of each entry.
    starts: IdTable,
    /// Consecutive entries: stack, counts, head of the key, view, chain. The parts of an entry are adjacent, because most of the
    /// time of a lookup is spent waiting for memory.
    entries: Vec<Word>,
    size: CacheSize,
}

/// A cached stack, until the cache is cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cached(u32);

/// The counts of a cached stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted<const N: usize> {
    pub stack: StackId,
    /// The view of its key.
    pub view: [u64; N],
    /// Number of samples.
    pub samples: u64,
    /// Sum of their values.
    pub value: u64,
}

impl<const N: usize> Default for StackCache<N> {
    fn default() -> Self {
        Self { starts: IdTable::default(), entries: Vec::new(), size: CacheSize::default() }
    }
}

impl<const N: usize> StackCache<N> {
    /// Looks up the stack of a key.
    #[inline]
    pub(crate) fn find(&mut self, key: &StackCacheKey<'_, N>) -> Option<Cached> {
        self.size.count_lookup();
        self.starts.find(self.hash(key), |at| key.matches(&self.entries[at as usize..])).map(Cached)
    }

    /// A stack just found.
    pub(crate) fn stack(&self, cached: Cached) -> StackId {
        number(self.entries[cached.0 as usize]) as StackId
    }

    /// Sets a stack that was not known when it was added.
    pub(crate) fn set_stack(&mut self, cached: Cached, stack: StackId) {
        self.entries[cached.0 as usize] = u64::from(stack).to_ne_bytes();
    }

    #[inline]
    fn hash(&self, key: &StackCacheKey<'_, N>) -> KeyHash {
        // An odd number without a pattern, because the numbers of the view are small.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let view = key
            .view
            .iter()
            .fold(key.ip.unwrap_or(0), |all, number| (all ^ number).wrapping_mul(SPREAD).rotate_left(29));
        self.starts.hash((view, key.chain.as_flattened()))
    }

    /// Counts a sample of a stack just found.
    #[inline]
    pub(crate) fn count(&mut self, cached: Cached, value: u64) {
        if let Some([_, samples, values, ..]) = self.entries.get_mut(cached.0 as usize..) {
            *samples = (number(*samples) + 1).to_ne_bytes();
            *values = number(*values).saturating_add(value).to_ne_bytes();
        }
    }

    /// Whether a key can be added without clearing the cache and its counts.
    pub(crate) fn has_room(&self, key: &StackCacheKey<'_, N>) -> bool {
        let entries = self.size.entries();
        self.entries.len() + key.chain.len() <= WORDS * entries && self.starts.count() < entries
    }

    /// Clears the cache and its counts.
    pub(crate) fn clear(&mut self) {
        self.size.next(self.starts.count());
        self.starts.clear();
        self.entries.clear();
    }

    /// Adds a new key, whose stack is set later.
    pub(crate) fn insert(&mut self, key: &StackCacheKey<'_, N>) -> Cached {
        let at = self.entries.len() as u32;
        self.starts.insert(self.hash(key), at);
        let entries = &mut self.entries;
        entries.extend([[0; 8]; COUNTS]);
        entries.extend(key.head());
        entries.extend(key.view.iter().map(|number| number.to_ne_bytes()));
        entries.extend(key.chain);
        Cached(at)
    }

    /// Clears the cache, and calls `on_counts` with the counts of each stack that has samples.
    pub(crate) fn take_counted(&mut self, mut on_counts: impl FnMut(Counted<N>)) {
        let mut rest = &*self.entries;
        while let Some(([stack, samples, value], entry)) = rest.split_first_chunk() {
            let samples = number(*samples);
            if samples > 0 {
                let view = std::array::from_fn(|i| number(entry[2 + i]));
                on_counts(Counted { stack: number(*stack) as StackId, view, samples, value: number(*value) });
            }
            rest = &entry[2 + N + chain_len(entry)..];
        }
        self.clear();
    }
}

/// The length of the chain of an entry, from the head of its key.
#[inline]
fn chain_len(entry: &[Word]) -> usize {
    (number(entry[0]) >> 32) as usize
}

#[inline]
fn number(word: Word) -> u64 {
    u64::from_ne_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack<const N: usize>(cache: &mut StackCache<N>, key: &StackCacheKey<'_, N>) -> Option<StackId> {
        cache.find(key).map(|cached| cache.stack(cached))
    }

    #[test]
    fn compares_all_parts_of_keys() {
        let mut cache = StackCache::default();
        let key = StackCacheKey { view: [1, 3], ip: Some(0), mode: CpuMode::USER, chain: &[[1; 8], [2; 8]] };
        let others = [
            StackCacheKey { view: [1, 4], ..key },
            StackCacheKey { view: [2, 3], ..key },
            StackCacheKey { ip: None, ..key },
            StackCacheKey { ip: Some(5), ..key },
            StackCacheKey { mode: CpuMode::KERNEL, ..key },
            StackCacheKey { chain: &[[1; 8]], ..key },
            StackCacheKey { chain: &[[1; 8], [3; 8]], ..key },
        ];
        let insert = |cache: &mut StackCache<2>, key: &StackCacheKey<'_, 2>, stack| {
            let cached = cache.insert(key);
            cache.set_stack(cached, stack);
        };
        insert(&mut cache, &key, 7);
        assert_eq!(stack(&mut cache, &key), Some(7));
        assert!(others.iter().all(|other| cache.find(other).is_none()));
        for (other, number) in others.iter().zip(8..) {
            insert(&mut cache, other, number);
        }
        assert!(others.iter().zip(8..).all(|(other, number)| stack(&mut cache, other) == Some(number)));
        assert_eq!(stack(&mut cache, &key), Some(7));
        let long = vec![[0; 8]; WORDS * cache.size.entries()];
        let long = StackCacheKey { chain: &long, ..key };
        assert!(cache.has_room(&key) && !cache.has_room(&long));
        insert(&mut cache, &long, 20);
        assert_eq!((stack(&mut cache, &key), stack(&mut cache, &long)), (Some(7), Some(20)));
        cache.clear();
        assert_eq!(stack(&mut cache, &key), None);
    }

    #[test]
    fn keeps_entries_as_it_grows() {
        let mut cache = StackCache::default();
        let chains: Vec<_> = (0..3000_u64).map(|n| vec![n.to_ne_bytes(); n as usize % 5]).collect();
        let key = |n: usize| StackCacheKey { view: [0], ip: Some(n as u64), mode: CpuMode::USER, chain: &chains[n] };
        for n in 0..3000 {
            let cached = cache.insert(&key(n));
            cache.set_stack(cached, n as StackId);
        }
        assert!((0..3000).all(|n| stack(&mut cache, &key(n)) == Some(n as StackId)));
    }

    #[test]
    fn counts_are_returned_once() {
        let mut cache = StackCache::default();
        let key =
            |view| StackCacheKey { view: [view, 9], ip: None, mode: CpuMode::USER, chain: &[[1; 8], [2; 8], [3; 8]] };
        let cached_stacks: Vec<_> = (0..3).map(|view| cache.insert(&key(view))).collect();
        (70..).zip(&cached_stacks).for_each(|(stack, &cached)| cache.set_stack(cached, stack));
        [(0, 5), (2, u64::MAX), (2, 1), (0, 6)].iter().for_each(|&(at, value)| cache.count(cached_stacks[at], value));
        let mut counted = Vec::new();
        cache.take_counted(|counts| counted.push(counts));
        let expected = [
            Counted { stack: 70, view: [0, 9], samples: 2, value: 11 },
            Counted { stack: 72, view: [2, 9], samples: 2, value: u64::MAX },
        ];
        assert_eq!(counted, expected);
        cache.take_counted(|counts| panic!("{counts:?} is returned again"));
        assert!(cache.find(&key(0)).is_none());
    }
}
