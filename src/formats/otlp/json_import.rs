//! Numbers in the JSON of protobuf: with or without quotes.

use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

/// A number as text, or as a number.
struct JsonNumber<T>(T);

/// Deserializes a number.
///
/// # Errors
/// If it is none, or out of range.
pub(crate) fn number<'de, D: Deserializer<'de>, T: ProtoNumber>(deserializer: D) -> Result<T, D::Error> {
    Ok(JsonNumber::deserialize(deserializer)?.0)
}

/// Deserializes a number that may be missing.
///
/// # Errors
/// As [`number`].
pub(crate) fn optional_number<'de, D: Deserializer<'de>, T: ProtoNumber>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(Option::<JsonNumber<T>>::deserialize(deserializer)?.map(|number| number.0))
}

/// Deserializes a list of numbers.
///
/// # Errors
/// As [`number`].
pub(crate) fn numbers<'de, D: Deserializer<'de>, T: ProtoNumber>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct List<T>(PhantomData<T>);
    impl<'de, T: ProtoNumber> Visitor<'de> for List<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of numbers")
        }

        fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
            let mut numbers = Vec::new();
            while let Some(JsonNumber(number)) = list.next_element()? {
                numbers.push(number);
            }
            Ok(numbers)
        }
    }
    deserializer.deserialize_seq(List(PhantomData))
}

/// A number of protobuf.
pub(crate) trait ProtoNumber: FromStr + TryFrom<u64> + TryFrom<i64> {}

impl ProtoNumber for i32 {}
impl ProtoNumber for i64 {}
impl ProtoNumber for u64 {}

impl<'de, T: ProtoNumber> Deserialize<'de> for JsonNumber<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor<T>(PhantomData<T>);
        impl<T: ProtoNumber> Visitor<'_> for NumberVisitor<T> {
            type Value = JsonNumber<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer in range")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                let invalid = |_| E::invalid_value(de::Unexpected::Unsigned(number), &self);
                T::try_from(number).map(JsonNumber).map_err(invalid)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                let invalid = |_| E::invalid_value(de::Unexpected::Signed(number), &self);
                T::try_from(number).map(JsonNumber).map_err(invalid)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                let invalid = |_| E::invalid_value(de::Unexpected::Str(text), &self);
                text.parse().map(JsonNumber).map_err(invalid)
            }
        }
        deserializer.deserialize_any(NumberVisitor(PhantomData))
    }
}
