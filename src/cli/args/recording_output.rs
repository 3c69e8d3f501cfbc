//! Options for writing recordings, shared by the commands that write new ones.

use super::help::{RECORDINGS, headed};
use super::{ReportArg, directory, file_mode};
use clap::Args;
use perf_data::container::access::FileMode;
use perfconv::rewrite::framework::output::{RecordingForm, RecordingOptions};
use std::path::PathBuf;

/// Options for writing recordings.
#[derive(Args, Debug)]
#[command(mut_args(headed::<RecordingForm>(RECORDINGS)))]
pub(crate) struct RecordingOutputArgs {
    #[command(flatten)]
    pub form: RecordingForm,

    /// Permissions of the output, such as 644 [default: those that all inputs have]
    #[arg(long, value_name = "MODE", value_parser = file_mode)]
    pub mode: Option<FileMode>,

    /// Exit with status 3 if records of the input were dropped, or the output lacks data
    #[arg(long)]
    pub strict: bool,

    /// Directory for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", value_parser = directory())]
    pub spool_dir: Option<PathBuf>,

    /// How to report what was converted, on standard error
    #[arg(long, value_enum, value_name = "FORM", default_value = "text", conflicts_with = "quiet")]
    pub report: ReportArg,

    /// Print a table of records by type: read, written, used, dropped
    #[arg(short, long)]
    pub verbose: bool,

    /// Suppress all messages except errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl RecordingOutputArgs {
    /// How the recording is written.
    pub(crate) fn recording(&self, allow_mixed: bool) -> RecordingOptions {
        let mut options = RecordingOptions::default();
        options.form = self.form;
        options.allow_mixed = allow_mixed;
        options
    }
}
