//! Parsers of values shared by several options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::fmt::Display;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

/// Parses a number of at least 1.
///
/// # Errors
/// Fails on anything else.
pub fn positive_number(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "expected a number of at least 1".to_owned())
}

/// Parses a non-empty name.
///
/// # Errors
/// Fails on an empty name.
pub fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("expected a name".to_owned()) } else { Ok(text.to_owned()) }
}

/// Parses the path of an existing directory.
///
/// # Errors
/// Fails if it does not exist.
pub fn directory(text: &str) -> Result<PathBuf, String> {
    let directory = PathBuf::from(text);
    if directory.is_dir() { Ok(directory) } else { Err("no such directory".to_owned()) }
}

/// Parses the path of an existing file or directory.
///
/// # Errors
/// Fails if it does not exist.
pub fn existing_path(path: impl Into<PathBuf>) -> Result<PathBuf, String> {
    let path = path.into();
    match path.try_exists() {
        Ok(false) => Err("no such file or directory".to_owned()),
        // Where this cannot be known, opening it fails with the reason.
        Ok(true) | Err(_) => Ok(path),
    }
}

/// Parses the path of an existing file or directory, given as text.
///
/// # Errors
/// If it does not exist.
pub fn existing(path: &str) -> Result<PathBuf, String> {
    existing_path(path)
}

/// The same; an empty text is an empty path.
///
/// # Errors
/// If it does not exist.
pub fn existing_or_empty(path: &str) -> Result<PathBuf, String> {
    if path.is_empty() { Ok(PathBuf::new()) } else { existing_path(path) }
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
