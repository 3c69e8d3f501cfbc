//! Interned names of threads and cgroups.

use super::slices::Slices;

/// Index of a name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u32);

/// Interned names.
#[derive(Debug, Default)]
pub struct Names(Slices<u8>);

impl From<Slices<u8>> for Names {
    fn from(names: Slices<u8>) -> Self {
        Self(names)
    }
}

impl Names {
    /// Interns a name.
    pub fn id(&mut self, name: &[u8]) -> NameId {
        NameId(self.0.id(name))
    }

    /// The name of an index.
    pub fn name(&self, id: NameId) -> &[u8] {
        self.0.get(id.0)
    }
}
