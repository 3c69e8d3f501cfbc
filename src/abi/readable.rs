//! How values of the definitions are told by name to formats that people read, and read back.
//!
//! serde's derives tell structures by their fields. Here is what they cannot know: which numbers are addresses, that bytes
//! are text, that a number has a name. Whatever is told comes back as the same value.

use super::bit_fields::BitField;
use super::hex::{from_hex, to_hex};
use binrw::NullString;
use bitflags::Flags;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Name of the newtype whose numbers a format shows in hexadecimal: `"0xffff8000"`.
pub const HEX: &str = "$hex";

/// Tells addresses, masks and the like.
pub(crate) fn hex<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_newtype_struct(HEX, value)
}

/// Bytes that people know as hexadecimal digits: build ids, tags.
pub(crate) mod hex_bytes {
    use super::*;

    pub fn serialize<const N: usize, S: Serializer>(bytes: &[u8; N], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(bytes))
    }

    pub fn deserialize<'de, const N: usize, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; N], D::Error> {
        let digits = Cow::<str>::deserialize(deserializer)?;
        let bytes = from_hex(digits.as_bytes()).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| D::Error::custom(format_args!("expected {} hexadecimal digits", 2 * N)))
    }
}

/// Bytes that are text, of known length: a string, or `{"bytes": base64}` where they are not UTF-8.
pub(crate) mod text {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        Text { text: bytes.into(), room: None, padding: None }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Text::deserialize(deserializer).map(|text| text.text.into_owned())
    }
}

/// Text that ends with a NUL, which is not part of it.
pub(crate) mod null_string {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &NullString, serializer: S) -> Result<S::Ok, S::Error> {
        text::serialize(bytes, serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NullString, D::Error> {
        text::deserialize(deserializer).map(NullString)
    }
}

/// Two numbers that share a word, by their names.
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

            pub fn serialize<S: Serializer>(pair: &Option<(u32, u32)>, serializer: S) -> Result<S::Ok, S::Error> {
                pair.map(|($first, $second)| Pair { $first, $second }).serialize(serializer)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(u32, u32)>, D::Error> {
                let pair = Option::<Pair>::deserialize(deserializer)?;
                Ok(pair.map(|pair| (pair.$first, pair.$second)))
            }
        }
    };
}

pair! {
    /// Process and thread.
    task: pid, tid
}
pair! {
    /// CPU and the unused word beside it.
    cpu: cpu, res
}

/// Text, and what a place for it holds besides.
pub(crate) struct Text<'a> {
    pub text: Cow<'a, [u8]>,
    /// Bytes that text, NUL and padding take, where that is not as usual.
    pub room: Option<usize>,
    /// What is behind the text, where it is not zeros.
    pub padding: Option<Cow<'a, [u8]>>,
}

impl<'a> Text<'a> {
    /// The text in `place`, where `usual` is how many bytes text of that length takes.
    pub fn of(place: &'a [u8], usual: impl FnOnce(usize) -> usize) -> Self {
        let text = super::text::until_nul(place);
        let padding = &place[text.len()..];
        let is_zero = padding.len() <= MOST_ZEROS && padding.iter().all(|&byte| byte == 0);
        Self {
            text: text.into(),
            room: (place.len() != usual(text.len())).then_some(place.len()),
            padding: (!is_zero).then_some(padding.into()),
        }
    }

    /// The bytes of the place. Text that has outgrown its room gets as many words of 8 bytes more as it needs; padding
    /// stays only as long as it fills the room.
    pub fn into_bytes(self, usual: impl FnOnce(usize) -> usize) -> Vec<u8> {
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
        let mut told = serializer.serialize_struct("Text", 4)?;
        match utf8 {
            Some(text) => told.serialize_field("text", text)?,
            None => told.serialize_field("bytes", serde_bytes::Bytes::new(&self.text))?,
        }
        if let Some(room) = self.room {
            told.serialize_field("room", &room)?;
        }
        if let Some(padding) = &self.padding {
            told.serialize_field("padding", serde_bytes::Bytes::new(padding))?;
        }
        told.end()
    }
}

/// The most zeros that are told by their number alone, so that a few bytes of text cannot ask for much memory.
pub const MOST_ZEROS: usize = 4096;

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
                        "bytes" => text = Some(map.next_value::<serde_bytes::ByteBuf>()?.into_vec()),
                        "room" => room = Some(map.next_value::<usize>()?),
                        "padding" => padding = Some(map.next_value::<serde_bytes::ByteBuf>()?.into_vec().into()),
                        other => {
                            return Err(A::Error::unknown_field(other, &["text", "bytes", "room", "padding"]));
                        }
                    }
                }
                let text: Vec<u8> = text.ok_or_else(|| A::Error::missing_field("text"))?;
                let told = text.len() + padding.as_ref().map_or(0, |padding: &Cow<'_, [u8]>| padding.len());
                if room.is_some_and(|room| room > told + MOST_ZEROS) {
                    return Err(A::Error::custom(format_args!("room for more than {MOST_ZEROS} zeros")));
                }
                Ok(Text { text: text.into(), room, padding })
            }
        }

        deserializer.deserialize_any(TextVisitor(PhantomData))
    }
}

/// Tells a number by its name if it has one.
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

/// Reads a number, or a name that stands for one.
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

/// A number as text: decimal, or hexadecimal behind `0x`.
pub fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        None if text.starts_with(|first: char| first.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
}

/// Tells a flag word as the names of its bits; bits without a name as one number behind them.
pub fn serialize_flags<F, S: Serializer>(flags: &F, serializer: S) -> Result<S::Ok, S::Error>
where
    F: Flags<Bits: Into<u64> + Copy> + Copy,
{
    let mut told = serializer.serialize_seq(None)?;
    let mut names = flags.iter_names();
    for (name, _) in names.by_ref() {
        told.serialize_element(name)?;
    }
    let rest: u64 = names.remaining().bits().into();
    if rest != 0 {
        told.serialize_element(&format_args!("{rest:#x}"))?;
    }
    told.end()
}

/// Reads a flag word: a list of names and numbers, or a number.
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
            number(text).map_or_else(|| Err(E::custom(format_args!("there is no flag {text:?}"))), Self::numbered)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<F, A::Error> {
            let mut flags = F::empty();
            while let Some(told) = seq.next_element::<Cow<'_, str>>()? {
                let flag = match F::from_name(&told) {
                    Some(flag) => flag,
                    None => FlagsVisitor(PhantomData).visit_str(&told)?,
                };
                flags = F::from_bits_retain(flags.union(flag).bits());
            }
            Ok(flags)
        }
    }

    deserializer.deserialize_any(FlagsVisitor(PhantomData))
}

/// Tells a word by those of its bit-fields that are not zero.
pub fn serialize_fields<S: Serializer>(
    word: u64,
    fields: &[(BitField, &'static str)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut told = serializer.serialize_map(None)?;
    for (field, name) in fields.iter().filter(|(field, _)| field.get(word) != 0) {
        told.serialize_entry(name, &field.get(word))?;
    }
    told.end()
}

/// Reads a word of bit-fields.
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
                    return Err(A::Error::custom(format_args!("there is no bit-field {key:?}")));
                };
                let value = map.next_value()?;
                if field.get(field.set(0, value)) != value {
                    return Err(A::Error::custom(format_args!("{value} does not fit the bit-field {name}")));
                }
                word = field.set(word, value);
            }
            Ok(word)
        }
    }

    deserializer.deserialize_map(Word(fields))
}
