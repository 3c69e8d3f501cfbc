//! Interned slices.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::{BuildHasher, Hash};

/// Interned slices: names, stacks, sets of labels. Their elements are contiguous in one arena.
#[derive(Debug)]
pub struct Slices<T> {
    hasher: DefaultHashBuilder,
    arena: Vec<T>,
    /// End of each slice in the arena.
    ends: Vec<usize>,
    table: HashTable<u32>,
}

impl<T> Default for Slices<T> {
    fn default() -> Self {
        Self { hasher: <_>::default(), arena: Vec::new(), ends: Vec::new(), table: HashTable::new() }
    }
}

impl<T: Copy + Eq + Hash> Slices<T> {
    /// Interns a slice.
    pub fn id(&mut self, slice: &[T]) -> u32 {
        let Self { hasher, arena, ends, table } = self;
        let id = ends.len() as u32;
        let same = |&id: &u32| get(arena, ends, id) == slice;
        let entry = table.entry(hasher.hash_one(slice), same, |&id| hasher.hash_one(get(arena, ends, id)));
        let id = *entry.or_insert(id).get();
        if id as usize == ends.len() {
            arena.extend_from_slice(slice);
            ends.push(arena.len());
        }
        id
    }

    /// Total number of elements.
    pub fn elements(&self) -> usize {
        self.arena.len()
    }

    /// The slices, by index.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.ends.len() as u32).map(|id| self.get(id))
    }

    /// The slice of an index.
    #[inline]
    pub fn get(&self, id: u32) -> &[T] {
        get(&self.arena, &self.ends, id)
    }
}

#[inline]
fn get<'a, T>(arena: &'a [T], ends: &[usize], id: u32) -> &'a [T] {
    let id = id as usize;
    let start = if id == 0 { 0 } else { ends[id - 1] };
    &arena[start..ends[id]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_slices_are_interned_once() {
        let mut slices = Slices::default();
        let ids: Vec<_> = [&b"cat"[..], b"", b"cat", b"ls", b""].map(|name| slices.id(name)).into();
        assert_eq!(ids, [0, 1, 0, 2, 1]);
        assert_eq!((slices.get(0), slices.get(1), slices.get(2)), (&b"cat"[..], &b""[..], &b"ls"[..]));
        assert!(slices.iter().eq([&b"cat"[..], b"", b"ls"]));
    }
}
