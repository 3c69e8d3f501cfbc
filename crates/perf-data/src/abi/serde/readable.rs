//! Serialization of definitions for human-readable formats.
//!
//! serde's derives serialize the fields of structures. This module adds what they cannot know: hexadecimal numbers, bytes that
//! are text, names of values. Deserialization restores equal values.

use super::byte_string::{ByteString, OwnedByteString};
use crate::abi::bit_fields::BitField;
use crate::abi::hex::{from_hex, to_hex};
use binrw::NullString;
use bitflags::Flags;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Name of the newtype that formats show in hexadecimal: `"0xffff8000"`.
pub const HEX: &str = "$hex";

/// Serializes addresses and masks.
pub fn hex<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_newtype_struct(HEX, value)
}

/// Bytes shown as hexadecimal digits: build IDs, tags.
pub(crate) mod hex_bytes {
    use super::*;

    pub(crate) fn serialize<const N: usize, S: Serializer>(bytes: &[u8; N], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(bytes))
    }

    pub(crate) fn deserialize<'de, const N: usize, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; N], D::Error> {
        let digits = Cow::<str>::deserialize(deserializer)?;
        let bytes = from_hex(digits.as_bytes()).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| D::Error::custom(format_args!("expected {} hexadecimal digits", 2 * N)))
    }
}

/// Bytes that are text, of recorded length: a string, or `{"bytes": base64}` if they are not UTF-8.
pub mod text {
    use super::*;

    /// Serializes.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        Text { text: bytes.into(), room: None, padding: None }.serialize(serializer)
    }

    /// Deserializes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Text::deserialize(deserializer).map(|text| text.text.into_owned())
    }
}

/// A NUL-terminated string, without the NUL.
pub(crate) mod null_string {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(bytes: &NullString, serializer: S) -> Result<S::Ok, S::Error> {
        text::serialize(bytes, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NullString, D::Error> {
        text::deserialize(deserializer).map(NullString)
    }
}

/// Two numbers that share a word, as an object with their names.
macro_rules! pair {
    ($(#[$doc:meta])* $module:ident: $first:ident, $second:ident) => {
        $(#[$doc])*
        pub(crate) mod $module {
            use super::*;

            #[derive(Serialize, Deserialize)]
            struct Pair {
                $first: u32,
                $second: u32,
            }

            pub(crate) fn serialize<S: Serializer>(pair: &Option<(u32, u32)>, serializer: S) -> Result<S::Ok, S::Error> {
                pair.map(|($first, $second)| Pair { $first, $second }).serialize(serializer)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(u32, u32)>, D::Error> {
                let pair = Option::<Pair>::deserialize(deserializer)?;
                Ok(pair.map(|pair| (pair.$first, pair.$second)))
            }
        }
    };
}

pair! {
    /// Process and thread ID.
    task: pid, tid
}
pair! {
    /// CPU number and the unused half of its word.
    cpu: cpu, res
}

/// A string with details of its storage.
pub(crate) struct Text<'a> {
    pub text: Cow<'a, [u8]>,
    /// Size of string, NUL and padding, if not the default.
    pub room: Option<usize>,
    /// Bytes after the string, if not zeros.
    pub padding: Option<Cow<'a, [u8]>>,
}

impl<'a> Text<'a> {
    /// The string in stored bytes; `usual` gives the default size for its length.
    pub(crate) fn from_stored(stored: &'a [u8], usual: impl FnOnce(usize) -> usize) -> Self {
        let text = crate::abi::text::until_nul(stored);
        let padding = &stored[text.len()..];
        let is_zero = padding.len() <= MAX_ZEROS && padding.iter().all(|&byte| byte == 0);
        Self {
            text: text.into(),
            room: (stored.len() != usual(text.len())).then_some(stored.len()),
            padding: (!is_zero).then_some(padding.into()),
        }
    }

    /// The stored bytes. A string that exceeds its size extends it in steps of 8 bytes; the padding is kept only if it still fits
    /// exactly.
    pub(crate) fn into_bytes(self, usual: impl FnOnce(usize) -> usize) -> Vec<u8> {
        let mut bytes = self.text.into_owned();
        let mut room = self.room.unwrap_or_else(|| usual(bytes.len()));
        let is_exact = self.room == Some(bytes.len());
        if bytes.len() >= room && !is_exact {
            room += (bytes.len() + 1 - room).next_multiple_of(8);
        }
        match self.padding {
            Some(padding) if bytes.len() + padding.len() == room => bytes.extend_from_slice(&padding),
            _ => bytes.resize(room, 0),
        }
        bytes
    }
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let utf8 = std::str::from_utf8(&self.text).ok();
        if let (Some(text), None, None) = (utf8, self.room, &self.padding) {
            return serializer.serialize_str(text);
        }
        let mut object = serializer.serialize_struct("Text", 4)?;
        match utf8 {
            Some(text) => object.serialize_field("text", text)?,
            None => object.serialize_field("bytes", &ByteString(&self.text))?,
        }
        if let Some(room) = self.room {
            object.serialize_field("room", &room)?;
        }
        if let Some(padding) = &self.padding {
            object.serialize_field("padding", &ByteString(padding))?;
        }
        object.end()
    }
}

/// Maximum number of zeros represented by a number alone, so that short input cannot allocate much memory.
pub const MAX_ZEROS: usize = 4096;

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for TextVisitor<'a> {
            type Value = Text<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or an object with text or bytes")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'a>, E> {
                Ok(Text { text: text.as_bytes().into(), room: None, padding: None })
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'a>, E> {
                Ok(Text { text: text.as_bytes().to_vec().into(), room: None, padding: None })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Text<'a>, A::Error> {
                let (mut text, mut room, mut padding) = (None, None, None);
                while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                    match &*key {
                        "text" => text = Some(map.next_value::<String>()?.into_bytes()),
                        "bytes" => text = Some(map.next_value::<OwnedByteString>()?.0),
                        "room" => room = Some(map.next_value::<usize>()?),
                        "padding" => padding = Some(map.next_value::<OwnedByteString>()?.0.into()),
                        other => {
                            return Err(A::Error::unknown_field(other, &["text", "bytes", "room", "padding"]));
                        }
                    }
                }
                let text: Vec<u8> = text.ok_or_else(|| A::Error::missing_field("text"))?;
                let represented = text.len() + padding.as_ref().map_or(0, |padding: &Cow<'_, [u8]>| padding.len());
                if room.is_some_and(|room| room > represented + MAX_ZEROS) {
                    return Err(A::Error::custom(format_args!("room exceeds the text by more than {MAX_ZEROS} bytes")));
                }
                Ok(Text { text: text.into(), room, padding })
            }
        }

        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

/// Serializes a number by name, if it has one.
pub fn serialize_named<S: Serializer>(
    name: Option<&str>,
    number: impl Serialize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match name {
        Some(name) => serializer.serialize_str(name),
        None => number.serialize(serializer),
    }
}

/// Deserializes a number, or a name of one.
pub fn deserialize_named<'de, D: Deserializer<'de>, T: Copy>(
    deserializer: D,
    named: &'static [(T, &'static str)],
    numbered: fn(u64) -> Option<T>,
) -> Result<T, D::Error> {
    struct Named<T: 'static>(&'static [(T, &'static str)], fn(u64) -> Option<T>);

    impl<T: Copy> Visitor<'_> for Named<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number, or one of the names ")?;
            let names: Vec<_> = self.0.iter().map(|(_, name)| *name).collect();
            f.write_str(&names.join(", "))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            (self.1)(number).ok_or_else(|| E::custom(format_args!("{number} is out of range")))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            match self.0.iter().find(|(_, name)| *name == text) {
                Some((value, _)) => Ok(*value),
                None => match number(text) {
                    Some(number) => self.visit_u64(number),
                    None => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                },
            }
        }
    }

    deserializer.deserialize_any(Named(named, numbered))
}

/// Parses a number: decimal, or hexadecimal with `0x`.
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        None if text.starts_with(|first: char| first.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// Serializes a flag word as the list of its names, with unknown bits as one number at the end.
pub fn serialize_flags<F, S: Serializer>(flags: &F, serializer: S) -> Result<S::Ok, S::Error>
where
    F: Flags<Bits: Into<u64> + Copy> + Copy,
{
    let mut object = serializer.serialize_seq(None)?;
    let mut names = flags.iter_names();
    for (name, _) in names.by_ref() {
        object.serialize_element(name)?;
    }
    let rest: u64 = names.remaining().bits().into();
    if rest != 0 {
        object.serialize_element(&format_args!("{rest:#x}"))?;
    }
    object.end()
}

/// Deserializes a flag word: a list of names and numbers, or a number.
pub fn deserialize_flags<'de, F, D: Deserializer<'de>>(deserializer: D) -> Result<F, D::Error>
where
    F: Flags<Bits: TryFrom<u64>>,
{
    struct FlagsVisitor<F>(PhantomData<F>);

    impl<F: Flags<Bits: TryFrom<u64>>> FlagsVisitor<F> {
        fn numbered<E: Error>(number: u64) -> Result<F, E> {
            let bits = F::Bits::try_from(number).map_err(|_| E::custom(format_args!("{number:#x} is out of range")))?;
            Ok(F::from_bits_retain(bits))
        }
    }

    impl<'de, F: Flags<Bits: TryFrom<u64>>> Visitor<'de> for FlagsVisitor<F> {
        type Value = F;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of names and numbers of flags")
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<F, E> {
            Self::numbered(number)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<F, E> {
            number(text).map_or_else(|| Err(E::custom(format_args!("unknown flag '{text}'"))), Self::numbered)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<F, A::Error> {
            let mut flags = F::empty();
            while let Some(name) = seq.next_element::<Cow<'_, str>>()? {
                let flag = match F::from_name(&name) {
                    Some(flag) => flag,
                    None => FlagsVisitor(PhantomData).visit_str(&name)?,
                };
                flags = F::from_bits_retain(flags.union(flag).bits());
            }
            Ok(flags)
        }
    }

    deserializer.deserialize_any(FlagsVisitor(PhantomData))
}

/// Serializes the bit-fields of a word that are not zero.
pub fn serialize_fields<S: Serializer>(
    word: u64,
    fields: &[(BitField, &'static str)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut object = serializer.serialize_map(None)?;
    for (field, name) in fields.iter().filter(|(field, _)| field.get(word) != 0) {
        object.serialize_entry(name, &field.get(word))?;
    }
    object.end()
}

/// Deserializes a word of bit-fields.
pub fn deserialize_fields<'de, D: Deserializer<'de>>(
    deserializer: D,
    fields: &'static [(BitField, &'static str)],
) -> Result<u64, D::Error> {
    struct Word(&'static [(BitField, &'static str)]);

    impl<'de> Visitor<'de> for Word {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of bit-fields")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
            let mut word = 0;
            while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                let Some((field, name)) = self.0.iter().find(|(_, name)| *name == key) else {
                    map.next_value::<IgnoredAny>()?;
                    return Err(A::Error::custom(format_args!("unknown bit-field '{key}'")));
                };
                let value = map.next_value()?;
                if field.get(field.set(0, value)) != value {
                    return Err(A::Error::custom(format_args!("value {value} is too large for bit-field {name}")));
                }
                word = field.set(word, value);
            }
            Ok(word)
        }
    }

    deserializer.deserialize_map(Word(fields))
}
