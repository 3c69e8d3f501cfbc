//! Helpers for tests of definitions.

use super::Endian;
use binrw::{BinRead, BinWrite};
use std::fmt::Debug;
use std::io::Cursor;

/// Parses bytes from hexadecimal digits and strings in single quotes, separated by blanks. `*N` repeats the previous byte so that
/// it occurs N times.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in text.split_ascii_whitespace() {
        if let Some(quoted) = word.strip_prefix('\'') {
            bytes.extend_from_slice(quoted.trim_end_matches('\'').as_bytes());
        } else if let Some(times) = word.strip_prefix('*') {
            let last = *bytes.last().expect("a byte to repeat");
            bytes.resize(bytes.len() + times.parse::<usize>().expect("a number") - 1, last);
        } else {
            bytes.extend((0..word.len()).step_by(2).map(|at| u8::from_str_radix(&word[at..at + 2], 16).expect("hex")));
        }
    }
    bytes
}

/// Checks that the bytes of both byte orders decode to `value`, that `value` encodes to exactly these bytes, and that decoding
/// truncated bytes does not panic.
pub(super) fn both_orders<T, A>(value: &T, args: A, little: &str, big: &str)
where
    T: for<'a> BinRead<Args<'a> = A> + for<'a> BinWrite<Args<'a> = ()> + PartialEq + Debug,
    A: Clone,
{
    for (endian, bytes) in [(Endian::Little, hex(little)), (Endian::Big, hex(big))] {
        let mut cursor = Cursor::new(&bytes[..]);
        let read = T::read_options(&mut cursor, endian, args.clone()).expect("the bytes parse");
        assert_eq!(&read, value, "{endian:?}");
        assert_eq!(cursor.position(), bytes.len() as u64, "{endian:?}: all bytes are covered");
        assert_eq!(to_bytes(value, endian), bytes, "{endian:?}");
        for cut in 0..bytes.len() {
            let _ = T::read_options(&mut Cursor::new(&bytes[..cut]), endian, args.clone());
        }
    }
}

/// Encodes a value.
pub(super) fn to_bytes<T: for<'a> BinWrite<Args<'a> = ()>>(value: &T, endian: Endian) -> Vec<u8> {
    super::to_bytes(value, endian).expect("the value can be encoded")
}
