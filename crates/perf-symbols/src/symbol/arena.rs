//! An arena: values are added through a shared reference and kept until all are dropped.

use std::cell::{Cell, OnceCell};

/// Number of chunks, each twice as large as the one before.
const CHUNKS: usize = 32;

/// Values whose addresses do not change.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    chunks: [OnceCell<Box<[OnceCell<T>]>>; CHUNKS],
    len: Cell<usize>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { chunks: [const { OnceCell::new() }; CHUNKS], len: Cell::new(0) }
    }
}

impl<T> Arena<T> {
    /// Stores a value. `None` if the arena is full.
    pub(crate) fn add(&self, value: T) -> Option<&T> {
        let number = self.len.get() + 1;
        let chunk = number.ilog2() as usize;
        let index = number - (1 << chunk);
        let values = self.chunks.get(chunk)?.get_or_init(|| (0..1 << chunk).map(|_| OnceCell::new()).collect());
        self.len.set(number);
        Some(values.get(index)?.get_or_init(|| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_where_they_are() {
        let arena = Arena::default();
        let kept: Vec<&String> = (0..100).filter_map(|number| arena.add(number.to_string())).collect();
        assert!(kept.iter().enumerate().all(|(number, kept)| **kept == number.to_string()));
        assert_eq!(kept.len(), 100);
    }
}
