//! Failures of commands and their exit status.

use super::report::{print_message, printable_line};
use super::{progress, temporary_outputs::INPUT_TRUNCATED};
use perf_data::error::{Error, ErrorKind};
use serde_json::json;
use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// Arguments that the parser rejects, with its message of several lines.
    Arguments(String),
    /// Invalid arguments.
    Usage(String),
    /// An error of the library.
    Error(Error),
    /// Any other failure.
    Failed(String),
    /// The reader of the output closed the pipe. This is not reported.
    BrokenPipe,
}

/// Exit status after a closed pipe, as a shell reports it: 128 plus SIGPIPE.
const BROKEN_PIPE: u8 = 128 + 13;

/// EFAULT: a memory-mapped input was truncated.
const BAD_ADDRESS: i32 = 14;

/// With the value `json`, a failure is a line of JSON on standard error, for programs that run this one.
const FORM: &str = "PERFCONV_ERRORS";

impl Failure {
    /// Prints the message, and returns the exit status.
    pub(super) fn report(self) -> ExitCode {
        let code = match self {
            Self::Arguments(_) | Self::Usage(_) => 2,
            Self::Error(_) | Self::Failed(_) => 1,
            Self::BrokenPipe => return ExitCode::from(BROKEN_PIPE),
        };
        let message = match &self {
            Self::Arguments(message) | Self::Usage(message) | Self::Failed(message) => message.clone(),
            Self::Error(error) => message(error),
            Self::BrokenPipe => String::new(),
        };
        if env::var_os(FORM).is_some_and(|form| form == "json") {
            self.print_json(message);
        } else if let Self::Arguments(_) = self {
            format!("perfconv: {message}").lines().for_each(|line| print_message(format_args!("{line}")));
        } else {
            print_message(format_args!("perfconv: {message}"));
        }
        ExitCode::from(code)
    }

    /// Whether the arguments were valid.
    pub(super) fn has_valid_arguments(&self) -> bool {
        matches!(self, Self::Error(_) | Self::Failed(_))
    }

    fn print_json(&self, message: String) {
        let message = printable_line(message);
        let line = match self {
            Self::Error(error) => json!({
                "kind": error.kind(),
                "file": error.file(),
                "offset": error.offset(),
                "record": error.record(),
                "message": message,
            }),
            Self::Arguments(_) | Self::Usage(_) => json!({ "kind": "arguments", "message": message }),
            Self::Failed(_) | Self::BrokenPipe => json!({ "kind": ErrorKind::Io, "message": message }),
        };
        progress::without_display(|| _ = writeln!(io::stderr(), "{line}"));
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::Output(e) if e.kind() == io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            // The system failed to read the bytes to write, from a memory-mapped input.
            Error::Io { source, .. } if source.raw_os_error() == Some(BAD_ADDRESS) => {
                Self::Failed(INPUT_TRUNCATED.to_owned())
            }
            _ => Self::Error(error),
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
