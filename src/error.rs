//! What can go wrong, told with the place where it did.

use std::fmt;
use std::io;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why something could not be done. The message is one sentence that names the file and, where there is one, the offset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{file}: {doing}: {source}")]
    Io {
        /// File, folder or stream, as the user named it.
        file: String,
        /// What was tried, such as `cannot open`.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The input is not a recording, or not one that can be read.
    #[error("{place}: {what}")]
    Input {
        /// Where.
        place: Place,
        /// What is wrong, and where there is something to do about it, what.
        what: String,
    },
    /// What was asked for cannot be done with this recording. Nothing was written.
    #[error("{0}")]
    Refused(String),
    /// Writing the output failed.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
}

impl Error {
    /// An error of the operating system about a file.
    pub fn io(file: impl Into<String>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::Io { file, doing, source }
    }

    /// An input that cannot be read.
    pub fn input(file: impl Into<String>, offset: impl Into<Option<u64>>, what: impl Into<String>) -> Self {
        Self::Input { place: Place { file: file.into(), offset: offset.into() }, what: what.into() }
    }
}

/// A place in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File, folder or stream, as the user named it.
    pub file: String,
    /// Bytes from its beginning.
    pub offset: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{}: at offset {offset}", self.file),
            None => f.write_str(&self.file),
        }
    }
}
