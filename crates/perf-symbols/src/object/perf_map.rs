//! Reads `perf-PID.map` files: one function per line, `START SIZE NAME`, with hexadecimal numbers.

use super::function_ranges::FunctionRanges;
use bytes::Bytes;

/// A map file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapFile {
    /// The names of functions.
    pub functions: FunctionRanges<Bytes>,
    /// Number of malformed lines.
    pub unreadable: u64,
}

impl MapFile {
    /// Reads a file. A later function replaces earlier ones where they overlap.
    pub fn read(bytes: &Bytes) -> Self {
        let mut file = Self::default();
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match function(line) {
                Some((start, end, name)) => {
                    file.functions.insert(start, end, bytes.slice_ref(name));
                }
                None => file.unreadable += 1,
            }
        }
        file
    }
}

/// Parses a line: start, end and name of a function.
fn function(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (start, rest) = number(line)?;
    let (size, name) = number(rest)?;
    let name = Some(name).filter(|name| !name.is_empty() && !name.contains(&0))?;
    Some((start, start.checked_add(size)?, name))
}

/// Parses a number, as perf with white space before it, and skips the separator behind it. perf skips any character; letters and
/// `-` would make functions of messages and of ranges.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    let is_separator = |&end: &usize| text[end].is_ascii_whitespace() || b",:;|".contains(&text[end]);
    let end = text.iter().position(|byte| !byte.is_ascii_hexdigit()).filter(is_separator)?;
    let number = u64::from_str_radix(str::from_utf8(&text[..end]).ok()?, 16).ok()?;
    Some((number, &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Vec<(u64, u64, String)> {
        let file = MapFile::read(&Bytes::from_static(text.as_bytes()));
        let shown = |(start, end, name): (u64, u64, &Bytes)| (start, end, String::from_utf8_lossy(name).into_owned());
        file.functions.iter().map(shown).collect()
    }

    #[test]
    fn later_functions_replace_overlapping_ones() {
        let of = |start, end, name: &str| (start, end, name.to_owned());
        assert_eq!(read("10 10 a\n0x30 8 Lazy:b c\r\n"), [of(0x10, 0x20, "a"), of(0x30, 0x38, "Lazy:b c")]);
        assert_eq!(read("10 10 a\n10 10 b\n"), [of(0x10, 0x20, "b")]);
        assert_eq!(read("10 30 a\n20 10 b\n"), [of(0x10, 0x20, "a"), of(0x20, 0x30, "b"), of(0x30, 0x40, "a")]);
        assert_eq!(
            read("10 10 a\n20 10 b\n18 10 c\n"),
            [of(0x10, 0x18, "a"), of(0x18, 0x28, "c"), of(0x28, 0x30, "b")]
        );
    }

    #[test]
    fn white_space_before_numbers_is_skipped() {
        let expected = [(0x10, 0x20, "a b".to_owned())];
        for line in ["10 10 a b", "10\t10\ta b", "  10 10 a b", "\t0X10  10 a b", "10 \t 0x10\ta b"] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn numbers_may_be_separated_by_punctuation() {
        let expected = (0x10, 0x14, "a b,c".to_owned());
        for text in ["10,4,a b,c\n", "10, 4,a b,c\n", "10;4;a b,c\n", "10:4:a b,c\n", "0x10|0x4|a b,c\n"] {
            assert_eq!(read(text), std::slice::from_ref(&expected), "{text}");
        }
    }

    #[test]
    fn counts_malformed_lines() {
        let file =
            MapFile::read(&Bytes::from_static(b"10 10 a\nx\n10\n10 10\n10 10 \nffffffffffffffff 2 far\n\n20 0 none\n"));
        assert_eq!((file.functions.iter().len(), file.unreadable), (1, 5));
    }
}
