//! Building blocks of JSON.

use crate::abi::tokens::Unsupported;
use crate::formats::json::append;
use serde::Serialize;

/// Appends `,"name":` and a value; no comma at the start of an object.
pub fn field(out: &mut Vec<u8>, name: &str, value: &impl Serialize) -> Result<(), Unsupported> {
    key(out, name);
    append(out, value)
}

/// Appends `,"name":` and a number, without quotes even if it is large.
pub fn number(out: &mut Vec<u8>, name: &str, number: i64) {
    key(out, name);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends `,"name":`; no comma at the start of an object.
pub fn key(out: &mut Vec<u8>, name: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_plain {
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.push(b'"');
    } else {
        // Serializing a string cannot fail.
        let _ = append(out, &name);
    }
    out.push(b':');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_separated_and_numbers_unquoted() {
        let mut out = b"{".to_vec();
        number(&mut out, "t", i64::MAX);
        field(&mut out, "comm", &"a\"b").unwrap();
        assert_eq!(out, br#"{"t":9223372036854775807,"comm":"a\"b""#);
    }
}
