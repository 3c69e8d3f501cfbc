//! The string table of a profile.

use crate::session::slices::Slices;

/// Strings by number; number 0 is the empty string.
pub struct Strings(Slices<u8>);

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Slices::default();
        strings.id(b"");
        Self(strings)
    }
}

impl Strings {
    /// The number of a string.
    pub fn id(&mut self, string: &str) -> i64 {
        self.0.id(string.as_bytes()).into()
    }

    /// The strings in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter()
    }
}
