//! Building blocks of JSON.

use crate::formats::json::append;
use perf_data::abi::serde::tokens::Unsupported;
use serde::Serialize;

/// Appends `,"name":` and a value; no comma at the start of an object.
pub(super) fn field(out: &mut Vec<u8>, name: &'static str, value: &impl Serialize) -> Result<(), Unsupported> {
    key(out, name);
    append(out, value)
}

/// Appends a field whose name is from the recording.
pub(super) fn recorded_field(out: &mut Vec<u8>, name: &str, value: &impl Serialize) -> Result<(), Unsupported> {
    comma(out);
    append(out, &name)?;
    out.push(b':');
    append(out, value)
}

/// Appends `,"name":` and a number, without quotes even if it is large.
pub(super) fn number(out: &mut Vec<u8>, name: &'static str, number: i64) {
    key(out, name);
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends `,"name":`; no comma at the start of an object. Names in this format need no escapes.
#[inline]
pub(super) fn key(out: &mut Vec<u8>, name: &'static str) {
    comma(out);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

#[inline]
fn comma(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_separated_and_numbers_unquoted() {
        let mut out = b"{".to_vec();
        number(&mut out, "t", i64::MAX);
        field(&mut out, "comm", &"a\"b").unwrap();
        recorded_field(&mut out, "a\"b", &1).unwrap();
        assert_eq!(out, br#"{"t":9223372036854775807,"comm":"a\"b","a\"b":1"#);
    }
}
