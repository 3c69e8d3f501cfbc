//! Writes integers as JSON, by the rules of this format.

/// The largest integer below which all are exact in a `double`: 2^53-1.
pub(super) const MAX_SAFE: u64 = (1 << 53) - 1;

/// The two hexadecimal digits of each byte.
const PAIRS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    pairs
};

/// Appends an integer as decimal digits, in quotes where JavaScript would round it.
#[inline]
pub(super) fn append_integer(out: &mut Vec<u8>, number: u64) {
    if number <= MAX_SAFE {
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    } else {
        out.push(b'"');
        out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        out.push(b'"');
    }
}

/// Appends a number in hexadecimal with `0x`, without quotes.
#[inline]
pub(crate) fn append_hex(out: &mut Vec<u8>, number: u64) {
    let absent = number.leading_zeros().min(u64::BITS - 1) / 4;
    // Copies 16 digits from the first significant one on and truncates: a copy of fixed length is fast.
    let mut text = *b"0x................";
    for (pair, byte) in text[2..].as_chunks_mut().0.iter_mut().zip((number << (4 * absent)).to_be_bytes()) {
        *pair = PAIRS[usize::from(byte)];
    }
    out.extend_from_slice(&text);
    out.truncate(out.len() - absent as usize);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digits_match_the_standard_library(number: u64, shift in 0..64_u32) {
            let number = number >> shift;
            let (mut hex, mut decimal) = (Vec::new(), Vec::new());
            append_hex(&mut hex, number);
            append_integer(&mut decimal, number);
            prop_assert_eq!(String::from_utf8(hex).unwrap(), format!("{number:#x}"));
            let quote = if number > MAX_SAFE { "\"" } else { "" };
            prop_assert_eq!(String::from_utf8(decimal).unwrap(), format!("{quote}{number}{quote}"));
        }
    }
}
