//! Building blocks of JSON.

use crate::abi::tokens::Unsupported;
use crate::formats::json::append;
use crate::tracepoint::value::Value;
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

/// Formats the value of a tracepoint field as perf does.
pub fn write_value(text: &mut String, value: &Value<'_>) {
    use std::fmt::Write;
    text.clear();
    let written = match value {
        Value::Signed(number) => write!(text, "{number}"),
        Value::Unsigned(number) => write!(text, "{number}"),
        Value::Pointer(number) => write!(text, "{number:#x}"),
        Value::Text(bytes) => write!(text, "{}", String::from_utf8_lossy(bytes)),
        Value::Numbers(numbers) => array(text, numbers.bytes),
        Value::Bytes(bytes) => array(text, bytes),
    };
    // Writing to a `String` cannot fail.
    let _ = written;
}

fn array(text: &mut String, bytes: &[u8]) -> std::fmt::Result {
    use std::fmt::Write;
    text.push_str("ARRAY[");
    for (at, byte) in bytes.iter().enumerate() {
        write!(text, "{}{byte:02x}", if at == 0 { "" } else { ", " })?;
    }
    text.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_strings() {
        let mut text = String::new();
        let mut format_value = |value| {
            write_value(&mut text, &value);
            text.clone()
        };
        assert_eq!(format_value(Value::Signed(-3)), "-3");
        assert_eq!(format_value(Value::Pointer(0xffff)), "0xffff");
        assert_eq!(format_value(Value::Text(b"cat")), "cat");
        assert_eq!(format_value(Value::Bytes(&[0, 0xab])), "ARRAY[00, ab]");
    }

    #[test]
    fn fields_are_separated_and_numbers_unquoted() {
        let mut out = b"{".to_vec();
        number(&mut out, "t", i64::MAX);
        field(&mut out, "comm", &"a\"b").unwrap();
        assert_eq!(out, br#"{"t":9223372036854775807,"comm":"a\"b""#);
    }
}
