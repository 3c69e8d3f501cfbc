//! Errors in JSON, with the path of the field.

use super::rules::{FieldPath, RuleDeserializer};
use crate::formats::import::shortened;
use perf_data::error::Error;
use perf_data::stream::events::Events;
use perf_data::stream::raw::Raw;
use serde::Deserialize;
use serde::de::DeserializeSeed;
use std::cell::RefCell;
use std::fmt::{self, Display};
use std::marker::PhantomData;

/// An error, and the path of its field.
#[derive(Debug)]
pub(super) struct FieldError {
    message: String,
    /// Path of the field.
    path: String,
    /// Lines between the start of the text and the error.
    pub lines: usize,
    /// Whether the text ends too early.
    pub is_truncated: bool,
}

impl FieldError {
    /// Creates an error without a field.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: String::new(), lines: 0, is_truncated: false }
    }

    /// Prefixes the path with a field.
    pub(super) fn within(mut self, field: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{field}{dot}{}", self.path);
        self
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", shortened(&self.path))?;
        }
        f.write_str(&shortened(&self.message))
    }
}

impl std::error::Error for FieldError {}

/// Deserializes a value from a complete text.
///
/// # Errors
/// The error and its field.
pub(super) fn read<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, FieldError> {
    read_seed(json, PhantomData::<T>)
}

/// Deserializes with a seed from a complete text.
///
/// # Errors
/// As [`read`].
pub(super) fn read_seed<'de, T: DeserializeSeed<'de>>(json: &'de str, seed: T) -> Result<T::Value, FieldError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = located(&mut reader, seed)?;
    reader.end().map_err(|e| from_json_error(&e))?;
    Ok(value)
}

/// Deserializes the value at the start of an invalid text again, to locate its error.
pub(super) fn field_error_in<'de, T: DeserializeSeed<'de>>(json: &'de str, seed: T) -> Option<FieldError> {
    located(&mut serde_json::Deserializer::from_str(json), seed).err()
}

/// Deserializes a value while tracking the path of its fields.
fn located<'de, T, R>(reader: &mut serde_json::Deserializer<R>, seed: T) -> Result<T::Value, FieldError>
where
    T: DeserializeSeed<'de>,
    R: serde_json::de::Read<'de>,
{
    let path = RefCell::new(FieldPath::default());
    let value = seed.deserialize(RuleDeserializer::with_path(reader, &path));
    value.map_err(|e| FieldError { path: path.take().to_string(), ..from_json_error(&e) })
}

/// Takes over serde_json's message without its position, which is reported separately.
fn from_json_error(error: &serde_json::Error) -> FieldError {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let lines = error.line().saturating_sub(1);
    FieldError {
        message: message.strip_suffix(&position).unwrap_or(&message).to_owned(),
        path: String::new(),
        lines,
        is_truncated: error.is_eof(),
    }
}

/// Error in importing an object.
pub(super) enum ImportError<'a> {
    /// The object is invalid.
    Field(FieldError),
    /// The fields of a record do not match its event.
    Misfit(Raw<'a>, &'a Events),
    /// Any other error.
    Error(Error),
}

impl From<FieldError> for ImportError<'_> {
    fn from(error: FieldError) -> Self {
        Self::Field(error)
    }
}

impl From<Error> for ImportError<'_> {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Returns an error without a field.
pub(super) fn invalid<'a, T>(message: impl Into<String>) -> Result<T, ImportError<'a>> {
    Err(FieldError::new(message).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::record::mmap::Mmap;

    #[test]
    fn reports_field_and_line() {
        let error = read::<Mmap>("{\"pid\": 1,\n \"tid\": {}}").unwrap_err();
        assert_eq!((error.to_string(), error.lines), ("tid: invalid type: map, expected u32".to_owned(), 1));
        let error = read::<Mmap>("{\"pdi\": 1}").unwrap_err();
        assert_eq!(error.within("body").to_string(), "body.pdi: unknown field");
        assert!(read::<Mmap>("{\"pid\": 1").unwrap_err().is_truncated);
        assert_eq!(read::<Vec<u8>>("[1] 2").unwrap_err().to_string(), "trailing characters");
        assert_eq!(FieldError::new("x").within("a").within("b").to_string(), "b.a: x");
        let error = read::<Mmap>(&format!("{{\"pid\": \"{}\"}}", "ü".repeat(100_000))).unwrap_err().to_string();
        assert!(error.chars().count() < 320 && error.ends_with("is not a 64-bit integer"), "{error}");
    }
}
