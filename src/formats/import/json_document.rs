//! JSON documents of other profilers.

use super::shortened;
use perf_data::error::{Error, Result};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

/// Parses a document.
///
/// # Errors
/// If it is invalid, with line, column and path.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8], name: &str) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        let path = if cfg!(feature = "json-input") { path_of_error::<T>(bytes) } else { String::new() };
        let (line, column, message) = (error.line(), error.column(), error.to_string());
        let message = message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message);
        Error::input(name, None, format!("line {line}, column {column}: {path}{}", shortened(message)))
    })
}

/// The path of the value that is invalid, for a message. Tracking it takes time, and only an error needs it.
fn path_of_error<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> String {
    let mut document = serde_json::Deserializer::from_slice(bytes);
    let path = serde_path_to_error::deserialize::<_, T>(&mut document).err().map(|error| error.path().to_string());
    path.filter(|path| path != ".").map(|path| format!("{}: ", shortened(&path))).unwrap_or_default()
}

/// A text, borrowed from the document where it has no escapes.
#[derive(Clone, Debug, Default)]
pub(crate) struct JsonText<'a>(Cow<'a, str>);

impl Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = JsonText<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> std::result::Result<JsonText<'de>, E> {
                Ok(JsonText(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<JsonText<'de>, E> {
                Ok(JsonText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

/// A number. Integers beyond the precision of floating point are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    /// A nonnegative integer.
    Integer(u64),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// The nearest integer after multiplication; `None` if it is negative.
    pub(crate) fn scaled(self, factor: u32) -> Option<u64> {
        match self {
            Self::Integer(value) => Some(value.saturating_mul(factor.into())),
            // The conversion saturates.
            Self::Float(value) => {
                Some((value * f64::from(factor)).round()).filter(|&value| value >= 0.0).map(|value| value as u64)
            }
        }
    }

    /// The nearest floating-point number.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// Whether it is an integer.
    pub(crate) fn is_integer(self) -> bool {
        match self {
            Self::Integer(_) => true,
            Self::Float(value) => value.fract() == 0.0,
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct NumberVisitor;
        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<Number, E> {
                Ok(Number::Integer(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<Number, E> {
                Ok(Number::Float(value as f64))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Number, E> {
                Ok(Number::Float(value))
            }
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "json-input")]
    fn errors_state_line_and_path() {
        let error = |json: &str| parse::<Vec<Vec<Number>>>(json.as_bytes(), "x.json").unwrap_err().to_string();
        let expected = "x.json: line 2, column 4: [1][0]: invalid type: string \"a\", expected a number";
        assert_eq!(error("[[1],\n[\"a\"]]"), expected);
        assert!(error("[[1]").ends_with("line 1, column 4: EOF while parsing a list"), "{}", error("[[1]"));
        assert!(error("[] 1").ends_with("line 1, column 4: trailing characters"), "{}", error("[] 1"));
    }

    #[test]
    fn numbers_are_exact_integers_or_rounded() {
        let numbers: Vec<Number> = parse(b"[18446744073709551615, 0.25, -0.1, -7, 1e300]", "").unwrap();
        let scaled: Vec<_> = numbers.iter().map(|number| number.scaled(1)).collect();
        assert_eq!(scaled, [Some(u64::MAX), Some(0), Some(0), None, Some(u64::MAX)]);
        assert_eq!(numbers[1].scaled(1_000_000), Some(250_000));
        assert_eq!(numbers.iter().filter(|number| number.is_integer()).count(), 3);
    }

    #[test]
    fn texts_without_escapes_are_borrowed() {
        let texts: Vec<JsonText<'_>> = parse(br#"["a\u00e9", "b"]"#, "").unwrap();
        assert_eq!([&*texts[0], &*texts[1]], ["aé", "b"]);
        assert!(matches!((&texts[0].0, &texts[1].0), (Cow::Owned(_), Cow::Borrowed(_))));
    }
}
