//! Interned values.

use hashbrown::HashMap;
use std::hash::Hash;

/// Values by number, each once.
#[derive(Debug)]
pub struct Interned<T> {
    list: Vec<T>,
    known: HashMap<T, u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { list: Vec::new(), known: HashMap::new() }
    }
}

impl<T: Copy + Eq + Hash> Interned<T> {
    /// Interns a value.
    pub fn id(&mut self, value: T) -> u32 {
        let Self { list, known } = self;
        *known.entry(value).or_insert_with(|| {
            list.push(value);
            list.len() as u32 - 1
        })
    }

    /// All values, by number.
    pub fn list(&self) -> &[T] {
        &self.list
    }
}
