//! Values that several options of passes take.

use std::num::NonZeroU64;
use std::path::PathBuf;

/// A number from 1 on.
///
/// # Errors
/// Where it is none.
pub fn positive_number(text: &str) -> Result<NonZeroU64, String> {
    text.parse().map_err(|_| "is no number from 1 on".to_owned())
}

/// A name, which is not empty.
///
/// # Errors
/// Where it is.
pub fn name(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("is no name".to_owned()) } else { Ok(text.to_owned()) }
}

/// A directory that exists.
///
/// # Errors
/// Where it does not.
pub fn directory(text: &str) -> Result<PathBuf, String> {
    let directory = PathBuf::from(text);
    if directory.is_dir() { Ok(directory) } else { Err("there is no such folder".to_owned()) }
}

/// A file or directory that exists.
///
/// # Errors
/// Where it does not.
pub fn existing_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.exists() { Ok(path) } else { Err("there is no such file or folder".to_owned()) }
}
