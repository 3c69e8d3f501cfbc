//! Deserializes values by the rules of this format, on top of serde_json: integers may be strings, bytes are base64,
//! and unknown fields are rejected.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use perf_data::abi::serde::readable;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::cell::RefCell;
use std::fmt;

/// A deserializer, or a part of one, with these rules.
pub(super) struct RuleDeserializer<'t, T> {
    inner: T,
    /// Where the path of the current value is recorded. One type serves both uses, since it is instantiated for every
    /// definition and instantiating it twice would double the code.
    path: Option<&'t RefCell<FieldPath>>,
    /// Whether the value is the name of a field or variant.
    is_name: bool,
    /// Index of the next list element.
    index: usize,
}

/// Path of the current value; after an error, of the invalid value.
#[derive(Debug, Default)]
pub(super) struct FieldPath {
    segments: Vec<String>,
    /// The last name, until its value is read.
    name: Option<String>,
}

/// Placeholder for a name that is not a string.
const UNKNOWN: &str = "?";

/// Wraps a visitor to record names and pass the rules on.
struct RuleVisitor<'t, V> {
    visitor: V,
    path: Option<&'t RefCell<FieldPath>>,
    is_name: bool,
}

impl<T> RuleDeserializer<'_, T> {
    /// Applies the rules.
    pub(super) fn new(inner: T) -> Self {
        Self { inner, path: None, is_name: false, index: 0 }
    }
}

impl<'t, T> RuleDeserializer<'t, T> {
    /// Applies the rules, and records the path of the value.
    pub(super) fn with_path(inner: T, path: &'t RefCell<FieldPath>) -> Self {
        Self { path: Some(path), ..Self::new(inner) }
    }

    fn part<U>(&self, inner: U) -> RuleDeserializer<'t, U> {
        RuleDeserializer { inner, path: self.path, is_name: false, index: 0 }
    }

    fn name<U>(&self, inner: U) -> RuleDeserializer<'t, U> {
        RuleDeserializer { is_name: true, ..self.part(inner) }
    }

    fn visitor<V>(&self, visitor: V) -> RuleVisitor<'t, V> {
        RuleVisitor { visitor, path: self.path, is_name: self.is_name }
    }

    fn push_segment(&self, segment: impl FnOnce(&mut FieldPath) -> String) {
        if let Some(path) = self.path {
            let path = &mut *path.borrow_mut();
            let segment = segment(path);
            path.segments.push(segment);
        }
    }

    /// Leaves a valid value. An invalid one remains in the path.
    fn pop_segment(&self) {
        if let Some(path) = self.path {
            path.borrow_mut().segments.pop();
        }
    }

    fn pop_if_valid<V, E>(&self, read: Result<V, E>) -> Result<V, E> {
        read.inspect(|_| self.pop_segment())
    }
}

impl FieldPath {
    fn take_name(&mut self) -> String {
        self.name.take().unwrap_or_else(|| UNKNOWN.to_owned())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            if index > 0 && !segment.starts_with('[') {
                f.write_str(".")?;
            }
            f.write_str(segment)?;
        }
        Ok(())
    }
}

impl<V> RuleVisitor<'_, V> {
    fn note_name(&self, name: &str) {
        if let (true, Some(path)) = (self.is_name, self.path) {
            path.borrow_mut().name = Some(name.to_owned());
        }
    }
}

/// Visits an integer, or a string that contains one.
struct Integer<'t, V>(RuleVisitor<'t, V>);

/// Visits a base64 string.
struct Bytes<V>(V);

/// Visits an object without fields.
struct Empty<V>(V);

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for RuleDeserializer<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        let Self { inner, path, is_name, index } = self;
        inner.deserialize(RuleDeserializer { inner: deserializer, path, is_name, index })
    }
}

/// Methods that accept any integer.
macro_rules! integers {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                let visitor = self.visitor(visitor);
                self.inner.deserialize_any(Integer(visitor))
            }
        )*
    };
}

/// Methods that forward to the inner deserializer with a wrapped visitor.
macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(
            fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
                let visitor = self.visitor(visitor);
                self.inner.$method($($argument,)* visitor)
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for RuleDeserializer<'_, D> {
    type Error = D::Error;

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    forward! {
        deserialize_any()
        deserialize_bool()
        deserialize_str()
        deserialize_string()
        deserialize_identifier()
        deserialize_option()
        deserialize_unit()
        deserialize_seq()
        deserialize_map()
        deserialize_tuple(len: usize)
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_str(Bytes(visitor))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_str(Bytes(visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(Empty(visitor))
    }

    /// serde derives call this for unknown fields.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, D::Error> {
        Err(D::Error::custom("unknown field"))
    }

    forward_to_deserialize_any! { i128 u128 f32 f64 char }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for RuleVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.visitor.visit_bool(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.visitor.visit_u64(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.visitor.visit_i64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.visitor.visit_f64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.note_name(text);
        self.visitor.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.note_name(text);
        self.visitor.visit_borrowed_str(text)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<V::Value, E> {
        self.note_name(&text);
        self.visitor.visit_string(text)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(RuleDeserializer { inner: deserializer, path: self.path, is_name: false, index: 0 })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(RuleDeserializer {
            inner: deserializer,
            path: self.path,
            is_name: self.is_name,
            index: 0,
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(RuleDeserializer { inner: seq, path: self.path, is_name: false, index: 0 })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(RuleDeserializer { inner: map, path: self.path, is_name: false, index: 0 })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(RuleDeserializer { inner: access, path: self.path, is_name: false, index: 0 })
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for RuleDeserializer<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let index = self.index;
        self.index += 1;
        self.push_segment(|_| format!("[{index}]"));
        let seed = self.part(seed);
        let read = self.inner.next_element_seed(seed);
        self.pop_if_valid(read)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for RuleDeserializer<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let seed = self.name(seed);
        self.inner.next_key_seed(seed).inspect_err(|_| self.push_segment(FieldPath::take_name))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.push_segment(FieldPath::take_name);
        let seed = self.part(seed);
        let read = self.inner.next_value_seed(seed);
        self.pop_if_valid(read)
    }
}

impl<'de, 't, A: EnumAccess<'de>> EnumAccess<'de> for RuleDeserializer<'t, A> {
    type Error = A::Error;
    type Variant = RuleDeserializer<'t, A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, RuleDeserializer<'t, A::Variant>), A::Error> {
        let seed = self.name(seed);
        let outer = self.part(());
        let (value, variant) = self.inner.variant_seed(seed)?;
        outer.push_segment(FieldPath::take_name);
        Ok((value, outer.part(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for RuleDeserializer<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        let outer = self.part(());
        outer.pop_if_valid(self.inner.unit_variant())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        let (outer, seed) = (self.part(()), self.part(seed));
        outer.pop_if_valid(self.inner.newtype_variant_seed(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let (outer, wrapped) = (self.part(()), self.visitor(visitor));
        outer.pop_if_valid(self.inner.tuple_variant(len, wrapped))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let (outer, wrapped) = (self.part(()), self.visitor(visitor));
        outer.pop_if_valid(self.inner.struct_variant(fields, wrapped))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Integer<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.visitor.expecting(f)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visitor.visit_u64(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visitor.visit_i64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.0.note_name(text);
        let digits = text.strip_prefix('-').unwrap_or(text);
        let invalid = || E::custom(format_args!("'{text}' is not a 64-bit integer"));
        let number = readable::number(digits).ok_or_else(invalid)?;
        if digits.len() == text.len() {
            return self.0.visitor.visit_u64(number);
        }
        self.0.visitor.visit_i64(0_i64.checked_sub_unsigned(number).ok_or_else(invalid)?)
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bytes<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes in base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        let bytes = BASE64.decode(text).map_err(|e| E::custom(format_args!("invalid base64: {e}")))?;
        self.0.visit_byte_buf(bytes)
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Empty<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object without fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<V::Value, A::Error> {
        match map.next_key::<String>()? {
            None => self.0.visit_unit(),
            Some(field) => Err(A::Error::custom(format_args!("unknown field {field}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::field_error::read;
    use super::super::value_writer::append;
    use perf_data::abi::record::mmap::Mmap;
    use proptest::prelude::*;

    #[test]
    fn reads_integers_from_strings_and_writes_large_ones_as_strings() {
        let mut json = Vec::new();
        append(&mut json, &[0, (1 << 53) - 1, 1 << 53, u64::MAX]).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json, r#"[0,9007199254740991,"9007199254740992","18446744073709551615"]"#);
        assert_eq!(read::<Vec<u64>>(&json).unwrap(), [0, (1 << 53) - 1, 1 << 53, u64::MAX]);
        assert_eq!(read::<Vec<u64>>(r#"["0x10", 16, "16"]"#).unwrap(), [16; 3]);
        assert_eq!(read::<Vec<i64>>(r#"[-1, "-9223372036854775808"]"#).unwrap(), [-1, i64::MIN]);
        let invalid = |json| read::<Vec<u8>>(json).unwrap_err().to_string();
        assert_eq!(invalid("[1,300]"), "[1]: invalid value: integer `300`, expected u8");
        assert_eq!(invalid("[1.5]"), "[0]: invalid type: floating point `1.5`, expected u8");
        assert_eq!(invalid(r#"["+1"]"#), "[0]: '+1' is not a 64-bit integer");
    }

    proptest! {
        #[test]
        fn strings_round_trip(text: String) {
            let mut json = Vec::new();
            append(&mut json, &text).unwrap();
            prop_assert_eq!(read::<String>(std::str::from_utf8(&json).unwrap()).unwrap(), text);
        }

        #[test]
        fn arbitrary_text_does_not_panic(json in "[\\[\\]{}:,\"a-f0-9x\\\\u -]{0,60}") {
            let _ = read::<Mmap>(&json);
            let _ = read::<Vec<String>>(&json);
        }
    }
}
