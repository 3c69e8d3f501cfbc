//! Serializes values as JSON by the rules of this format: fields without a value are omitted, integers that
//! JavaScript would round are strings, bytes are base64.

use super::digits::{MAX_SAFE, append_hex, append_integer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use perf_data::abi::serde::tokens;
use perf_data::abi::serde::tokens::{Group, Integer, Key, TokenSink, Unsupported};
use serde::{Serialize, Serializer};
use std::fmt;
use std::io::Write;

/// Appends a value as JSON to `out`.
///
/// # Errors
/// If the value has an unsupported type, such as a float that is not finite.
pub fn append(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Unsupported> {
    tokens::write(&mut Json(out), value)
}

struct Json<'a>(&'a mut Vec<u8>);

impl Json<'_> {
    /// Appends the name of a field or variant, which needs no escaping.
    fn name(&mut self, name: &str) {
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.push(b'"');
    }

    fn comma(&mut self, count: usize) {
        if count > 0 {
            self.0.push(b',');
        }
    }
}

impl TokenSink for Json<'_> {
    fn written(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    fn null(&mut self) {
        self.0.extend_from_slice(b"null");
    }

    fn unit(&mut self) {
        self.0.extend_from_slice(b"{}");
    }

    fn boolean(&mut self, value: bool) {
        self.0.extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn float(&mut self, value: f64) {
        // Writing to a vector cannot fail.
        let _ = write!(self.0, "{value}");
    }

    fn integer(&mut self, Integer { is_negative, magnitude }: Integer, is_hex: bool) {
        if !is_hex && !is_negative {
            return append_integer(self.0, magnitude);
        }
        let quote: &[u8] = if is_hex || magnitude > MAX_SAFE { b"\"" } else { b"" };
        self.0.extend_from_slice(quote);
        if is_negative {
            self.0.push(b'-');
        }
        if is_hex {
            append_hex(self.0, magnitude);
        } else {
            self.0.extend_from_slice(itoa::Buffer::new().format(magnitude).as_bytes());
        }
        self.0.extend_from_slice(quote);
    }

    fn text(&mut self, value: &str) {
        // Writing to a `Vec` cannot fail.
        let _ = serde_json::to_writer(&mut *self.0, value);
    }

    fn display(&mut self, value: fmt::Arguments<'_>) {
        let _ = serde_json::Serializer::new(&mut *self.0).collect_str(&value);
    }

    fn bytes(&mut self, value: &[u8]) {
        self.0.push(b'"');
        let start = self.0.len();
        self.0.resize(start + value.len().div_ceil(3) * 4, 0);
        // The buffer has exactly the encoded size.
        let _ = BASE64.encode_slice(value, &mut self.0[start..]);
        self.0.push(b'"');
    }

    fn begin(&mut self, group: Group) {
        match group {
            Group::List => self.0.push(b'['),
            Group::Object => self.0.push(b'{'),
            Group::Variant(name) => {
                self.0.push(b'{');
                self.name(name);
                self.0.extend_from_slice(b":{");
            }
        }
    }

    fn begin_element(&mut self, count: usize) {
        self.comma(count);
    }

    fn end_element(&mut self, _: usize) {}

    fn begin_field(&mut self, key: Key<'_>, count: usize) {
        self.comma(count);
        match key {
            Key::Name(name) => self.name(name),
            Key::Text(text) => self.text(text),
        }
        self.0.push(b':');
    }

    fn end_field(&mut self, _: usize) {}

    fn end(&mut self, group: Group, _: usize, _: usize) {
        let end: &[u8] = match group {
            Group::List => b"]",
            Group::Object => b"}",
            Group::Variant(_) => b"}}",
        };
        self.0.extend_from_slice(end);
    }
}
