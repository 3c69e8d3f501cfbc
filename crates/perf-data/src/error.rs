//! Errors, with the file, offset and record that they are about.

use crate::abi::record::RecordType;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;
use std::io;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate. The message has the form `file: offset: problem; what to do`.
///
/// `Debug` shows the message, too: it is what a program prints whose `main` returns the error.
#[non_exhaustive]
pub enum Error {
    /// An operation of the operating system failed.
    Io {
        /// File, directory or stream, as the user named it.
        file: String,
        /// The operation that failed, such as `cannot open`.
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The input is not a recording, or cannot be read.
    Input {
        /// The place of the problem.
        place: Place,
        /// The problem.
        problem: String,
        /// What to do about it.
        remedies: Vec<Remedy>,
    },
    /// The request cannot be carried out on this recording. Nothing was written.
    Refused {
        /// The kind of problem: [`ErrorKind::OutputExists`] or a later variant.
        kind: ErrorKind,
        /// The problem.
        problem: String,
        /// What to do about it.
        remedies: Vec<Remedy>,
    },
    /// The output cannot be written.
    Output(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.naming_options(str::to_owned))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::Output(source) => Some(source),
            Self::Input { .. } | Self::Refused { .. } => None,
        }
    }
}

impl Error {
    /// Returns a function that wraps an error of the operating system about a file.
    pub fn io(file: impl Into<String>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let file = file.into();
        move |source| Self::Io { file, doing, source }
    }

    /// An [`Error::Input`] at an offset of a file.
    pub fn input(file: impl Into<String>, offset: impl Into<Option<u64>>, problem: impl Into<String>) -> Self {
        Self::Input { place: Place::new(file, offset), problem: problem.into(), remedies: Vec::new() }
    }

    fn refused(kind: ErrorKind, problem: impl Into<String>) -> Self {
        Self::Refused { kind, problem: problem.into(), remedies: Vec::new() }
    }

    /// An existing output that must not be overwritten.
    pub fn output_exists(problem: impl Into<String>) -> Self {
        Self::refused(ErrorKind::OutputExists, problem)
    }

    /// A request for something that the recording does not contain.
    pub fn not_found(problem: impl Into<String>) -> Self {
        Self::refused(ErrorKind::NotFound, problem)
    }

    /// Recordings, or a recording and an output, that cannot be combined.
    pub fn incompatible(problem: impl Into<String>) -> Self {
        Self::refused(ErrorKind::Incompatible, problem)
    }

    /// An invalid request.
    pub fn invalid(problem: impl Into<String>) -> Self {
        Self::refused(ErrorKind::InvalidRequest, problem)
    }

    /// A result that would exceed a limit.
    pub fn too_large(problem: impl Into<String>) -> Self {
        Self::refused(ErrorKind::TooLarge, problem)
    }

    /// Adds what to do about a refused input or request: `use OPTION to`.
    pub fn remedy(mut self, option: &'static str, to: impl Into<Cow<'static, str>>) -> Self {
        if let Self::Input { remedies, .. } | Self::Refused { remedies, .. } = &mut self {
            remedies.push(Remedy { option, to: to.into() });
        }
        self
    }

    /// The message, with options under the names by which the user of a program sets them.
    pub fn naming_options(&self, name: impl Fn(&str) -> String) -> String {
        let (mut message, remedies) = match self {
            Self::Io { file, doing, source } => (format!("{file}: {doing}: {source}"), &[][..]),
            Self::Input { place, problem, remedies } => (format!("{place}: {problem}"), &remedies[..]),
            Self::Refused { problem, remedies, .. } => (problem.clone(), &remedies[..]),
            Self::Output(source) => (format!("cannot write the output: {source}"), &[][..]),
        };
        for (index, Remedy { option, to }) in remedies.iter().enumerate() {
            message += if index == 0 { "; use " } else { ", or " };
            message += &format!("{} {to}", name(option));
        }
        message
    }

    /// Adds the record to an [`Error::Input`] that has none yet.
    pub fn at_record(mut self, index: u64, record_type: RecordType) -> Self {
        if let Self::Input { place, .. } = &mut self {
            place.record.get_or_insert(RecordPlace { index, record_type });
        }
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } => ErrorKind::Io,
            Self::Input { .. } => ErrorKind::Input,
            Self::Refused { kind, .. } => *kind,
            Self::Output(_) => ErrorKind::Output,
        }
    }

    /// The file, directory or stream that the error is about, as the user named it.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Io { file, .. } => Some(file),
            Self::Input { place, .. } => Some(&place.file),
            Self::Refused { .. } | Self::Output(_) => None,
        }
    }

    /// Offset in the file, in bytes.
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

/// An option that helps against an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remedy {
    /// Name of its field or method, such as `kernel_from`.
    pub option: &'static str,
    /// What it does, as in `to choose the kernel to keep`.
    pub to: Cow<'static, str>,
}

/// Kinds of [errors](Error).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be opened or read.
    Io,
    /// The input is not a recording, or is corrupt.
    Input,
    /// The output cannot be written.
    Output,
    /// The output already exists, or is the input.
    OutputExists,
    /// The recording does not contain the requested item, such as an event, process, time or record.
    NotFound,
    /// The recordings cannot be combined, or the output cannot represent the recording.
    Incompatible,
    /// The request, or the description of a recording, is invalid.
    InvalidRequest,
    /// The result would exceed a limit.
    TooLarge,
}

/// A place in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// File, directory or stream, as the user named it.
    pub file: String,
    /// Offset in bytes.
    pub offset: Option<u64>,
    /// The record at that offset.
    pub record: Option<RecordPlace>,
}

/// A record of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RecordPlace {
    /// Index of the record in file order, from 0; COMPRESSED records count, and so do the records in them.
    pub index: u64,
    /// Type of the record.
    #[serde(rename = "type")]
    pub record_type: RecordType,
}

impl Place {
    /// A place in a file, or the file as a whole.
    pub fn new(file: impl Into<String>, offset: impl Into<Option<u64>>) -> Self {
        Self { file: file.into(), offset: offset.into(), record: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(offset) = self.offset {
            write!(f, ": offset {offset:#x}")?;
        }
        match self.record {
            Some(RecordPlace { index, record_type }) => write!(f, ": record {index} ({record_type})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_of_the_program() {
        let error = Error::output_exists("out: already exists").remedy("overwrite", "to overwrite it");
        let error = error.remedy("jit_dir", "DIR to write elsewhere");
        let expected = "out: already exists; use overwrite to overwrite it, or jit_dir DIR to write elsewhere";
        assert_eq!((error.to_string(), format!("{error:?}")), (expected.to_owned(), expected.to_owned()));
        assert!(
            error
                .naming_options(|name| format!("--{name}"))
                .contains("; use --overwrite to overwrite it, or --jit_dir")
        );
    }
}
