//! The string table of a profile.

use crate::session::slices::Slices;
use std::borrow::Cow;
use std::fmt::Write;

/// Strings by ID; ID 0 is the empty string.
pub struct Strings(Slices<u8>);

impl Default for Strings {
    fn default() -> Self {
        let mut strings = Slices::default();
        strings.id(b"");
        Self(strings)
    }
}

impl Strings {
    /// Interns a string. Control characters are escaped, as `\x1b`, because viewers print names verbatim.
    pub fn id(&mut self, string: &str) -> i64 {
        let string =
            if string.contains(char::is_control) { Cow::Owned(spelled_out(string)) } else { Cow::Borrowed(string) };
        self.0.id(string.as_bytes()).into()
    }

    /// The strings in order of their IDs.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter()
    }
}

fn spelled_out(string: &str) -> String {
    let mut text = String::with_capacity(string.len() + 8);
    for char in string.chars() {
        if char.is_control() {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\\x{:02x}", u32::from(char));
        } else {
            text.push(char);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let mut strings = Strings::default();
        let ids = ["\x1b[31mred\n", "plain \\ é", "\u{9b}0m\x7f", ""].map(|string| strings.id(string));
        let all: Vec<_> = strings.iter().map(String::from_utf8_lossy).collect();
        assert_eq!(all, ["", "\\x1b[31mred\\x0a", "plain \\ é", "\\x9b0m\\x7f"]);
        assert_eq!(ids, [1, 2, 3, 0]);
    }
}
