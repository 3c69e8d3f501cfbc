//! A short name under construction, with the text that it omits, which distinguishes functions with equal short names.

use std::ops::Range;

/// A short name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShortName {
    /// The name.
    pub text: String,
    /// What it omits, from the left.
    pub omissions: Vec<Omission>,
    /// Source file and line that the name of a script's function contains; the line is 0 if it has none.
    pub source: Option<(String, i64)>,
}

/// Text that a short name omits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Omission {
    /// What the short name has instead.
    pub replacement: Range<usize>,
    /// The omitted text, or the arguments that it consists of.
    pub parts: Vec<String>,
}

impl ShortName {
    /// A name that is shown unchanged.
    pub(super) fn unchanged(name: &str) -> Self {
        Self { text: name.to_owned(), ..Self::default() }
    }

    /// Appends text of the name.
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Omits text without a replacement.
    pub(super) fn omit(&mut self, text: &str) {
        self.replace("", vec![text.to_owned()]);
    }

    /// Appends a replacement of text.
    pub(super) fn replace(&mut self, replacement: &str, parts: Vec<String>) {
        let start = self.text.len();
        self.text.push_str(replacement);
        self.omissions.push(Omission { replacement: start..self.text.len(), parts });
    }

    /// Removes what was appended after the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        self.omissions.retain(|omission| omission.replacement.end <= len && omission.replacement.start < len);
    }

    /// The name with a part of what it omits: `sort<int, ...>`.
    pub(crate) fn with_part(&self, omission: usize, part: usize) -> Option<String> {
        let Omission { replacement, parts } = self.omissions.get(omission)?;
        let text = parts.get(part)?;
        let shown = match self.text[replacement.clone()].split_once("...") {
            Some((open, close)) => {
                let before = if part > 0 { "..., " } else { "" };
                let after = if part + 1 < parts.len() { ", ..." } else { "" };
                format!("{open}{before}{text}{after}{close}")
            }
            None => text.clone(),
        };
        Some([&self.text[..replacement.start], &shown, &self.text[replacement.end..]].concat())
    }
}
