//! Values as JSON, by the rules of this format: fields without a value are left out, integers that JavaScript would round
//! are strings, bytes are base64.
//!
//! serde_json's own writer has no place for two of these rules: it has written a field's name before it sees that the field
//! has no value, and does not tell its formatter which numbers are shown in hexadecimal. Strings and digits are left to
//! libraries.

use super::digits::{MAX_SAFE, append_hex, append_integer};
use super::presence::is_present;
use crate::abi::readable;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Serialize, Serializer, ser};
use std::fmt::Display;

/// Appends the JSON of a value to `out`.
///
/// # Errors
/// Where the value is not one that this format tells, such as a float.
pub fn append(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Unsupported> {
    value.serialize(&mut Writer { out, hex: false })
}

/// A kind of value that no definition has.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unsupported(String);

impl Unsupported {
    /// Says what it is.
    pub fn new(what: &str) -> Self {
        Self(what.to_owned())
    }
}

impl ser::Error for Unsupported {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Writes JSON.
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Whether numbers are shown in hexadecimal.
    hex: bool,
}

type Written = Result<(), Unsupported>;

impl Writer<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn integer(&mut self, value: u64) {
        if !self.hex {
            return append_integer(self.out, value);
        }
        self.out.push(b'"');
        append_hex(self.out, value);
        self.out.push(b'"');
    }

    /// A name of a definition, which has nothing to be escaped.
    fn name(&mut self, name: &str) {
        self.out.push(b'"');
        self.push(name.as_bytes());
        self.out.push(b'"');
    }
}

/// What the parts of an array or object are written through.
struct Parts<'w, 'a> {
    writer: &'w mut Writer<'a>,
    is_first: bool,
    /// What closes it.
    end: &'static [u8],
}

impl<'w, 'a> Parts<'w, 'a> {
    fn begin(writer: &'w mut Writer<'a>, start: &[u8], end: &'static [u8]) -> Self {
        writer.push(start);
        Self { writer, is_first: true, end }
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.writer.out.push(b',');
        }
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> Written {
        self.comma();
        value.serialize(&mut *self.writer)
    }

    /// A field, if it has a value.
    fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Written {
        if !is_present(value) {
            return Ok(());
        }
        self.comma();
        self.writer.name(key);
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Written {
        self.writer.push(self.end);
        Ok(())
    }
}

impl<'w, 'a> Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Parts<'w, 'a>;
    type SerializeTuple = Parts<'w, 'a>;
    type SerializeTupleStruct = Parts<'w, 'a>;
    type SerializeTupleVariant = Parts<'w, 'a>;
    type SerializeMap = Parts<'w, 'a>;
    type SerializeStruct = Parts<'w, 'a>;
    type SerializeStructVariant = Parts<'w, 'a>;

    fn serialize_bool(self, value: bool) -> Written {
        self.push(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i16(self, value: i16) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i32(self, value: i32) -> Written {
        self.serialize_i64(value.into())
    }

    fn serialize_i64(self, value: i64) -> Written {
        if let Ok(value) = u64::try_from(value) {
            return self.serialize_u64(value);
        }
        let quote: &[u8] = if self.hex || value.unsigned_abs() > MAX_SAFE { b"\"" } else { b"" };
        self.push(quote);
        self.out.push(b'-');
        if self.hex {
            append_hex(self.out, value.unsigned_abs());
        } else {
            self.push(itoa::Buffer::new().format(value.unsigned_abs()).as_bytes());
        }
        self.push(quote);
        Ok(())
    }

    fn serialize_u8(self, value: u8) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u16(self, value: u16) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u32(self, value: u32) -> Written {
        self.serialize_u64(value.into())
    }

    fn serialize_u64(self, value: u64) -> Written {
        self.integer(value);
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> Written {
        Err(Unsupported::new("a float"))
    }

    fn serialize_f64(self, _: f64) -> Written {
        Err(Unsupported::new("a float"))
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Written {
        serde_json::to_writer(&mut *self.out, value).map_err(ser::Error::custom)
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Written {
        serde_json::Serializer::new(&mut *self.out).collect_str(value).map_err(ser::Error::custom)
    }

    fn serialize_bytes(self, value: &[u8]) -> Written {
        self.out.push(b'"');
        let start = self.out.len();
        self.out.resize(start + value.len().div_ceil(3) * 4, 0);
        BASE64.encode_slice(value, &mut self.out[start..]).map_err(ser::Error::custom)?;
        self.out.push(b'"');
        Ok(())
    }

    fn serialize_none(self) -> Written {
        self.push(b"null");
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.push(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.push(b"{}");
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Written {
        let was_hex = self.hex;
        self.hex |= name == readable::HEX;
        value.serialize(&mut *self)?;
        self.hex = was_hex;
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        let mut parts = Parts::begin(self, b"{", b"}");
        parts.field(variant, value)?;
        parts.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'w, 'a>, Unsupported> {
        Ok(Parts::begin(self, b"[", b"]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'w, 'a>, Unsupported> {
        self.push(b"{");
        self.name(variant);
        Ok(Parts::begin(self, b":[", b"]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'w, 'a>, Unsupported> {
        Ok(Parts::begin(self, b"{", b"}"))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'w, 'a>, Unsupported> {
        self.push(b"{");
        self.name(variant);
        Ok(Parts::begin(self, b":{", b"}}"))
    }
}

/// Implements the traits of what has elements.
macro_rules! elements {
    ($($trait:ident: $method:ident,)*) => {
        $(
            impl ser::$trait for Parts<'_, '_> {
                type Ok = ();
                type Error = Unsupported;

                fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
                    self.element(value)
                }

                fn end(self) -> Written {
                    self.close()
                }
            }
        )*
    };
}

elements! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

/// Implements the traits of what has fields.
macro_rules! fields {
    ($($trait:ident),*) => {
        $(
            impl ser::$trait for Parts<'_, '_> {
                type Ok = ();
                type Error = Unsupported;

                fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Written {
                    self.field(key, value)
                }

                fn end(self) -> Written {
                    self.close()
                }
            }
        )*
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Parts<'_, '_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        self.element(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        self.writer.out.push(b':');
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Written {
        self.close()
    }
}
