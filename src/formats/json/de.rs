//! Values from JSON, by the rules of this format: integers may be strings, fields that a structure does not have are
//! refused, and errors name the field.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use std::borrow::Cow;
use std::fmt::{self, Display};

/// Reads a value from exactly these bytes.
///
/// # Errors
/// What is wrong, and in which field.
pub fn from_slice<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T, Wrong> {
    with(json, |reader| T::deserialize(reader))
}

/// Has `read` read all of these bytes.
///
/// # Errors
/// What is wrong, and in which field.
pub fn with<'de, T>(json: &'de [u8], read: impl FnOnce(&mut Reader<'de>) -> Result<T, Wrong>) -> Result<T, Wrong> {
    let mut reader = Reader { json, at: 0, depth: 0 };
    let value = read(&mut reader)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(Wrong::new("there is something behind the value")),
    }
}

/// What is wrong, and in which field.
#[derive(Debug)]
pub struct Wrong {
    what: String,
    /// The fields that lead there, the innermost first.
    path: Vec<String>,
}

impl Wrong {
    /// Something that is wrong in no field.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), path: Vec::new() }
    }

    /// The same, in a field.
    pub fn within(mut self, field: impl Into<String>) -> Self {
        self.path.push(field.into());
        self
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut path = self.path.iter().rev();
        if let Some(first) = path.next() {
            f.write_str(first)?;
            path.try_for_each(|field| match field.starts_with('[') {
                true => f.write_str(field),
                false => write!(f, ".{field}"),
            })?;
            f.write_str(": ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message.to_string())
    }
}

/// JSON that is read later, when it is known what it is.
#[derive(Clone, Copy, Debug)]
pub struct Later<'a>(pub &'a [u8]);

/// Name of the newtype that stands for JSON as it is.
const LATER: &str = "$later";

impl<'de: 'a, 'a> Deserialize<'de> for Later<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Slice;

        impl<'de> Visitor<'de> for Slice {
            type Value = &'de [u8];

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_borrowed_bytes<E: de::Error>(self, json: &'de [u8]) -> Result<&'de [u8], E> {
                Ok(json)
            }
        }

        deserializer.deserialize_newtype_struct(LATER, Slice).map(Self)
    }
}

/// Values in values; more than any definition has.
const MAX_DEPTH: u32 = 64;

/// Reads JSON.
pub struct Reader<'de> {
    json: &'de [u8],
    at: usize,
    depth: u32,
}

impl<'de> Reader<'de> {
    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        while let Some(&byte) = self.json.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Some(byte);
            }
            self.at += 1;
        }
        None
    }

    fn expect(&mut self, byte: u8) -> Result<(), Wrong> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(&format!("`{}`", byte as char)));
        }
        self.at += 1;
        Ok(())
    }

    fn unexpected(&mut self, expected: &str) -> Wrong {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(byte) => match byte {
                b'"' => "a string".to_owned(),
                b'{' => "an object".to_owned(),
                b'[' => "a list".to_owned(),
                b'-' | b'0'..=b'9' => "a number".to_owned(),
                _ => format!("`{}`", byte.escape_ascii()),
            },
        };
        Wrong::new(format!("expected {expected}, found {found}"))
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Wrong::new("there are too many values in values"));
        }
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn string(&mut self) -> Result<Cow<'de, str>, Wrong> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a string"));
        }
        let start = self.at + 1;
        let end = self.end_of_string()?;
        let inside = &self.json[start..end];
        let text = std::str::from_utf8(inside).map_err(|_| Wrong::new("a string that is not UTF-8"))?;
        if inside.contains(&b'\\') { unescaped(text).map(Cow::Owned) } else { Ok(Cow::Borrowed(text)) }
    }

    /// Passes over a string, and says where its closing quote is.
    fn end_of_string(&mut self) -> Result<usize, Wrong> {
        let mut at = self.at + 1;
        loop {
            match self.json.get(at) {
                Some(b'"') => break,
                Some(b'\\') => at += 2,
                Some(0..0x20) => return Err(Wrong::new("a control character in a string")),
                Some(_) => at += 1,
                None => return Err(Wrong::new("a string does not end")),
            }
        }
        self.at = at + 1;
        Ok(at)
    }

    /// An integer: as a number, or in a string, decimal or hexadecimal.
    fn integer(&mut self) -> Result<(bool, u64), Wrong> {
        let text = match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => {
                let start = self.at;
                let len = self.json[start..].iter().position(|byte| !is_in_number(*byte));
                self.at = len.map_or(self.json.len(), |len| start + len);
                String::from_utf8_lossy(&self.json[start..self.at])
            }
            _ => return Err(self.unexpected("an integer")),
        };
        let digits = text.strip_prefix('-').unwrap_or(&text);
        match crate::abi::told::number(digits) {
            Some(number) => Ok((digits.len() < text.len(), number)),
            None => Err(Wrong::new(format!("{text:?} is no integer of 64 bits"))),
        }
    }

    fn visit_integer<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Wrong> {
        match self.integer()? {
            (false, number) => visitor.visit_u64(number),
            (true, number) => match 0_i64.checked_sub_unsigned(number) {
                Some(number) => visitor.visit_i64(number),
                None => Err(Wrong::new(format!("-{number} is no integer of 64 bits"))),
            },
        }
    }

    fn literal(&mut self, text: &'static str) -> Result<(), Wrong> {
        self.peek();
        if !self.json[self.at..].starts_with(text.as_bytes()) {
            return Err(self.unexpected(text));
        }
        self.at += text.len();
        Ok(())
    }

    /// Passes over a value, whatever it is.
    fn skip(&mut self) -> Result<(), Wrong> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                None => return Err(Wrong::new("the value does not end")),
                Some(b'"') => drop(self.end_of_string()?),
                Some(start @ (b'{' | b'[')) => {
                    open.push(if start == b'{' { b'}' } else { b']' });
                    self.at += 1;
                    continue;
                }
                Some(end @ (b'}' | b']')) => {
                    if open.pop() != Some(end) {
                        return Err(self.unexpected("a value"));
                    }
                    self.at += 1;
                }
                Some(b',' | b':') if !open.is_empty() => {
                    self.at += 1;
                    continue;
                }
                Some(byte) if is_in_number(byte) || byte.is_ascii_lowercase() => {
                    let rest = &self.json[self.at..];
                    let ends = |byte: &u8| !is_in_number(*byte) && !byte.is_ascii_lowercase();
                    self.at += rest.iter().position(ends).unwrap_or(rest.len());
                }
                Some(_) => return Err(self.unexpected("a value")),
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}

fn is_in_number(byte: u8) -> bool {
    matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
}

/// The text that a string with escapes stands for.
fn unescaped(text: &str) -> Result<String, Wrong> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let unit = |rest: &str| {
        let digits = rest.get(..4).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).ok_or_else(|| Wrong::new("a broken \\u"))
    };
    while let Some((before, escape)) = rest.split_once('\\') {
        out.push_str(before);
        let mut chars = escape.chars();
        let escaped = chars.next().ok_or_else(|| Wrong::new("a string does not end"))?;
        rest = chars.as_str();
        out.push(match escaped {
            '"' | '\\' | '/' => escaped,
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let mut units = vec![unit(rest)?];
                rest = &rest[4..];
                if (0xd800..0xdc00).contains(&units[0]) {
                    let low = rest.strip_prefix("\\u").ok_or_else(|| Wrong::new("half a character in a string"))?;
                    units.push(unit(low)?);
                    rest = &low[4..];
                }
                match char::decode_utf16(units).next() {
                    Some(Ok(char)) => char,
                    _ => return Err(Wrong::new("half a character in a string")),
                }
            }
            other => return Err(Wrong::new(format!("there is no escape \\{other}"))),
        });
    }
    out.push_str(rest);
    Ok(out)
}

/// Methods that read any integer.
macro_rules! integers {
    ($($method:ident)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
                self.visit_integer(visitor)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.peek() {
            Some(b'"') => self.deserialize_str(visitor),
            Some(b'{') => self.deserialize_map(visitor),
            Some(b'[') => self.deserialize_seq(visitor),
            Some(b'n') => self.deserialize_unit(visitor),
            Some(b't' | b'f') => self.deserialize_bool(visitor),
            _ => self.visit_integer(visitor),
        }
    }

    integers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let value = self.peek() == Some(b't');
        self.literal(if value { "true" } else { "false" })?;
        visitor.visit_bool(value)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.string()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let text = self.string()?;
        let bytes = BASE64.decode(text.as_bytes()).map_err(|e| Wrong::new(format!("it is no base64: {e}")))?;
        visitor.visit_byte_buf(bytes)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.peek() == Some(b'n') {
            self.literal("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.literal("null")?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        self.expect(b'{')?;
        self.expect(b'}')?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        if name == LATER {
            self.peek();
            let start = self.at;
            self.skip()?;
            return visitor.visit_borrowed_bytes(&self.json[start..self.at]);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.expect(b'[')?;
        self.deeper(|reader| {
            let mut elements = Elements { reader, index: 0 };
            let value = visitor.visit_seq(&mut elements)?;
            if elements.next()? {
                return Err(Wrong::new("there are too many values in the list"));
            }
            Ok(value)
        })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.object(None, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.object(Some(fields), visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        if self.peek() == Some(b'"') {
            let variant = self.string()?;
            return visitor.visit_enum(de::value::CowStrDeserializer::new(variant));
        }
        self.expect(b'{')?;
        let value = self.deeper(|reader| visitor.visit_enum(Variant { reader }))?;
        self.expect(b'}')?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.skip()?;
        visitor.visit_unit()
    }

    forward_to_deserialize_any! { i128 u128 f32 f64 char }
}

impl<'de> Reader<'de> {
    fn object<V: Visitor<'de>>(
        &mut self,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        self.expect(b'{')?;
        self.deeper(|reader| {
            let mut members = Members { reader, fields, is_first: true, key: Cow::Borrowed("") };
            let value = visitor.visit_map(&mut members)?;
            members.reader.expect(b'}')?;
            Ok(value)
        })
    }
}

/// The elements of a list.
struct Elements<'r, 'de> {
    reader: &'r mut Reader<'de>,
    index: usize,
}

impl Elements<'_, '_> {
    /// Whether there is another element; the list is closed where there is none.
    fn next(&mut self) -> Result<bool, Wrong> {
        match self.reader.peek() {
            Some(b']') => {
                self.reader.at += 1;
                Ok(false)
            }
            Some(_) if self.index == 0 => Ok(true),
            _ => self.reader.expect(b',').map(|()| true),
        }
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, 'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        // The closing bracket is left for whoever began the list.
        if self.reader.peek() == Some(b']') || !self.next()? {
            return Ok(None);
        }
        let index = self.index;
        self.index += 1;
        let element = seed.deserialize(&mut *self.reader);
        element.map(Some).map_err(|wrong| wrong.within(format!("[{index}]")))
    }
}

/// The members of an object.
struct Members<'r, 'de> {
    reader: &'r mut Reader<'de>,
    /// Those that it may have.
    fields: Option<&'static [&'static str]>,
    is_first: bool,
    key: Cow<'de, str>,
}

impl<'de> MapAccess<'de> for &mut Members<'_, 'de> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        if self.reader.peek() == Some(b'}') {
            return Ok(None);
        }
        if !std::mem::take(&mut self.is_first) {
            self.reader.expect(b',')?;
        }
        self.key = self.reader.string()?;
        self.reader.expect(b':')?;
        if self.fields.is_some_and(|fields| !fields.contains(&&*self.key)) {
            return Err(Wrong::new("there is no such field").within(&*self.key));
        }
        seed.deserialize(de::value::CowStrDeserializer::new(self.key.clone())).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        seed.deserialize(&mut *self.reader).map_err(|wrong| wrong.within(&*self.key))
    }
}

/// The one member of an object that stands for a variant.
struct Variant<'r, 'de> {
    reader: &'r mut Reader<'de>,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Wrong;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Wrong> {
        let name = self.reader.string()?;
        self.reader.expect(b':')?;
        Ok((seed.deserialize(de::value::CowStrDeserializer::new(name))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        self.reader.literal("null")
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Wrong> {
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.reader.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Wrong> {
        self.reader.object(Some(fields), visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ser::append;
    use super::*;
    use crate::abi::record::mmap::Mmap;
    use proptest::prelude::*;

    #[test]
    fn integers_may_be_strings_and_large_ones_are() {
        let mut json = Vec::new();
        append(&mut json, &[0, (1 << 53) - 1, 1 << 53, u64::MAX]).unwrap();
        assert_eq!(json, br#"[0,9007199254740991,"9007199254740992","18446744073709551615"]"#);
        let read: Vec<u64> = from_slice(&json).unwrap();
        assert_eq!(read, [0, (1 << 53) - 1, 1 << 53, u64::MAX]);
        assert_eq!(from_slice::<Vec<u64>>(br#"["0x10", 16, "16"]"#).unwrap(), [16; 3]);
        assert_eq!(from_slice::<Vec<i64>>(br#"[-1, "-9223372036854775808"]"#).unwrap(), [-1, i64::MIN]);
        assert_eq!(
            from_slice::<Vec<u8>>(b"[1,300]").unwrap_err().to_string(),
            "[1]: invalid value: integer `300`, expected u8"
        );
    }

    #[test]
    fn text_is_unescaped() {
        let read: String = from_slice(r#""a\u00e9\ud83d\ude00\n\"\\""#.as_bytes()).unwrap();
        assert_eq!(read, "a\u{e9}\u{1f600}\n\"\\");
        for broken in [r#""\ud83d""#, r#""\u12""#, r#""\x""#, "\"a", "\"\\"] {
            assert!(from_slice::<String>(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn strings_come_back(text: String) {
            let mut json = Vec::new();
            append(&mut json, &text).unwrap();
            prop_assert_eq!(from_slice::<String>(&json).unwrap(), text);
        }

        #[test]
        fn whatever_the_bytes_nothing_panics(json in "[\\[\\]{}:,\"a-f0-9x\\\\u -]{0,60}") {
            let _ = from_slice::<Mmap>(json.as_bytes());
            let _ = from_slice::<Vec<String>>(json.as_bytes());
            let _ = from_slice::<Later<'_>>(json.as_bytes());
        }
    }
}
