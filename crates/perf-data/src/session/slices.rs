//! Interned slices.

use super::id_table::{IdTable, KeyHash};
use std::hash::Hash;

/// Interned slices: names, stacks, sets of labels. Their elements are contiguous in one arena.
#[derive(Debug)]
pub struct Slices<T> {
    arena: Vec<T>,
    /// End of each slice in the arena.
    ends: Vec<usize>,
    ids: IdTable,
    /// Scratch buffer.
    hashes: Vec<KeyHash>,
}

impl<T> Default for Slices<T> {
    fn default() -> Self {
        Self { arena: Vec::new(), ends: Vec::new(), ids: IdTable::default(), hashes: Vec::new() }
    }
}

impl<T: Copy + Eq + Hash> Slices<T> {
    /// Interns a slice.
    pub fn id(&mut self, slice: &[T]) -> u32 {
        self.intern(slice, self.ids.hash(slice))
    }

    /// Interns consecutive slices that end at these elements. For many slices this takes less time than one by one, because it waits
    /// for memory once.
    pub fn ids(
        &mut self,
        elements: &[T],
        slice_ends: impl Iterator<Item = usize> + Clone,
        mut use_id: impl FnMut(u32),
    ) {
        let slices = slice_ends.scan(0, |start, end| elements.get(std::mem::replace(start, end)..end));
        let mut hashes = std::mem::take(&mut self.hashes);
        hashes.clear();
        hashes.extend(slices.clone().map(|slice| self.ids.hash(slice)));
        // Only the slots: slices are longer than what one read loads.
        self.ids.load(&hashes, |_| 0);
        for (slice, &hash) in slices.zip(&hashes) {
            use_id(self.intern(slice, hash));
        }
        self.hashes = hashes;
    }

    fn intern(&mut self, slice: &[T], hash: KeyHash) -> u32 {
        let Self { arena, ends, ids, .. } = self;
        let new = ends.len() as u32;
        let id = ids.find_or_insert(hash, new, |id| get(arena, ends, id) == slice);
        if id == new { self.push(slice) } else { id }
    }

    /// Releases the memory that serves to intern more slices; none may be interned from now on.
    pub fn seal(&mut self) {
        self.ids = IdTable::default();
    }

    /// Adds a slice that is known to be new. It is not found by [`Self::id`].
    pub fn push(&mut self, slice: &[T]) -> u32 {
        self.arena.extend_from_slice(slice);
        self.ends.push(self.arena.len());
        self.ends.len() as u32 - 1
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
