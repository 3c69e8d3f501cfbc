//! Parsers of values shared by several options.

use std::num::NonZeroU64;
use std::path::PathBuf;

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
