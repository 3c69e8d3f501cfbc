//! Writes fields of protobuf messages, faster than prost for messages that are written by the million, and without it where the
//! feature `protobuf` is disabled.

/// Maximum length of a varint.
#[cfg(feature = "protobuf")]
pub(crate) const LONGEST: usize = 10;
/// Wire types of varints, and of length-delimited fields.
const NUMBER: u32 = 0;
const LENGTH: u32 = 2;

/// Appends a number. Always inlined: calls take a tenth of the time of PerfDataProto.
#[inline(always)]
pub(crate) fn put(out: &mut Vec<u8>, field: u32, value: u64) {
    key(out, field, NUMBER);
    varint(out, value);
}

/// Appends a number unless it is 0, the default of fields without presence.
#[cfg(feature = "protobuf")]
#[inline]
pub(crate) fn put_nonzero(out: &mut Vec<u8>, field: u32, value: u64) {
    if value != 0 {
        put(out, field, value);
    }
}

/// Appends packed numbers, of which there must be some.
#[cfg(feature = "protobuf")]
#[inline]
pub(crate) fn put_packed(out: &mut Vec<u8>, field: u32, values: impl ExactSizeIterator<Item = u64>) {
    out.reserve(values.len() * LONGEST);
    put_message(out, field, |out| values.for_each(|value| varint(out, value)));
}

/// Appends bytes or a string.
pub(crate) fn put_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    key(out, field, LENGTH);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a message, whose fields are appended by `write`.
#[inline]
pub(crate) fn put_message(out: &mut Vec<u8>, field: u32, write: impl FnOnce(&mut Vec<u8>)) {
    key(out, field, LENGTH);
    // Most messages are short.
    out.push(0);
    let start = out.len();
    write(out);
    let len = out.len() - start;
    if len < 0x80 {
        out[start - 1] = len as u8;
    } else {
        insert_len(out, start, len as u64);
    }
}

/// Replaces the byte before a message by the length of the message, which is longer.
fn insert_len(out: &mut Vec<u8>, start: usize, len: u64) {
    let more = varint_len(len) - 1;
    let end = out.len();
    out.resize(end + more, 0);
    out.copy_within(start..end, start + more);
    let mut encoded = Vec::with_capacity(16);
    varint(&mut encoded, len);
    out[start - 1..start + more].copy_from_slice(&encoded);
}

#[inline]
fn key(out: &mut Vec<u8>, field: u32, kind: u32) {
    varint(out, (field << 3 | kind).into());
}

/// Encoded length of a varint.
fn varint_len(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Appends a varint.
#[inline]
pub(crate) fn varint(out: &mut Vec<u8>, value: u64) {
    if value < 0x80 { out.push(value as u8) } else { long_varint(out, value) }
}

/// Appends a varint of several bytes.
fn long_varint(out: &mut Vec<u8>, value: u64) {
    let len = varint_len(value);
    let mut bytes = [0; 16];
    // Spreads 56 bits to 8 bytes of 7 bits, by halves, quarters and eighths.
    let spread = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let spread = spread & 0x0000_3fff_0000_3fff | (spread & 0x0fff_c000_0fff_c000) << 2;
    let spread = spread & 0x007f_007f_007f_007f | (spread & 0x3f80_3f80_3f80_3f80) << 1;
    bytes[..8].copy_from_slice(&(spread | 0x8080_8080_8080_8080).to_le_bytes());
    bytes[8] = (value >> 56) as u8 | 0x80;
    bytes[9] = (value >> 63) as u8;
    bytes[len - 1] &= 0x7f;
    // A copy of constant length compiles to stores instead of a call.
    let at = out.len();
    out.extend_from_slice(&bytes);
    out.truncate(at + len);
}

#[cfg(all(test, feature = "protobuf"))]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use prost::encoding::{self, encode_varint};

    /// Numbers of every encoded length.
    pub(crate) fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(number, shift)| number >> shift)
    }

    proptest! {
        #[test]
        fn varints_match_prost(value in number()) {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            varint(&mut ours, value);
            encode_varint(value, &mut theirs);
            prop_assert_eq!(varint_len(value), theirs.len());
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn packed_numbers_match_prost(values in vec(number(), 1..5000), field in 1..3000_u32) {
            let (mut ours, mut theirs) = (vec![7], vec![7]);
            put_packed(&mut ours, field, values.iter().copied());
            encoding::uint64::encode_packed(field, &values, &mut theirs);
            prop_assert_eq!(ours, theirs);
        }
    }
}
