//! What can go wrong, with the place where it did.

use crate::abi::record::RecordType;
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
    #[error("{what}")]
    Refused {
        /// Why: a kind from [`ErrorKind::OutputExists`] on.
        kind: ErrorKind,
        /// The reason in words, and what to do about it.
        what: String,
    },
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
        Self::Input { place: Place { file: file.into(), offset: offset.into(), record: None }, what: what.into() }
    }

    /// A file that is not overwritten.
    pub fn output_exists(what: impl Into<String>) -> Self {
        Self::Refused { kind: ErrorKind::OutputExists, what: what.into() }
    }

    /// Something that was asked for and is not in the recording.
    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::Refused { kind: ErrorKind::NotFound, what: what.into() }
    }

    /// Recordings, or a recording and an output, that do not go together.
    pub(crate) fn incompatible(what: impl Into<String>) -> Self {
        Self::Refused { kind: ErrorKind::Incompatible, what: what.into() }
    }

    /// A request that does not make sense.
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::Refused { kind: ErrorKind::InvalidRequest, what: what.into() }
    }

    /// A result that would be too large.
    pub(crate) fn too_large(what: impl Into<String>) -> Self {
        Self::Refused { kind: ErrorKind::TooLarge, what: what.into() }
    }

    /// The same error as one about a record, where it is about an input and of no record yet.
    pub(crate) fn at_record(mut self, index: u64, record_type: RecordType) -> Self {
        if let Self::Input { place, .. } = &mut self {
            place.record.get_or_insert(RecordPlace { index, record_type });
        }
        self
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } => ErrorKind::Io,
            Self::Input { .. } => ErrorKind::Input,
            Self::Refused { kind, .. } => *kind,
            Self::Output(_) => ErrorKind::Output,
        }
    }

    /// File, directory or stream that the error is about, as the user named it.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Io { file, .. } => Some(file),
            Self::Input { place, .. } => Some(&place.file),
            Self::Refused { .. } | Self::Output(_) => None,
        }
    }

    /// Where in the file the error is, in bytes.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Input { place, .. } => place.offset,
            _ => None,
        }
    }

    /// The record that the error is about.
    pub fn record(&self) -> Option<RecordPlace> {
        match self {
            Self::Input { place, .. } => place.record,
            _ => None,
        }
    }
}

/// Kinds of [errors](Error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused to open or read a file.
    Io,
    /// The input is not a recording, or cannot be read.
    Input,
    /// The output cannot be written.
    Output,
    /// The output is there already, or is the input.
    OutputExists,
    /// Nothing in the recording is what was asked for: no such event, process, time, record.
    NotFound,
    /// The recordings do not go together, or the output has no place for what this one holds.
    Incompatible,
    /// The request or the description of a recording does not make sense.
    InvalidRequest,
    /// The result would be larger than is allowed.
    TooLarge,
}

/// A place in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// File, directory or stream, as the user named it.
    pub file: String,
    /// Bytes from its beginning.
    pub offset: Option<u64>,
    /// The record there.
    pub record: Option<RecordPlace>,
}

/// A record of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordPlace {
    /// Number of the record in the order of the file, from 0, frames of compressed records among them.
    pub index: u64,
    /// Type of the record.
    pub record_type: RecordType,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{}: at offset {offset}", self.file),
            None => f.write_str(&self.file),
        }
    }
}
