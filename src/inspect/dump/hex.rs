//! Hex dump.

use std::fmt::Write;

/// Bytes on a line.
const LINE: usize = 16;

/// Maximum number of bytes that are formatted at once: records of AUX data have megabytes.
pub(super) const CHUNK: usize = 4096;

/// Appends bytes, 16 on a line with their printable characters, numbered from `from`.
pub(super) fn append(out: &mut String, from: usize, bytes: &[u8]) {
    for (at, line) in bytes.chunks(LINE).enumerate() {
        let _ = write!(out, "  | {:04x} ", from + at * LINE);
        for byte in line {
            let _ = write!(out, " {byte:02x}");
        }
        (line.len()..LINE).for_each(|_| out.push_str("   "));
        out.push_str("  ");
        out.extend(line.iter().map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { byte as char } else { '.' }));
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_and_their_text() {
        let mut out = String::new();
        super::append(&mut out, 0, b"perf\0\xff and the rest");
        assert_eq!(
            out,
            "  | 0000  70 65 72 66 00 ff 20 61 6e 64 20 74 68 65 20 72  perf.. and the r\n\
             \u{20} | 0010  65 73 74                                         est\n"
        );
    }
}
