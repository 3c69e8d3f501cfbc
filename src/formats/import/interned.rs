//! Interned values.

use crate::session::id_table::IdTable;
use std::hash::Hash;

/// Values by number, each once.
#[derive(Debug)]
pub struct Interned<T> {
    list: Vec<T>,
    ids: IdTable,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { list: Vec::new(), ids: IdTable::default() }
    }
}

impl<T: Copy + Eq + Hash> Interned<T> {
    /// Interns a value.
    pub fn id(&mut self, value: T) -> u32 {
        let Self { list, ids } = self;
        let new = list.len() as u32;
        let id = ids.find_or_insert(ids.hash(value), new, |id| list[id as usize] == value);
        if id == new {
            list.push(value);
        }
        id
    }

    /// The number of a value that is interned already.
    pub fn find(&self, value: T) -> Option<u32> {
        self.ids.find(self.ids.hash(value), |id| self.list[id as usize] == value)
    }

    /// All values, by number.
    pub fn list(&self) -> &[T] {
        &self.list
    }
}
