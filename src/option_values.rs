//! Parsers of values shared by several options.

use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use perf_data::container::access::FileMode;
use std::fmt::Display;
use std::fs;
use std::io::ErrorKind;
use std::num::{IntErrorKind, NonZeroU64, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

/// Parses a number of at least 1.
///
/// # Errors
/// Fails on anything else.
pub fn positive_number(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => format!("too large; expected at most {}", u64::MAX),
        _ => "expected a number of at least 1".to_owned(),
    })
}

/// Parses a non-empty name.
///
/// # Errors
/// Fails on an empty name.
pub fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("expected a name".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses the path of an existing file that is not a directory.
pub fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(existing_file)
}

/// The path of an existing file that is not a directory.
///
/// # Errors
/// If it is not.
pub fn existing_file(path: PathBuf) -> Result<PathBuf, String> {
    match existing(path) {
        Ok(path) if path.is_dir() => Err("is a directory; expected a file".to_owned()),
        existing => existing,
    }
}

/// Parses the path of an existing directory.
pub fn directory() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(existing_directory)
}

/// The path of an existing directory.
///
/// # Errors
/// If it is not.
pub(crate) fn existing_directory(path: PathBuf) -> Result<PathBuf, String> {
    match fs::metadata(&path) {
        Ok(metadata) if !metadata.is_dir() => Err("is a file; expected a directory".to_owned()),
        Ok(_) => Ok(path),
        Err(e) if e.kind() == ErrorKind::NotFound => Err("no such directory".to_owned()),
        // Where this cannot be known, searching it fails with the reason.
        Err(_) => Ok(path),
    }
}

/// Parses the path of an existing file or directory.
pub fn existing_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(existing)
}

/// Parses the path of an existing file or directory; an empty text is an empty path.
///
/// # Errors
/// If it does not exist.
pub fn existing_path_or_empty(path: &str) -> Result<PathBuf, String> {
    if path.is_empty() { Ok(PathBuf::new()) } else { existing(path.into()) }
}

fn existing(path: PathBuf) -> Result<PathBuf, String> {
    match path.try_exists() {
        Ok(false) => Err("no such file or directory".to_owned()),
        // Where this cannot be known, opening it fails with the reason.
        Ok(true) | Err(_) => Ok(path),
    }
}

/// Maximum number of characters of a title, as outputs show it in full.
const MAX_TITLE: usize = 4096;

/// Parses a title.
///
/// # Errors
/// If it is longer than what outputs show.
pub fn title(text: &str) -> Result<String, String> {
    let is_long = text.chars().nth(MAX_TITLE).is_some();
    if is_long { Err(format!("expected at most {MAX_TITLE} characters")) } else { Ok(text.to_owned()) }
}

/// Parses the permissions of a file, in octal.
///
/// # Errors
/// If they are none, or more than permissions.
pub fn file_mode(text: &str) -> Result<FileMode, String> {
    let mode = u32::from_str_radix(text, 8).ok().and_then(FileMode::new);
    mode.ok_or_else(|| "expected permissions from 0 to 777 in octal, such as 644".to_owned())
}

/// Parses one of several words, each with its value and what it means.
pub(crate) fn choice<T: Copy + Send + Sync + 'static, const N: usize>(
    choices: [(&'static str, T, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    let words = choices.map(|(word, _, help)| PossibleValue::new(word).help(help));
    PossibleValuesParser::new(words).try_map(move |given| {
        let chosen = choices.iter().find(|(word, ..)| *word == given);
        chosen.map(|(_, value, _)| *value).ok_or("unknown value")
    })
}

/// Parses a number within limits.
pub(crate) fn number_in<T>(min: T, max: T) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| match text.parse::<T>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("expected a number from {min} to {max}")),
    }
}

/// Parses a percentage from 0 to 100, with or without its sign.
pub(crate) fn percent(text: &str) -> Result<f64, &'static str> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("expected a percentage from 0 to 100"),
    }
}

/// A percentage by which something may grow, which can be more than 100.
pub(crate) fn growth(text: &str) -> Result<f64, &'static str> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent),
        _ => Err("expected a percentage of at least 0"),
    }
}
