//! The string table of a profile.

use perf_data::printable;
use perf_data::session::slices::Slices;

/// Strings by ID; ID 0 is the empty string.
pub(crate) struct Strings(Slices<u8>);

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Slices::default();
        strings.id(b"");
        Self(strings)
    }
}

impl Strings {
    /// Interns a string. Control characters are escaped, because viewers print names verbatim.
    pub(crate) fn id(&mut self, string: &str) -> i64 {
        self.0.id(printable::escape(string).as_bytes()).into()
    }

    /// The strings in order of their IDs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let mut strings = Strings::default();
        let ids = ["\x1b[31mred\n", "plain \\ é", "\u{9b}0m\x7f", ""].map(|string| strings.id(string));
        let all: Vec<_> = strings.iter().map(String::from_utf8_lossy).collect();
        assert_eq!(all, ["", r"\u{1b}[31mred\n", "plain \\ é", r"\u{9b}0m\u{7f}"]);
        assert_eq!(ids, [1, 2, 3, 0]);
    }
}
