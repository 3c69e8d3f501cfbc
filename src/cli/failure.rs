//! Failures of commands and their exit status.

use super::report::print_message;
use super::temporary_outputs::INPUT_TRUNCATED;
use perf_data::error::Error;
use std::io::ErrorKind;
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Arguments that the parser rejects, with its message of several lines.
    Arguments(String),
    /// Invalid arguments.
    Usage(String),
    /// Any other failure.
    Failed(String),
    /// The reader of the output closed the pipe. This is not reported.
    BrokenPipe,
}

/// Exit status after a closed pipe, as a shell reports it: 128 plus SIGPIPE.
const BROKEN_PIPE: u8 = 128 + 13;

/// EFAULT: a memory-mapped input was truncated.
const BAD_ADDRESS: i32 = 14;

impl Failure {
    /// Prints the message, and returns the exit status.
    pub(super) fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::Arguments(message) => {
                format!("perfconv: {message}").lines().for_each(|line| print_message(format_args!("{line}")));
                return ExitCode::from(2);
            }
            Self::Usage(message) => (message, 2),
            Self::Failed(message) => (message, 1),
            Self::BrokenPipe => return ExitCode::from(BROKEN_PIPE),
        };
        print_message(format_args!("perfconv: {message}"));
        ExitCode::from(code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::Output(e) if e.kind() == ErrorKind::BrokenPipe => Self::BrokenPipe,
            // The system failed to read the bytes to write, from a memory-mapped input.
            Error::Io { source, .. } if source.raw_os_error() == Some(BAD_ADDRESS) => {
                Self::Failed(INPUT_TRUNCATED.to_owned())
            }
            error => Self::Failed(message(error)),
        }
    }
}

/// The message of an error, with options as arguments.
pub(super) fn message(error: &Error) -> String {
    error.naming_options(|option| match option {
        "overwrite" => "-f".to_owned(),
        option => format!("--{}", option.replace('_', "-")),
    })
}
