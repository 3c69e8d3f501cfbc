//! Text from recordings as people read it: without control characters, at most so long, and lists of at most so many names.

use std::borrow::Cow;

/// Maximum number of characters of a name in a view: more than names of C++ templates usually have.
const MAX_NAME: usize = 4096;

/// Maximum number of characters of a name in a list, so that several fit in a message of a few lines.
const MAX_LISTED: usize = 200;

/// A name as views show it: escaped, and shortened if it is very long.
pub fn name(name: &str) -> Cow<'_, str> {
    short(name, MAX_NAME)
}

/// Text of at most this many characters, escaped.
pub fn short(text: &str, limit: usize) -> Cow<'_, str> {
    match shorten(text, limit) {
        Cow::Borrowed(text) => escape(text),
        Cow::Owned(text) => Cow::Owned(escape(&text).into_owned()),
    }
}

/// Text with escapes for unsafe characters.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if is_unsafe(char) { escaped.extend(char.escape_default()) } else { escaped.push(char) }
    }
    Cow::Owned(escaped)
}

/// Whether a character could control a terminal, reverse or end a line, or is not allowed in XML.
pub fn is_unsafe(char: char) -> bool {
    let is_direction =
        matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    char.is_control() || is_direction || matches!(char, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
}

/// Text of at most this many characters: of a longer one, its start and its end.
fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    if text.chars().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let (first, last) = (limit / 2, limit.div_ceil(2).saturating_sub(1));
    let start = text.chars().take(first);
    let end = text.char_indices().rev().take(last).last().map_or("", |(at, _)| &text[at..]);
    Cow::Owned(start.chain(['…']).collect::<String>() + end)
}

/// The first of a list's items, escaped and shortened, and the number of the others: `cycles, faults, 3 more events`.
pub fn list<T: AsRef<str>>(items: impl ExactSizeIterator<Item = T>, limit: usize, plural: &str) -> String {
    let omitted = items.len().saturating_sub(limit);
    let mut listed: Vec<_> = items.take(limit).map(|item| short(item.as_ref(), MAX_LISTED).into_owned()).collect();
    if omitted > 0 {
        listed.push(format!("{omitted} more {plural}"));
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for (text, expected) in [
            ("plain \\ é שלום", "plain \\ é שלום"),
            ("\x1b[31mred\n", r"\u{1b}[31mred\n"),
            ("\u{9b}0m\x7f", r"\u{9b}0m\u{7f}"),
            ("a\u{202e}b\u{2069}c\u{2028}d\u{ffff}", r"a\u{202e}b\u{2069}c\u{2028}d\u{ffff}"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }

    #[test]
    fn long_text_keeps_its_start_and_end() {
        for (limit, expected) in [(7, "abcdéfg"), (6, "abc…fg"), (5, "ab…fg"), (2, "a…"), (1, "…"), (0, "…")]
        {
            assert_eq!(shorten("abcdéfg", limit), expected);
        }
        let long = format!("\x1b{}", "n".repeat(1 << 20));
        assert_eq!(name(&long).chars().count(), MAX_NAME + r"\u{1b}".len() - 1);
        assert!(name(&long).starts_with(r"\u{1b}n"));
    }

    #[test]
    fn lists_count_what_they_omit() {
        assert_eq!(list(["a", "b"].iter(), 2, "events"), "a, b");
        assert_eq!(list(["a\n", "b", "c"].iter(), 1, "events"), r"a\n, 2 more events");
        assert_eq!(list([""; 0].iter(), 1, "events"), "");
    }
}
