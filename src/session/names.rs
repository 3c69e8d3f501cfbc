//! Names of threads and cgroups, each kept once.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// Number of a name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

/// Names by number.
#[derive(Debug, Default)]
pub struct Names {
    hasher: DefaultHashBuilder,
    list: Vec<Box<[u8]>>,
    ids: HashTable<NameId>,
}

impl Names {
    /// The number of a name.
    pub fn id(&mut self, name: &[u8]) -> NameId {
        let Self { hasher, list, ids } = self;
        let id = NameId(list.len() as u32);
        let same = |id: &NameId| *list[id.0 as usize] == *name;
        let entry = ids.entry(hasher.hash_one(name), same, |id| hasher.hash_one(&*list[id.0 as usize]));
        let id = *entry.or_insert(id).get();
        if id.0 as usize == list.len() {
            list.push(name.into());
        }
        id
    }

    /// The name of a number.
    pub fn name(&self, id: NameId) -> &[u8] {
        &self.list[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        let mut names = Names::default();
        let ids = [&b"cat"[..], b"", b"cat", b"ls"].map(|name| names.id(name).0);
        assert_eq!(ids, [0, 1, 0, 2]);
        assert_eq!(names.name(NameId(2)), b"ls");
    }
}
