//! What the user can say.

mod archive;
mod build_ids;
mod convert;
mod diff;
mod inject;
mod inspect;
mod merge;
mod option_args;
mod passes;
mod read;
mod recording_output;
mod report;
mod split;
mod synth;

pub use archive::ArchiveArgs;
pub use convert::{ConvertArgs, DEFAULT_INPUT};
pub use diff::DiffArgs;
pub use inject::InjectArgs;
pub use inspect::{DumpArgs, InfoArgs, OffsetArg, OrderArg};
pub use merge::MergeArgs;
pub use read::ReadArgs;
pub use recording_output::WrittenArgs;
pub use report::ReportArg;
pub use split::SplitArgs;
pub use synth::SynthArgs;

use clap::{Args, Parser, Subcommand};
use perfconv::formats::FORMATS;
use perfconv::rewrite::option_values::directory as folder;
use std::path::PathBuf;

/// Reads Linux perf.data recordings, converts them to pprof, JSON and others, rewrites them, and checks and compares them.
#[derive(Debug, Parser)]
#[command(name = "perfconv", version, args_conflicts_with_subcommands = true, after_help = after_help())]
pub struct Cli {
    /// What to do; converting, where nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub convert: ConvertArgs,
}

const EXAMPLES_AND_STATUS: &str = "\
Examples:
  perfconv                              what perf.data in this folder is, and what to do next
  perfconv -o out.pb.gz                 perf.data in this folder to pprof
  perf record -o - ./app | perfconv - -o out.pb.gz
  perfconv piped.data -o out.data --container file --decompress
  perfconv in.pb.gz -o out.data         a pprof, folded stacks or perf script's text to a recording
  perfconv old.data.gz -t perf.data -o - | perf report -i -

Exit status:
  0    success
  1    failure
  2    wrong usage
  3    with --strict: something is missing from the output
  141  whoever reads the output has gone
  Ended by a signal: 128 and its number, as shells tell it";

fn after_help() -> String {
    let mut help = "Formats, and the endings that choose them; a further .gz or .zst compresses:\n".to_owned();
    for format in FORMATS {
        let endings: Vec<_> = format.extensions.iter().map(|(extension, _)| format!(".{extension}")).collect();
        help += &format!("  {:<12} {:<19} {}\n", format.name, endings.join(" "), format.about);
    }
    help + "\n" + EXAMPLES_AND_STATUS
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Convert a recording to another format
    Convert(Box<ConvertArgs>),
    /// Write a recording as a perf.data, whatever the name of the output: in another container or form, or changed
    Rewrite(Box<ConvertArgs>),
    /// Make a regular perf.data of a killed or damaged recording: what can be read of it, with what can be told of it again
    Repair(Box<ConvertArgs>),
    /// Do what perf inject does, by its names
    Inject(Box<InjectArgs>),
    /// Make one recording of several, in the order of time
    Merge(Box<MergeArgs>),
    /// Make several recordings of one, in a folder
    Split(Box<SplitArgs>),
    /// Make a recording up: of programs, threads and events that a scenario describes
    Synth(SynthArgs),
    /// Put a recording and the objects that its samples are in into one file, as perf archive does; or unpack one
    Archive(Box<ArchiveArgs>),
    /// Say what is wrong with recordings
    #[command(after_help = CHECK_AFTER_HELP)]
    Check(CheckArgs),
    /// Tell what a recording is: header, features, events, how much of what is in it
    Info(InfoArgs),
    /// Show a recording record by record
    Dump(DumpArgs),
    /// Show how two recordings differ
    #[command(after_help = DIFF_AFTER_HELP)]
    Diff(DiffArgs),
}

const DIFF_AFTER_HELP: &str = "\
Lines with ! tell of what is in both with other values, with - of what is in the first alone, with + in the second alone.

Exit status: 0 they are the same, 1 they differ, 2 they cannot be compared, or wrong usage.";

const CHECK_AFTER_HELP: &str = "\
An error is something that is lost or cannot be read; a warning is a broken rule that other readers may stumble over; a
note is something new or without meaning.

Exit status: 0 nothing but notes, 1 a recording cannot be read at all, 2 wrong usage, 3 warnings or errors.";

/// Options of checking.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Recordings to check: files, folders, or - for standard input; of another format, what is made of it
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<PathBuf>,

    /// One JSON object a line for each finding
    #[arg(long)]
    pub json: bool,

    /// Show all findings, however many are alike
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    #[command(flatten)]
    pub read: ReadArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
