//! Command-line arguments.

mod annotate;
mod archive;
mod build_ids;
mod convert;
mod deferred;
mod diff;
mod formats;
mod help;
mod inject;
mod inspect;
mod man;
mod mcp;
mod merge;
mod passes;
mod perf;
mod profile;
mod profile_report;
mod progress;
#[cfg(feature = "push")]
mod push;
mod read;
mod recording_output;
mod report;
mod split;
mod symbols;
mod synth;
#[cfg(test)]
mod test_format;
mod view;

pub(super) use annotate::AnnotateArgs;
pub(super) use archive::ArchiveArgs;
pub(super) use convert::{ConvertArgs, DEFAULT_INPUT, RecordingArgs, default_input};
pub(super) use deferred::Deferred;
pub(super) use diff::DiffArgs;
pub(super) use formats::{COMPARING, format_options};
pub(super) use help::{HelpArgs, command, short_help};
pub(super) use inject::InjectArgs;
pub(super) use inspect::{DumpArgs, InfoArgs, OffsetArg, OrderArg};
pub(super) use man::{CompletionsArgs, ManArgs, ShellArg};
pub(super) use mcp::McpArgs;
pub(super) use merge::MergeArgs;
pub(super) use passes::{PassArgs, flags};
pub(super) use perf::PerfArgs;
pub(super) use profile::ProfileContentArgs;
pub(super) use profile_report::{ColorArg, ReportArgs};
pub(super) use progress::ProgressArg;
#[cfg(feature = "push")]
pub(super) use push::{PushArgs, ServerArg};
pub(super) use read::ReadArgs;
pub(super) use recording_output::RecordingOutputArgs;
pub(super) use report::ReportArg;
pub(super) use split::SplitArgs;
pub(super) use symbols::{DemangleArg, NAMING, SymbolArgs, SymbolFileArgs, UNWINDING, WhichArg};
pub(super) use synth::SynthArgs;
pub(super) use view::ViewArgs;

use build_ids::BuildIdSearchArgs;
use clap::{Args, Parser, Subcommand};
use help::headed;
use perfconv::formats::{FORMATS, Format, FormatReader};
pub(super) use perfconv::option_values::{directory, existing_path, file, file_mode};
use perfconv::rewrite::build_ids::find::FindOptions;
use perfconv::rewrite::registry::BUILD_IDS;
use std::path::PathBuf;

/// Date of this version, as in CHANGELOG.md.
pub(super) const RELEASED: &str = "2026-11-29";

/// Read, convert, rewrite and inspect Linux perf.data recordings
#[derive(Debug, Parser)]
#[command(
    name = "perfconv",
    bin_name = "perfconv",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
#[command(after_help = EXAMPLES, after_long_help = after_long_help())]
pub(super) struct Cli {
    /// Command to run; without one, the input is converted.
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub convert: ConvertArgs,

    /// How to show the progress of work that takes longer than a second, on standard error
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", global = true)]
    pub progress: ProgressArg,
}

const EXAMPLES: &str = "\
Examples:
  perfconv view perf.data                            show a page in the browser
  perfconv perf.data -o out.svg                      draw a flame graph
  perfconv perf.data --comm nginx -o nginx.data      keep samples of one program";

const MORE_EXAMPLES: &str = "\
Examples:
  perfconv                                           summarize perf.data and suggest what to do next
  perfconv view perf.data                            show a page with a flame graph in the browser
  perfconv perf.data -o out.svg                      draw a flame graph; out.html: a page
  perfconv perf.data -o out.pb.gz                    convert to pprof
  perf record -o - ./app | perfconv - -o out.pb.gz   convert a pipe
  perfconv in.pb.gz -o out.data                      convert a profile to perf.data
  perfconv perf.data --comm nginx -o nginx.data      keep samples of one program
  perfconv piped.data -o out.data --container file --decompress
  perfconv old.data.gz -t perf.data -o - | perf report -i -";

const EXIT_STATUS: &str = "\
Exit status:
  0    success
  1    failure
  2    usage error
  3    with --strict: something is missing from the output
  4    with --fail-above, --fail-above-total: a function or an event grew by more
  141  the reader closed the pipe
  If a signal ends the program, shells report 128 plus its number";

/// Text after the table of formats.
pub(super) const AFTER_FORMATS: &str =
    "Archives (.tar, .tar.gz, .tar.zst) are read like recordings; 'perfconv archive' writes them.
'perfconv help FORMAT' describes a format and its options.";

fn after_long_help() -> String {
    let formats = formats_table();
    format!("{formats}\n\n{AFTER_FORMATS}\n\n{MORE_EXAMPLES}\n\n{EXIT_STATUS}")
}

/// Table of the formats: name, directions, extensions and a description.
pub(super) fn formats_table() -> String {
    let extensions = |format: &Format| {
        let extensions: Vec<_> = format.extensions.iter().map(|(extension, _)| format!(".{extension}")).collect();
        extensions.join(" ")
    };
    let name_width = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    let extensions_width = FORMATS.iter().map(|format| extensions(format).len()).max().unwrap_or(0);
    let mut table =
        "Formats (r: can be read, w: can be written); a further extension .gz or .zst compresses:".to_owned();
    for format in FORMATS {
        let read = if matches!(format.reader, FormatReader::Nothing) { '-' } else { 'r' };
        let written = if format.output.is_some() { 'w' } else { '-' };
        let (name, extensions, about) = (format.name, extensions(format), format.about);
        table += &format!("\n  {name:<name_width$}  {read}{written}  {extensions:<extensions_width$}  {about}");
    }
    table
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Convert a recording to another format (the default command)
    Convert(Deferred<ConvertArgs>),
    /// Filter or change a recording, or write it to another container
    Rewrite(Deferred<RecordingArgs>),
    /// Write a valid perf.data from a truncated or corrupt recording
    Repair(Deferred<RecordingArgs>),
    /// Rewrite a recording with the options of perf inject
    Inject(Deferred<InjectArgs>),
    /// Merge recordings into one, in time order
    Merge(Deferred<MergeArgs>),
    /// Split a recording by time, size, process, thread, CPU or event
    Split(Deferred<SplitArgs>),
    /// Generate a recording from a scenario of programs and events
    #[command(after_long_help = SYNTH_AFTER_HELP)]
    Synth(Deferred<SynthArgs>),
    /// Pack a recording and its binaries into one file, or unpack it
    Archive(Deferred<ArchiveArgs>),
    /// Report problems in recordings
    #[command(after_help = CHECK_AFTER_HELP)]
    Check(Deferred<CheckArgs>),
    /// Print header, features, events and statistics of a recording
    Info(Deferred<InfoArgs>),
    /// Print the records of a recording as text
    Dump(Deferred<DumpArgs>),
    /// Print the functions with the most samples
    Report(Deferred<ReportArgs>),
    /// Print a function's source lines and instructions
    Annotate(Deferred<AnnotateArgs>),
    /// Show a recording as a page in the browser
    View(Deferred<ViewArgs>),
    /// Send the profile of a recording to a server
    #[cfg(feature = "push")]
    Push(Deferred<PushArgs>),
    /// Compare the records of two recordings
    #[command(after_help = DIFF_AFTER_HELP)]
    Diff(Deferred<DiffArgs>),
    /// Answer a command of perf; 'perfconv script' is 'perf script'
    #[command(after_help = PERF_AFTER_HELP)]
    Perf(Deferred<PerfArgs>),
    /// Answer questions of an agent about recordings
    #[command(after_help = MCP_AFTER_HELP)]
    Mcp(Deferred<McpArgs>),
    /// Print a script that completes command lines in a shell
    Completions(Deferred<CompletionsArgs>),
    /// Write manual pages to a directory
    Man(Deferred<ManArgs>),
    /// Print help for a command or a format, or list the formats
    Help(Deferred<HelpArgs>),
}

const PERF_AFTER_HELP: &str = "\
Examples:
  perfconv perf help                                 list the commands
  perfconv perf script -i perf.data -F comm,ip,sym   print samples
  perfconv perf --install DIR                        link DIR/perf to this program";

const MCP_AFTER_HELP: &str = "\
The protocol is the Model Context Protocol. A client runs this command itself; docs/agents.md in perfconv's source shows how.

Examples:
  perfconv mcp perf.data                             answer questions about a recording
  perfconv mcp --root recordings -- --symfs files    about those in a directory, with their binaries";

const DIFF_AFTER_HELP: &str = "\
Lines with ! are in both recordings with different values, lines with - only in the first, lines with + only in the second.

To compare where time is spent: perfconv report NEW.data --diff OLD.data, or as a page perfconv NEW.data -o out.html --diff OLD.data.

Exit status: 0 no differences, 1 differences, 2 cannot compare or usage error.";

const SYNTH_AFTER_HELP: &str = "\
Example of a scenario:
  duration = '1s'
  event = [{ name = 'cycles:u', rate = 100, fields = ['CALLCHAIN'] }]
  program = [{ path = '/usr/bin/app', functions = ['main', 'work', 'wait'] }]
  [[process]]
  pid = 100
  comm = 'app'
  programs = ['/usr/bin/app']
  [[process.thread]]
  stack = [
    { percent = 75, frames = ['main', 'work'] },
    { percent = 25, frames = ['main', 'wait'] },
  ]

The manual, docs/synthesizing.md in perfconv's source, describes all keys; scenarios/ has more examples.";

const CHECK_AFTER_HELP: &str = "\
An error means that data is lost or cannot be decoded; a warning, that a rule of the format is violated that other readers may \
rely on; a note, that data is newer than this version or has no meaning. The manual, docs/check.md in perfconv's source, explains \
each code.

Exit status: 0 nothing but notes, 1 a recording cannot be read, 2 usage error, 3 warnings or errors, or with --symbols missing \
function names.";

/// Arguments of `check`.
#[derive(Args, Debug)]
#[command(mut_args(headed::<FindOptions>(BUILD_IDS)))]
pub(super) struct CheckArgs {
    /// Recordings to check: files, directories, or - for standard input; other formats are converted first [default: perf.data]
    #[arg(value_name = "FILE", default_values_os_t = [default_input()], hide_default_value = true)]
    pub inputs: Vec<PathBuf>,

    /// Report objects without function names and their share of samples, instead of problems
    #[arg(long)]
    pub symbols: bool,

    #[command(flatten)]
    pub find: BuildIdSearchArgs,

    #[command(flatten)]
    pub files: SymbolFileArgs,

    /// Print each finding as one line of JSON
    #[arg(long)]
    pub json: bool,

    /// Print all findings, not only the first 3 of each kind
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    #[command(flatten)]
    pub read: ReadArgs,
}

impl CheckArgs {
    /// Name of the first option for files with symbols that was given.
    pub(super) fn symbol_option(&self) -> Option<&'static str> {
        self.find.first_given().or(self.files.first_given())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn arguments_are_consistent() {
        super::command::<super::Cli>().debug_assert();
    }
}
