//! Bytes as hexadecimal digits, as people know build ids and tags.

/// Two digits for each byte.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The reverse of [`to_hex`]; `None` where there are other digits.
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
    fn digits_of_bytes_and_back() {
        assert_eq!(to_hex(&[0x0a, 0xf0]), "0af0");
        assert_eq!((from_hex(b"0AF0"), from_hex(b"0af"), from_hex(b"xy")), (Some(vec![0x0a, 0xf0]), None, None));
    }
}
