//! Interned values.

use super::id_table::IdTable;
use std::hash::Hash;

/// Values by number, each once. For slices there is [`Slices`](super::slices::Slices).
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

    /// All values, by number, without the memory that serves to intern more.
    pub fn into_list(self) -> Vec<T> {
        self.list
    }

    /// All values, by number.
    pub fn list(&self) -> &[T] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_interned_once() {
        let mut values = Interned::default();
        assert_eq!([7, 8, 7, 9].map(|value| values.id(value)), [0, 1, 0, 2]);
        assert_eq!((values.find(9), values.find(6)), (Some(2), None));
        assert_eq!(values.list(), [7, 8, 9]);
        assert_eq!(values.into_list(), [7, 8, 9]);
    }
}
