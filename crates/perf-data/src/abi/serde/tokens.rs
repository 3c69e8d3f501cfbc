//! Serialization of definitions as tokens, shared by all text formats.
//!
//! Tokens go to a `dyn` [`TokenSink`], so that the code is generated once: each serializer takes as long to compile as all
//! definitions together. Fields without a value are omitted.

use super::readable;
use serde::ser::{self, Error as _, Serialize, Serializer};
use std::fmt::{self, Display};

/// Serializes a value to a sink.
///
/// # Errors
/// If the value is of a kind that no definition has, such as a float that is not finite.
pub fn write(sink: &mut dyn TokenSink, value: &impl Serialize) -> WriteResult {
    value.serialize(&mut Tokens { sink, is_hex: false, is_none: false })
}

/// Result of serialization.
pub type WriteResult = Result<(), Unsupported>;

/// A kind of value that no definition has.
#[derive(Debug)]
pub struct Unsupported(String);

impl Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unsupported {}

impl ser::Error for Unsupported {
    fn custom<T: Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// An integer: sign and magnitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Whether it is negative.
    pub is_negative: bool,
    /// Its absolute value.
    pub magnitude: u64,
}

/// A kind of group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A list of elements.
    List,
    /// An object with fields.
    Object,
    /// Fields of an enum variant with this name.
    Variant(&'static str),
}

/// Key of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'a> {
    /// Name in a definition: letters, digits and underscores.
    Name(&'static str),
    /// Arbitrary text.
    Text(&'a str),
}

/// A text that tokens are appended to.
pub trait TokenSink {
    /// Length of the text.
    fn written(&self) -> usize;
    /// Truncates the text.
    fn truncate(&mut self, len: usize);
    /// No value, as an element of a list.
    fn null(&mut self);
    /// A structure without fields.
    fn unit(&mut self);
    /// True or false.
    fn boolean(&mut self, value: bool);
    /// An integer, possibly in hexadecimal.
    fn integer(&mut self, value: Integer, is_hex: bool);
    /// A floating-point number, which is finite.
    fn float(&mut self, value: f64);
    /// A string.
    fn text(&mut self, value: &str);
    /// A string from format arguments.
    fn display(&mut self, value: fmt::Arguments<'_>);
    /// Bytes.
    fn bytes(&mut self, value: &[u8]);
    /// Begins a group.
    fn begin(&mut self, group: Group);
    /// Begins an element after `count` others.
    fn begin_element(&mut self, count: usize);
    /// Ends the element that began at `start`.
    fn end_element(&mut self, start: usize);
    /// Begins the value of a field after `count` others.
    fn begin_field(&mut self, key: Key<'_>, count: usize);
    /// Ends the value that began at `start`.
    fn end_field(&mut self, start: usize);
    /// Ends the group whose content began at `start`.
    fn end(&mut self, group: Group, start: usize, count: usize);
}

/// Serializer to a sink.
struct Tokens<'s> {
    sink: &'s mut dyn TokenSink,
    /// Whether integers are in hexadecimal.
    is_hex: bool,
    /// Whether the last value was none.
    is_none: bool,
}

/// Serializer of the content of a group.
struct Parts<'w, 's> {
    tokens: &'w mut Tokens<'s>,
    group: Group,
    start: usize,
    count: usize,
    /// Key of the next value of a map.
    key: String,
}

impl<'w, 's> Parts<'w, 's> {
    fn begin(tokens: &'w mut Tokens<'s>, group: Group) -> Self {
        tokens.sink.begin(group);
        let start = tokens.sink.written();
        Self { tokens, group, start, count: 0, key: String::new() }
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> WriteResult {
        self.tokens.sink.begin_element(self.count);
        self.count += 1;
        let start = self.tokens.sink.written();
        value.serialize(&mut *self.tokens)?;
        self.tokens.sink.end_element(start);
        Ok(())
    }

    /// Serializes a field, if it has a value.
    fn field(&mut self, key: Key<'_>, value: &(impl Serialize + ?Sized)) -> WriteResult {
        let before = self.tokens.sink.written();
        self.tokens.sink.begin_field(key, self.count);
        let start = self.tokens.sink.written();
        self.tokens.is_none = false;
        value.serialize(&mut *self.tokens)?;
        if std::mem::take(&mut self.tokens.is_none) {
            self.tokens.sink.truncate(before);
            return Ok(());
        }
        self.count += 1;
        self.tokens.sink.end_field(start);
        Ok(())
    }

    fn close(self) -> WriteResult {
        self.tokens.is_none = false;
        self.tokens.sink.end(self.group, self.start, self.count);
        Ok(())
    }
}

/// Implements the methods for integers.
macro_rules! integers {
    ($($method:ident($type:ty) => $is_negative:expr,)*) => {
        $(
            fn $method(self, value: $type) -> WriteResult {
                let is_negative: fn($type) -> bool = $is_negative;
                let magnitude = if is_negative(value) { (value as i64).unsigned_abs() } else { value as u64 };
                self.sink.integer(Integer { is_negative: is_negative(value), magnitude }, self.is_hex);
                Ok(())
            }
        )*
    };
}

impl<'w, 's> Serializer for &'w mut Tokens<'s> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Parts<'w, 's>;
    type SerializeTuple = Parts<'w, 's>;
    type SerializeTupleStruct = Parts<'w, 's>;
    type SerializeTupleVariant = ser::Impossible<(), Unsupported>;
    type SerializeMap = Parts<'w, 's>;
    type SerializeStruct = Parts<'w, 's>;
    type SerializeStructVariant = Parts<'w, 's>;

    integers! {
        serialize_i8(i8) => |value| value < 0,
        serialize_i16(i16) => |value| value < 0,
        serialize_i32(i32) => |value| value < 0,
        serialize_i64(i64) => |value| value < 0,
        serialize_u8(u8) => |_| false,
        serialize_u16(u16) => |_| false,
        serialize_u32(u32) => |_| false,
        serialize_u64(u64) => |_| false,
    }

    fn serialize_bool(self, value: bool) -> WriteResult {
        self.sink.boolean(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> WriteResult {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> WriteResult {
        if !value.is_finite() {
            return Err(Unsupported::custom("a number that is not finite"));
        }
        self.sink.float(value);
        Ok(())
    }

    fn serialize_char(self, value: char) -> WriteResult {
        self.collect_str(&value)
    }

    fn serialize_str(self, value: &str) -> WriteResult {
        self.sink.text(value);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> WriteResult {
        self.sink.display(format_args!("{value}"));
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> WriteResult {
        self.sink.bytes(value);
        Ok(())
    }

    fn serialize_none(self) -> WriteResult {
        self.sink.null();
        self.is_none = true;
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> WriteResult {
        value.serialize(self)
    }

    fn serialize_unit(self) -> WriteResult {
        self.sink.null();
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> WriteResult {
        self.sink.unit();
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> WriteResult {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> WriteResult {
        let was_hex = self.is_hex;
        self.is_hex |= name == readable::HEX;
        value.serialize(&mut *self)?;
        self.is_hex = was_hex;
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> WriteResult {
        let mut parts = Parts::begin(self, Group::Object);
        parts.field(Key::Name(variant), value)?;
        parts.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'w, 's>, Unsupported> {
        Ok(Parts::begin(self, Group::List))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'w, 's>, Unsupported> {
        Ok(Parts::begin(self, Group::List))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'w, 's>, Unsupported> {
        Ok(Parts::begin(self, Group::List))
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

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'w, 's>, Unsupported> {
        Ok(Parts::begin(self, Group::Object))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'w, 's>, Unsupported> {
        Ok(Parts::begin(self, Group::Object))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'w, 's>, Unsupported> {
        Ok(Parts::begin(self, Group::Variant(variant)))
    }
}

/// Implements the traits of compound serializers.
macro_rules! parts {
    ($($trait:ident: $method:ident($($key:ident: $type:ty)?) => $put:ident;)*) => {
        $(
            impl ser::$trait for Parts<'_, '_> {
                type Ok = ();
                type Error = Unsupported;

                fn $method<T: Serialize + ?Sized>(&mut self, $($key: $type,)? value: &T) -> WriteResult {
                    self.$put($(Key::Name($key),)? value)
                }

                fn end(self) -> WriteResult {
                    self.close()
                }
            }
        )*
    };
}

parts! {
    SerializeSeq: serialize_element() => element;
    SerializeTuple: serialize_element() => element;
    SerializeTupleStruct: serialize_field() => element;
    SerializeStruct: serialize_field(key: &'static str) => field;
    SerializeStructVariant: serialize_field(key: &'static str) => field;
}

impl ser::SerializeMap for Parts<'_, '_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> WriteResult {
        self.key.clear();
        key.serialize(&mut Tokens { sink: &mut KeyText(&mut self.key), is_hex: false, is_none: false })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> WriteResult {
        let key = std::mem::take(&mut self.key);
        self.field(Key::Text(&key), value)
    }

    fn end(self) -> WriteResult {
        self.close()
    }
}

/// Collects the text of a map key.
struct KeyText<'a>(&'a mut String);

impl TokenSink for KeyText<'_> {
    fn written(&self) -> usize {
        self.0.len()
    }

    fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    fn integer(&mut self, value: Integer, _: bool) {
        let sign = if value.is_negative { "-" } else { "" };
        self.display(format_args!("{sign}{}", value.magnitude));
    }

    fn text(&mut self, value: &str) {
        self.0.push_str(value);
    }

    fn display(&mut self, value: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(self.0, value);
    }

    fn boolean(&mut self, value: bool) {
        self.display(format_args!("{value}"));
    }

    // Keys are none of these.
    fn float(&mut self, _: f64) {}
    fn null(&mut self) {}
    fn unit(&mut self) {}
    fn bytes(&mut self, _: &[u8]) {}
    fn begin(&mut self, _: Group) {}
    fn begin_element(&mut self, _: usize) {}
    fn end_element(&mut self, _: usize) {}
    fn begin_field(&mut self, _: Key<'_>, _: usize) {}
    fn end_field(&mut self, _: usize) {}
    fn end(&mut self, _: Group, _: usize, _: usize) {}
}
