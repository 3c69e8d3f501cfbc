//! Interned names: of threads and cgroups, of functions and source files.

use super::slices::Slices;

/// Maximum length of the name of a function and of the path of a source file. Outputs write a name once for each address or sample
/// that has it, so that its length multiplies their size. The longest names of C++ templates have a few KB.
pub const MAX_NAME: usize = 16 << 10;

/// The first bytes of a name, at most `limit`, without part of a character.
pub fn truncated(name: &[u8], limit: usize) -> &[u8] {
    let is_inside = |&end: &usize| name.get(end).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = name.len().min(limit);
    // In other encodings, any number of bytes can look as if they continued a character.
    let end = (end.saturating_sub(3)..=end).rev().find(|end| !is_inside(end)).unwrap_or(end);
    &name[..end]
}

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

    /// Number of bytes of all names.
    pub fn total_len(&self) -> usize {
        self.0.elements()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_truncated_between_characters() {
        assert_eq!(truncated("aä".as_bytes(), 2), b"a");
        assert_eq!(truncated("aä".as_bytes(), 3), "aä".as_bytes());
        assert_eq!(truncated(&[0x80; 9], 7), [0x80; 7]);
        assert_eq!((truncated(b"abc", 0), truncated(b"", 5)), (&b""[..], &b""[..]));
    }
}
