//! Prints aligned decimal numbers. Head lines consist of little else, and formatting by `write!` takes longer than the frames.

/// Appends a number after as many spaces as the width needs.
pub fn right(out: &mut Vec<u8>, number: impl itoa::Integer, width: usize) {
    filled(out, number, width, b' ');
}

/// Appends a number that is not negative, after as many zeros as the width needs.
pub fn zeros(out: &mut Vec<u8>, number: u64, width: usize) {
    filled(out, number, width, b'0');
}

/// Appends a number, then as many spaces as the width needs.
pub fn left(out: &mut Vec<u8>, number: impl itoa::Integer, width: usize) {
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
        fn numbers_match_the_standard_library(number: i32, shift in 0..32_u32, width in 0..12_usize) {
            let number = number >> shift;
            let print = |print: &dyn Fn(&mut Vec<u8>)| {
                let mut out = b"x".to_vec();
                print(&mut out);
                String::from_utf8(out).unwrap()
            };
            prop_assert_eq!(print(&|out| right(out, number, width)), format!("x{number:width$}"));
            prop_assert_eq!(print(&|out| left(out, number, width)), format!("x{number:<width$}"));
            let positive = u64::from(number.unsigned_abs());
            prop_assert_eq!(print(&|out| zeros(out, positive, width)), format!("x{positive:0width$}"));
        }
    }
}
