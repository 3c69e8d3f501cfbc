//! Arguments of `convert`, `rewrite` and `repair`.

use super::formats::{FormatArgs, NOT_COMPARED};
use super::help::{IMPORTING, INPUT, OUTPUT, SINGLE_FORMATS, for_recordings_only};
use super::passes::PassArgs;
use super::profile::ProfileArgs;
use super::read::ReadArgs;
use super::report::ReportArg;
use super::symbols::SymbolArgs;
use super::{existing_path, file_mode};
use crate::cli::standard_streams::stdin_is_pipe;
use clap::{ArgAction, Args, ValueEnum};
use perf_data::container::access::{Access, FileMode};
use perf_data::container::read::ReadOptions;
use perfconv::formats::OutputFormat;
use perfconv::formats::import::Values;
use perfconv::recording::SymbolOptions;
use perfconv::rewrite::framework::pass_options::PassContext;
use perfconv::rewrite::itrace::TraceEvents;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Recording that is read if none is named, as in perf.
pub(crate) const DEFAULT_INPUT: &str = "perf.data";

/// The recording that is read if none is named: as in perf, standard input if it is a pipe.
pub(crate) fn default_input() -> PathBuf {
    PathBuf::from(if stdin_is_pipe() { "-" } else { DEFAULT_INPUT })
}

const OUTPUT_HELP: &str = "File to write, or - for standard output. Its extension selects the format; a final .gz or .zst \
                           compresses it [default: standard output if --to names a text format]";

/// Arguments of `convert`, `rewrite` and `repair`.
#[derive(Args, Debug, Default)]
pub(crate) struct ConvertArgs {
    /// Recording to read: a file, a directory, or - for standard input; several with --out-dir [default: perf.data]
    #[arg(value_name = "IN", conflicts_with = "input_option")]
    pub inputs: Vec<PathBuf>,

    /// File to write, or - for standard output
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT, long_help = OUTPUT_HELP)]
    pub output: Option<PathBuf>,

    /// Output format; 'perfconv help formats' lists them [default: by the extension of OUT]
    #[arg(short, long, value_name = "FORMAT", help_heading = OUTPUT)]
    pub to: Option<String>,

    /// Overwrite an existing output
    #[arg(short, long, help_heading = OUTPUT)]
    pub force: bool,

    /// Write one file for each recording to this directory, named after the recording; the default format is pprof
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "input_option"], help_heading = OUTPUT)]
    pub out_dir: Option<PathBuf>,

    /// Compression level of a .gz (0 to 9) or .zst (1 to 22) output
    #[arg(long, value_name = "LEVEL", value_parser = level, help_heading = OUTPUT)]
    pub level: Option<u32>,

    /// Permissions of the output, such as 644 [default: those that all inputs have]
    #[arg(long, value_name = "MODE", value_parser = file_mode, help_heading = OUTPUT)]
    pub mode: Option<FileMode>,

    /// Exit with status 3 if records of the input were dropped, or the output lacks data
    #[arg(long, help_heading = OUTPUT)]
    pub strict: bool,

    /// Recording to read, as with perf
    #[arg(short = 'i', long = "input", value_name = "IN", help_heading = INPUT)]
    pub input_option: Option<PathBuf>,

    #[command(flatten)]
    pub read: ReadArgs,

    #[command(flatten)]
    pub passes: PassArgs,

    #[command(flatten)]
    pub formats: FormatArgs,

    /// The format with its options, for commands that write only one.
    #[arg(skip)]
    pub format: Option<Arc<dyn OutputFormat>>,

    /// The events of samples of traces, if they are not the default ones.
    #[arg(skip)]
    pub traces: Option<TraceEvents>,

    /// flamegraph, html, report, markdown: Show how the shares of functions differ from those in this recording
    #[arg(
        long,
        value_name = "BASE",
        conflicts_with = "split_by",
        conflicts_with_all = NOT_COMPARED,
        value_parser = existing_path(),
        help_heading = SINGLE_FORMATS
    )]
    pub diff: Option<PathBuf>,

    #[command(flatten)]
    pub profile: ProfileArgs,

    #[command(flatten)]
    pub symbols: SymbolArgs,

    /// How to expand a profile value that aggregates many samples [default: counted]
    #[arg(long, value_enum, value_name = "HOW", help_heading = IMPORTING)]
    pub values: Option<ValuesArg>,

    /// Directory to write a profile's function names to as ELF files with symbols, for perf --buildid-dir DIR and perf report
    /// --symfs DIR [default: OUT.images if the output is a perf.data]
    #[arg(long, value_name = "DIR", help_heading = IMPORTING)]
    pub images: Option<PathBuf>,

    /// How to report what was converted, on standard error
    #[arg(long, value_enum, value_name = "FORM", default_value = "text", conflicts_with = "quiet")]
    pub report: ReportArg,

    /// Print a table of records by type: read, written, used, dropped
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub verbose: bool,

    /// Suppress all messages except errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// Arguments of commands that write only recordings: `rewrite` and `repair`.
#[derive(Args, Debug)]
#[command(mut_args(for_recordings_only))]
pub(crate) struct RecordingArgs {
    #[command(flatten)]
    pub convert: ConvertArgs,
}

impl ConvertArgs {
    /// The recording to read.
    pub(crate) fn input(&self) -> PathBuf {
        self.inputs.first().or(self.input_option.as_ref()).cloned().unwrap_or_else(default_input)
    }

    /// Whether no argument selects an output or its format.
    pub(crate) fn asks_for_no_output(&self) -> bool {
        let has_format = self.to.is_some() || self.diff.is_some() || self.formats.is_any_given();
        let has_output_options = self.force
            || self.strict
            || self.report != ReportArg::Text
            || self.level.is_some()
            || !self.passes.list.is_empty();
        self.output.is_none() && self.out_dir.is_none() && !has_format && !has_output_options
    }

    /// What passes read and write besides records: object files, and files in the directory of the output.
    pub(crate) fn context(
        &self,
        read: &ReadOptions,
        output: &Path,
        objects: Arc<SymbolOptions>,
        access: Access,
    ) -> PassContext {
        let output = Some(output).filter(|output| *output != Path::new("-"));
        let output_dir = output.and_then(Path::parent).map(|directory| match directory {
            directory if directory == Path::new("") => PathBuf::from("."),
            directory => directory.to_owned(),
        });
        let images = objects.pending_images();
        PassContext {
            read: read.clone(),
            output_dir,
            overwrite: self.force,
            access,
            images,
            objects,
            marks_unselected: false,
        }
    }
}

/// Parses a compression level.
fn level(text: &str) -> Result<u32, &'static str> {
    text.parse().ok().filter(|level| (0..=22).contains(level)).ok_or("expected a level from 0 to 22")
}

/// How profile values are expanded to samples, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ValuesArg {
    /// As many samples as the profile counts, with the value spread over them; one sample for each stack without counts
    Counted,
    /// As counted; without counts, as many samples as periods in the value
    Spread,
    /// One sample for each stack, with the whole value as its period
    Single,
}

impl From<ValuesArg> for Values {
    fn from(arg: ValuesArg) -> Self {
        match arg {
            ValuesArg::Counted => Self::Counted,
            ValuesArg::Spread => Self::Spread,
            ValuesArg::Single => Self::Single,
        }
    }
}
