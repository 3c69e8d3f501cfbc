//! Bytes as hexadecimal digits, for build IDs and tags.

/// Encodes bytes with two digits each.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The inverse of [`to_hex`]; `None` for other characters or an odd number of digits.
pub fn from_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs.iter().map(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8)).collect();
    if rest.is_empty() { bytes } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_and_decodes() {
        assert_eq!(to_hex(&[0x0a, 0xf0]), "0af0");
        assert_eq!((from_hex(b"0AF0"), from_hex(b"0af"), from_hex(b"xy")), (Some(vec![0x0a, 0xf0]), None, None));
    }
}
