//! Writer of values as text: each member of a group on its own line, or all on one line where they fit.

use perf_data::abi::serde::tokens::{Group, Integer, Key, TokenSink};
use std::fmt::{self, Write};

/// Number of opaque bytes that are printed, unless all were requested.
const OPAQUE: usize = 64;

/// Maximum length of a line with several members of a group.
const WIDTH: usize = 100;

/// Writer of values as text.
pub(super) struct DumpWriter<'a> {
    pub out: &'a mut String,
    /// Number of groups around the current position.
    pub depth: usize,
    /// Whether to print opaque bytes in full.
    pub all_bytes: bool,
}

impl DumpWriter<'_> {
    fn put(&mut self, value: impl fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }

    fn hex(&mut self, number: u64) {
        let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
        self.out.push_str("0x");
        let digit = |index| char::from(b"0123456789abcdef"[(number >> (4 * index) & 15) as usize]);
        self.out.extend((0..digits).rev().map(digit));
    }

    /// Separator of members that are on their own lines.
    fn separator(&self) -> &'static str {
        // Groups that are nested more deeply are not indented further.
        const LINES: &str = "\n                                                                ";
        &LINES[..(1 + 2 * self.depth).min(LINES.len())]
    }
}

impl TokenSink for DumpWriter<'_> {
    fn written(&self) -> usize {
        self.out.len()
    }

    fn truncate(&mut self, len: usize) {
        self.out.truncate(len);
    }

    fn null(&mut self) {}

    fn unit(&mut self) {}

    fn boolean(&mut self, value: bool) {
        self.put(value);
    }

    fn integer(&mut self, Integer { is_negative, magnitude }: Integer, is_hex: bool) {
        match (is_negative, is_hex) {
            (false, false) => self.out.push_str(itoa::Buffer::new().format(magnitude)),
            (true, false) => self.put(format_args!("-{magnitude}")),
            (false, true) => self.hex(magnitude),
            // As wide as an address.
            (true, true) => self.hex(magnitude.wrapping_neg()),
        }
    }

    fn float(&mut self, value: f64) {
        self.put(format_args!("{value}"));
    }

    fn text(&mut self, value: &str) {
        self.display(format_args!("{value}"));
    }

    /// Text that could be mistaken for something else is quoted.
    fn display(&mut self, value: fmt::Arguments<'_>) {
        let start = self.out.len();
        self.put(value);
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%=~$*".contains(c);
        let text = &self.out[start..];
        if text.is_empty() || !text.chars().all(is_plain) {
            let quoted = format!("{text:?}");
            self.out.truncate(start);
            self.out.push_str(&quoted);
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let shown = if self.all_bytes { bytes } else { &bytes[..bytes.len().min(OPAQUE)] };
        self.put(format_args!("{} bytes", bytes.len()));
        if !shown.is_empty() {
            self.out.push(' ');
        }
        shown.iter().for_each(|byte| self.put(format_args!("{byte:02x}")));
        if shown.len() < bytes.len() {
            self.out.push_str("...");
        }
    }

    fn begin(&mut self, group: Group) {
        if let Group::Variant(name) = group {
            self.out.push_str(name);
        }
        self.depth += 1;
    }

    fn begin_element(&mut self, _: usize) {
        self.out.push_str(self.separator());
    }

    fn end_element(&mut self, start: usize) {
        if self.out[start..].starts_with('\n') {
            self.out.insert(start, '-');
        }
    }

    fn begin_field(&mut self, key: Key<'_>, _: usize) {
        self.out.push_str(self.separator());
        match key {
            Key::Name(name) => self.out.push_str(name),
            Key::Text(text) => self.text(text),
        }
        self.out.push(':');
    }

    fn end_field(&mut self, start: usize) {
        if !self.out[start..].starts_with('\n') {
            self.out.insert(start, ' ');
        }
    }

    /// Joins the members to one line if they fit; fields of the outermost structure keep their own lines.
    fn end(&mut self, group: Group, start: usize, count: usize) {
        let [open, close] = match group {
            Group::List => ["[", "]"],
            Group::Object => ["{", "}"],
            Group::Variant(_) => [" {", "}"],
        };
        let separator = self.separator();
        self.depth -= 1;
        let end = self.out.len();
        let fits = end - start <= WIDTH + count * separator.len() && line_breaks(&self.out[start..]).count() == count;
        if self.depth == 0 || !fits && count > 0 {
            return;
        }
        // Each member begins with the separator.
        self.out.push_str(open);
        let mut at = start;
        while at < end {
            if at > start {
                self.out.push_str(", ");
            }
            at += separator.len();
            let next = line_breaks(&self.out[at..end]).next().map_or(end, |len| at + len);
            self.out.extend_from_within(at..next);
            at = next;
        }
        self.out.push_str(close);
        self.out.drain(start..end);
    }
}

/// Offsets of the line breaks in a text.
fn line_breaks(text: &str) -> impl Iterator<Item = usize> {
    memchr::memchr_iter(b'\n', text.as_bytes())
}
