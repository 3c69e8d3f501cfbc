//! Interned names: of threads and cgroups, of functions and source files.

use super::slices::Slices;
use std::borrow::Cow;

/// Maximum length of the name of a function and of the path of a source file. Outputs write a name once for each address or sample
/// that has it, so that its length multiplies their size. The longest names of C++ templates have a few KB.
pub const MAX_NAME: usize = 16 << 10;

/// What ends a truncated name, so that readers see it.
const ELLIPSIS: &[u8] = b"...";

/// A name of at most `limit` bytes: of a longer one, the first whole characters and an ellipsis.
pub fn truncated(name: &[u8], limit: usize) -> Cow<'_, [u8]> {
    if name.len() <= limit {
        return Cow::Borrowed(name);
    }
    let is_inside = |&end: &usize| name.get(end).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = limit.saturating_sub(ELLIPSIS.len());
    // In other encodings, any number of bytes can look as if they continued a character.
    let end = (end.saturating_sub(3)..=end).rev().find(|end| !is_inside(end)).unwrap_or(end);
    Cow::Owned([&name[..end], ELLIPSIS].concat())
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
    fn names_are_truncated_between_characters_and_end_in_an_ellipsis() {
        let cut = |name: &str, limit| String::from_utf8(truncated(name.as_bytes(), limit).into_owned()).unwrap();
        assert_eq!([cut("aäbcd", 5), cut("aäbcd", 6), cut("", 5)], ["a...", "aäbcd", ""]);
        assert_eq!([cut("aäbcde", 6), cut("\u{1f600}abc", 6)], ["aä...", "..."]);
        assert_eq!(*truncated(&[0x80; 9], 7), [&[0x80; 4][..], b"..."].concat());
        let once = truncated(&[b'a'; 100], 64).into_owned();
        assert_eq!((once.len(), &*truncated(&once, 64)), (64, &once[..]));
    }
}
