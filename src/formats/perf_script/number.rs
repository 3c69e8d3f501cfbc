//! Prints aligned numbers. The first line of a sample consists of little else, and `write!` takes several times as long.

/// Appends a number after as many spaces as the width needs.
pub(super) fn right(out: &mut Vec<u8>, number: impl itoa::Integer, width: usize) {
    filled(out, number, width, b' ');
}

/// Appends a number, with as many zeros before its digits as the width needs.
pub(super) fn zeros(out: &mut Vec<u8>, number: i32, width: usize) {
    if number < 0 {
        out.push(b'-');
    }
    filled(out, number.unsigned_abs(), width.saturating_sub((number < 0).into()), b'0');
}

/// Appends an address in hexadecimal, after as many spaces as 16 digits need.
pub(super) fn address(out: &mut Vec<u8>, address: u64) {
    let width = (u64::BITS - address.leading_zeros()).div_ceil(4).max(1);
    out.extend((0..16).rev().map(|position| match (address >> (4 * position) & 15) as usize {
        _ if position >= width => b' ',
        digit => b"0123456789abcdef"[digit],
    }));
}

/// Appends a number, then as many spaces as the width needs.
pub(super) fn left(out: &mut Vec<u8>, number: impl itoa::Integer, width: usize) {
    let end = out.len() + width;
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.resize(out.len().max(end), b' ');
}

fn filled(out: &mut Vec<u8>, number: impl itoa::Integer, width: usize, fill: u8) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    out.resize(out.len() + width.saturating_sub(digits.len()), fill);
    out.extend_from_slice(digits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_match_the_standard_library(number: i32, word: u64, shift in 0..64_u32, width in 0..12_usize) {
            let (number, word) = (number >> (shift / 2), word >> shift);
            let print = |print: &dyn Fn(&mut Vec<u8>)| {
                let mut out = b"x".to_vec();
                print(&mut out);
                String::from_utf8(out).unwrap()
            };
            prop_assert_eq!(print(&|out| right(out, number, width)), format!("x{number:width$}"));
            prop_assert_eq!(print(&|out| left(out, number, width)), format!("x{number:<width$}"));
            prop_assert_eq!(print(&|out| zeros(out, number, width)), format!("x{number:0width$}"));
            prop_assert_eq!(print(&|out| address(out, word)), format!("x{word:16x}"));
        }
    }
}
