//! How the program fails.

use super::report::say;
use perfconv::error::Error;
use std::process::ExitCode;

/// Why a command did not do what it was asked for.
#[derive(Debug)]
pub enum Failure {
    /// It was asked wrongly.
    Usage(String),
    /// It could not be done.
    Failed(String),
    /// Whoever reads the output has gone. That is no error of ours to speak of.
    ReaderGone,
}

/// As a shell reports a program that a closed pipe ended.
const READER_GONE: u8 = 128 + 13;

impl Failure {
    /// Says what is wrong, and gives the exit status.
    pub fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Usage(message) => (message, 2),
            Self::Failed(message) => (message, 1),
            Self::ReaderGone => return ExitCode::from(READER_GONE),
        };
        say(format_args!("perfconv: {message}"));
        ExitCode::from(code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}
