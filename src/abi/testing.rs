//! What the tests of the definitions share.

use super::Endian;
use binrw::{BinRead, BinWrite};
use std::fmt::Debug;
use std::io::Cursor;

/// Bytes from hexadecimal digits and text in single quotes; blanks separate. `*N` repeats the byte before it N times in
/// all.
pub fn hex(text: &str) -> Vec<u8> {
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

/// Checks that the bytes of a little-endian and of a big-endian recorder both read as `value`, that `value` is written
/// as exactly those bytes, and that no cut of them makes reading panic.
pub fn both_orders<T, A>(value: &T, args: A, little: &str, big: &str)
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

/// The value's bytes.
pub fn to_bytes<T: for<'a> BinWrite<Args<'a> = ()>>(value: &T, endian: Endian) -> Vec<u8> {
    super::to_bytes(value, endian).expect("it fits")
}
