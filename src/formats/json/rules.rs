//! The rules by which this format tells values, on top of serde_json's reader: integers may be strings, bytes are base64,
//! and fields that a structure does not have are refused.

use crate::abi::readable;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// A reader, or a part of one, under these rules.
pub struct Ruled<T>(pub T);

/// Visits what a reader of JSON finds, for a visitor of a definition.
struct Found<V>(V);

/// Visits an integer, or a string that is one.
struct Integer<V>(V);

/// Visits a string that tells bytes.
struct Bytes<V>(V);

/// Visits an object without fields.
struct Empty<V>(V);

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Ruled<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Value, D::Error> {
        self.0.deserialize(Ruled(deserializer))
    }
}

/// Methods that read any integer.
macro_rules! integers {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
                self.0.deserialize_any(Integer(visitor))
            }
        )*
    };
}

/// Methods that go on by the same rules.
macro_rules! forward {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {
        $(
            fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
                self.0.$method($($argument,)* Found(visitor))
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Ruled<D> {
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
        self.0.deserialize_str(Bytes(visitor))
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_str(Bytes(visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Empty(visitor))
    }

    /// Structures ignore what they have no field for.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, D::Error> {
        Err(D::Error::custom("there is no such field"))
    }

    forward_to_deserialize_any! { i128 u128 f32 f64 char }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Found<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.0.visit_bool(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.0.visit_f64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        self.0.visit_str(text)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<V::Value, E> {
        self.0.visit_borrowed_str(text)
    }

    fn visit_string<E: Error>(self, text: String) -> Result<V::Value, E> {
        self.0.visit_string(text)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Ruled(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Ruled(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Ruled(seq))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Ruled(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<V::Value, A::Error> {
        self.0.visit_enum(Ruled(access))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Ruled<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Ruled(seed))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Ruled<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(Ruled(seed))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Ruled(seed))
    }
}

impl<'de, A: EnumAccess<'de>> EnumAccess<'de> for Ruled<A> {
    type Error = A::Error;
    type Variant = Ruled<A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Ruled<A::Variant>), A::Error> {
        self.0.variant_seed(Ruled(seed)).map(|(value, variant)| (value, Ruled(variant)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Ruled<A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.0.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        self.0.newtype_variant_seed(Ruled(seed))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.0.tuple_variant(len, Found(visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.struct_variant(fields, Found(visitor))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Integer<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.0.visit_u64(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.0.visit_i64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let wrong = || E::custom(format_args!("{text:?} is no integer of 64 bits"));
        let number = readable::number(digits).ok_or_else(wrong)?;
        if digits.len() == text.len() {
            return self.0.visit_u64(number);
        }
        self.0.visit_i64(0_i64.checked_sub_unsigned(number).ok_or_else(wrong)?)
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Bytes<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes in base64")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V::Value, E> {
        let bytes = BASE64.decode(text).map_err(|e| E::custom(format_args!("it is no base64: {e}")))?;
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
            Some(field) => Err(A::Error::custom(format_args!("there is no field {field}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::field_error::read;
    use super::super::value_writer::append;
    use crate::abi::record::mmap::Mmap;
    use proptest::prelude::*;

    #[test]
    fn integers_may_be_strings_and_large_ones_are() {
        let mut json = Vec::new();
        append(&mut json, &[0, (1 << 53) - 1, 1 << 53, u64::MAX]).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert_eq!(json, r#"[0,9007199254740991,"9007199254740992","18446744073709551615"]"#);
        assert_eq!(read::<Vec<u64>>(&json).unwrap(), [0, (1 << 53) - 1, 1 << 53, u64::MAX]);
        assert_eq!(read::<Vec<u64>>(r#"["0x10", 16, "16"]"#).unwrap(), [16; 3]);
        assert_eq!(read::<Vec<i64>>(r#"[-1, "-9223372036854775808"]"#).unwrap(), [-1, i64::MIN]);
        let wrong = |json| read::<Vec<u8>>(json).unwrap_err().to_string();
        assert_eq!(wrong("[1,300]"), "[1]: invalid value: integer `300`, expected u8");
        assert_eq!(wrong("[1.5]"), "[0]: invalid type: floating point `1.5`, expected u8");
        assert_eq!(wrong(r#"["+1"]"#), r#"[0]: "+1" is no integer of 64 bits"#);
    }

    proptest! {
        #[test]
        fn strings_come_back(text: String) {
            let mut json = Vec::new();
            append(&mut json, &text).unwrap();
            prop_assert_eq!(read::<String>(std::str::from_utf8(&json).unwrap()).unwrap(), text);
        }

        #[test]
        fn whatever_the_bytes_nothing_panics(json in "[\\[\\]{}:,\"a-f0-9x\\\\u -]{0,60}") {
            let _ = read::<Mmap>(&json);
            let _ = read::<Vec<String>>(&json);
        }
    }
}
