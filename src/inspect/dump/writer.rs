//! Writes a value of a definition as text.

use super::parts::Parts;
use super::text::Unsupported;
use crate::abi::readable;
use serde::Serialize;
use serde::ser::{self, Error as _, Serializer};
use std::fmt::{self, Display, Write};

/// How many bytes are shown of opaque ones, where not all are asked for.
const OPAQUE: usize = 64;

/// Whether it could be written.
pub(super) type Written = Result<(), Unsupported>;

/// Writes values as text.
pub(super) struct Writer<'a> {
    pub out: &'a mut String,
    /// How many structures and lists what is written is in.
    pub depth: usize,
    /// Whether all of opaque bytes is shown.
    pub all_bytes: bool,
    /// Whether numbers are shown in hexadecimal.
    pub hex: bool,
    /// Whether what was written last is no value, which fields leave out.
    pub is_none: bool,
}

impl Writer<'_> {
    pub fn put(&mut self, value: impl Display) -> Written {
        write!(self.out, "{value}").map_err(Unsupported::custom)
    }

    fn integer(&mut self, value: impl Display + fmt::LowerHex) -> Written {
        if self.hex { self.put(format_args!("{value:#x}")) } else { self.put(value) }
    }

    /// Text that could be taken for something else is quoted.
    fn text(&mut self, text: &str) -> Written {
        let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%=~$*".contains(c);
        if !text.is_empty() && text.chars().all(is_plain) { self.put(text) } else { self.put(format_args!("{text:?}")) }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Written {
        let shown = if self.all_bytes { bytes } else { &bytes[..bytes.len().min(OPAQUE)] };
        self.put(format_args!("{} bytes", bytes.len()))?;
        if !shown.is_empty() {
            self.out.push(' ');
        }
        shown.iter().try_for_each(|byte| self.put(format_args!("{byte:02x}")))?;
        if shown.len() < bytes.len() { self.put("...") } else { Ok(()) }
    }

    /// What separates fields and elements that have lines of their own.
    pub fn separator(&self) -> &'static str {
        const LINES: &str = "\n                                                                ";
        &LINES[..(1 + 2 * self.depth).min(LINES.len())]
    }
}

/// Implements the methods for integers.
macro_rules! integers {
    ($($method:ident($type:ty),)*) => {
        $(
            fn $method(self, value: $type) -> Written {
                self.integer(value)
            }
        )*
    };
}

impl<'w, 'a> Serializer for &'w mut Writer<'a> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Parts<'w, 'a>;
    type SerializeTuple = Parts<'w, 'a>;
    type SerializeTupleStruct = Parts<'w, 'a>;
    type SerializeTupleVariant = ser::Impossible<(), Unsupported>;
    type SerializeMap = Parts<'w, 'a>;
    type SerializeStruct = Parts<'w, 'a>;
    type SerializeStructVariant = Parts<'w, 'a>;

    fn serialize_bool(self, value: bool) -> Written {
        self.put(value)
    }

    integers! {
        serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_i64(i64),
        serialize_u8(u8), serialize_u16(u16), serialize_u32(u32), serialize_u64(u64),
    }

    fn serialize_f32(self, _: f32) -> Written {
        Err(Unsupported("a float".into()))
    }

    fn serialize_f64(self, _: f64) -> Written {
        Err(Unsupported("a float".into()))
    }

    fn serialize_char(self, value: char) -> Written {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Written {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Written {
        self.bytes(value)
    }

    fn serialize_none(self) -> Written {
        self.is_none = true;
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.text(variant)
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
        let mut parts = Parts::begin(self, ["{", "}"]);
        parts.field(variant, value)?;
        parts.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'w, 'a>, Unsupported> {
        Ok(Parts::begin(self, ["[", "]"]))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'w, 'a>, Unsupported> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unsupported> {
        Err(Unsupported(format!("a variant of {name}")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'w, 'a>, Unsupported> {
        Ok(Parts::begin(self, ["{", "}"]))
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
        self.put(variant)?;
        Ok(Parts::begin(self, [" {", "}"]))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Written {
        self.text(&value.to_string())
    }
}
