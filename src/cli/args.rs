//! What the user can say.

use crate::abi::record::RecordType;
use crate::abi::told;
use crate::container::read::Container;
use crate::formats::FORMATS;
use crate::formats::quipper::Fidelity;
use crate::profile::labels::Label;
use crate::profile::options::Split;
use crate::rewrite::passes::Passes;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Reads Linux perf.data recordings, converts them to pprof, writes them back in any container, and checks them.
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
    /// Say what is wrong with recordings
    #[command(after_help = CHECK_AFTER_HELP)]
    Check(CheckArgs),
    /// Tell what a recording is: header, features, events, how much of what is in it
    Info(InfoArgs),
    /// Show a recording record by record
    Dump(DumpArgs),
}

const CHECK_AFTER_HELP: &str = "\
An error is something that is lost or cannot be read; a warning is a broken rule that other readers may stumble over; a
note is something new or without meaning.

Exit status: 0 nothing but notes, 1 a recording cannot be read at all, 2 wrong usage, 3 warnings or errors.";

/// Options of checking.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Recordings to check: files, folders, or - for standard input
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<PathBuf>,

    /// One JSON object a line for each finding
    #[arg(long)]
    pub json: bool,

    /// Show all findings, however many are alike
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,
}

/// Options of looking into a recording.
#[derive(Args, Debug)]
pub struct InfoArgs {
    /// Recording to look into: a file, a folder, or - for standard input
    #[arg(value_name = "FILE", default_value = DEFAULT_INPUT)]
    pub input: PathBuf,

    /// Only records by type, samples by event, what was lost, processes and threads
    #[arg(long)]
    pub stats: bool,

    /// Only the events and their groups, as perf evlist -v and -g tell them
    #[arg(long)]
    pub events: bool,

    /// Only build ids of files, as perf buildid-list tells them
    #[arg(long)]
    pub build_ids: bool,

    /// One JSON object
    #[arg(long)]
    pub json: bool,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,
}

/// Options of showing records.
#[derive(Args, Debug)]
pub struct DumpArgs {
    /// Recording to show: a file, a folder, or - for standard input
    #[arg(value_name = "FILE", default_value = DEFAULT_INPUT)]
    pub input: PathBuf,

    /// Show the bytes of the records too, and all of what is opaque
    #[arg(long)]
    pub raw: bool,

    /// Only records of these types, by name or number, separated by commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = record_type)]
    pub types: Vec<RecordType>,

    /// Only so many records
    #[arg(long, value_name = "N")]
    pub head: Option<u64>,

    /// In the order of the file, or of time
    #[arg(long, value_enum, value_name = "ORDER", default_value = "file")]
    pub order: OrderArg,

    /// Only from the record on that this byte of the file is in
    #[arg(long, value_name = "N", value_parser = number, default_value = "0")]
    pub offset: u64,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,
}

/// The order in which records are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OrderArg {
    /// As they stand in the file
    File,
    /// As they happened
    Time,
}

fn number(text: &str) -> Result<u64, String> {
    told::number(text).ok_or_else(|| "is no number, neither decimal nor hexadecimal behind 0x".to_owned())
}

/// A type by its name, with or without what all begin with, or by its number.
fn record_type(text: &str) -> Result<RecordType, String> {
    let name = text.to_uppercase();
    let name = name.strip_prefix("PERF_RECORD_").unwrap_or(&name);
    let named = RecordType::NAMED.iter().find(|(_, named)| *named == name).map(|(kind, _)| *kind);
    named.or_else(|| told::number(text)?.try_into().ok().map(RecordType)).ok_or_else(|| {
        let names: Vec<_> = RecordType::NAMED.iter().map(|(_, name)| *name).collect();
        format!("there is no such type; there is {}", names.join(", "))
    })
}

/// The recording that is meant where none is named, as perf has it.
pub const DEFAULT_INPUT: &str = "perf.data";

/// Options of converting.
#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// Recording to read: a file, a folder, or - for standard input [default: perf.data]
    #[arg(value_name = "IN", conflicts_with = "input_option")]
    pub input: Option<PathBuf>,

    // Without this they would be taken for subcommands, and complained about as such.
    #[arg(hide = true)]
    pub further_inputs: Vec<PathBuf>,

    /// Recording to read, said as perf does
    #[arg(short = 'i', long = "input", value_name = "IN")]
    pub input_option: Option<PathBuf>,

    /// File to write, or - for standard output; .gz or .zst at its end compresses it
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// Format of the input, where it cannot be told by what it holds or its name
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,

    /// Format to write, whatever the name of the output ends with
    #[arg(short, long, value_name = "FORMAT")]
    pub to: Option<String>,

    /// Container of a perf.data that is written [default: that of the input; pipe on standard output]
    #[arg(long, value_enum, value_name = "CONTAINER")]
    pub container: Option<ContainerArg>,

    /// Write the records of a compressed recording plain
    #[arg(long)]
    pub decompress: bool,

    /// Compress the records anew, as perf record -z does; zstd's levels go from 1 (fast) to 22 (small) [default level: 3]
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(i32).range(1..=22),
        conflicts_with = "decompress"
    )]
    pub compress: Option<i32>,

    /// How much of a recording a PerfDataProto holds [default: lossless]
    #[arg(long, value_enum, value_name = "FIDELITY")]
    pub quipper: Option<FidelityArg>,

    /// Write no field to a perf-json that perf data convert --to-json does not write
    #[arg(long)]
    pub exact: bool,

    /// What JSON tells besides what it is made again of
    #[arg(long, value_enum, value_name = "WHAT")]
    pub decode: Option<DecodeArg>,

    /// What to change of the records, by quipper's rules; separated by commas
    #[arg(long = "pass", value_enum, value_name = "PASSES", value_delimiter = ',')]
    pub passes: Vec<PassArg>,

    #[command(flatten, next_help_heading = "Profiles")]
    pub profile: ProfileArgs,

    /// Write the pprof that another program makes of the recording
    #[arg(
        long,
        value_enum,
        value_name = "PROGRAM",
        conflicts_with_all = ["labels", "events", "split_by", "lost", "data_addresses", "thread_types"]
    )]
    pub compat: Option<CompatArg>,

    /// How much a .gz (0 to 9) or .zst (1 to 22) output is compressed
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=22))]
    pub level: Option<u32>,

    /// Overwrite an output that exists
    #[arg(short, long)]
    pub force: bool,

    /// Exit with status 3 when anything of the input is missing from the output
    #[arg(long)]
    pub strict: bool,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR")]
    pub spool_dir: Option<PathBuf>,

    /// Tell what became of each type of record
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub verbose: bool,

    /// Tell nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// What goes into a profile.
#[derive(Args, Debug, Default)]
pub struct ProfileArgs {
    /// Labels of samples, separated by commas; none for no labels [default: comm]
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = label_keys(), long_help = labels_help())]
    pub labels: Option<Vec<String>>,

    /// Only samples of this event, with or without its modifiers; may be given more than once
    #[arg(long = "event", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub events: Vec<String>,

    /// Write one profile for each of these into a folder
    #[arg(long, value_enum, value_name = "WHAT")]
    pub split_by: Option<SplitArg>,

    /// What to do with what the kernel lost: leave it apart, or count it as samples of a stack of its own
    #[arg(long, value_enum, value_name = "HOW", default_value = "apart")]
    pub lost: LostArg,

    /// Make the address of the data a frame above the leaf
    #[arg(long)]
    pub data_addresses: bool,

    /// File with a thread id and what to call its thread on each line, for the label thread_type
    #[arg(long, value_name = "FILE")]
    pub thread_types: Option<PathBuf>,
}

impl ProfileArgs {
    /// The name of an option that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        [
            (self.labels.is_some(), "--labels"),
            (!self.events.is_empty(), "--event"),
            (self.split_by.is_some(), "--split-by"),
            (self.lost != LostArg::Apart, "--lost"),
            (self.data_addresses, "--data-addresses"),
            (self.thread_types.is_some(), "--thread-types"),
        ]
        .into_iter()
        .find_map(|(is_given, option)| is_given.then_some(option))
    }
}

impl ConvertArgs {
    /// The name of an option that was given and is for certain formats, of which this is none, and those formats.
    pub fn first_not_for(&self, format: &str) -> Option<(&'static str, &'static [&'static str])> {
        let for_some: [(bool, &str, &[&str]); 4] = [
            (self.compat.is_some(), "--compat", &["pprof"]),
            (self.quipper.is_some(), "--quipper", &["quipper", "quipper-text"]),
            (self.decode.is_some(), "--decode", &["jsonl", "json"]),
            (self.exact, "--exact", &["perf-json"]),
        ];
        let misplaced = |&(is_given, _, formats): &(bool, _, &[&str])| is_given && !formats.contains(&format);
        for_some.into_iter().find(misplaced).map(|(_, option, formats)| (option, formats))
    }

    /// The recording to read.
    pub fn input(&self) -> PathBuf {
        self.input.clone().or(self.input_option.clone()).unwrap_or_else(|| PathBuf::from(DEFAULT_INPUT))
    }

    /// Whether nothing was said of what to write and where.
    pub fn asks_for_no_output(&self) -> bool {
        let says_what = self.to.is_some() || self.compat.is_some() || self.exact;
        let options = self.profile.first_given().or(self.first_of_records());
        self.output.is_none() && !says_what && options.is_none() && self.passes.is_empty()
    }

    /// The passes that are asked for; of a PerfDataProto those too that go without saying.
    pub fn passes(&self, of_proto: bool) -> Passes {
        let is_perf_converter = of_proto && self.quipper == Some(FidelityArg::PerfConverter);
        let usual = if is_perf_converter { Passes::PERF_CONVERTER } else { Passes::default() };
        self.passes.iter().map(|&pass| Passes::from(pass)).fold(usual, Passes::and)
    }

    /// The name of an option that was given and is for recordings.
    pub fn first_of_records(&self) -> Option<&'static str> {
        [
            (self.container.is_some(), "--container"),
            (self.decompress, "--decompress"),
            (self.compress.is_some(), "--compress"),
        ]
        .into_iter()
        .find_map(|(is_given, option)| is_given.then_some(option))
    }
}

/// Stands for no labels.
pub const NO_LABELS: &str = "none";

fn label_keys() -> PossibleValuesParser {
    PossibleValuesParser::new(Label::ALL.iter().map(|label| label.key()).chain([NO_LABELS]))
}

fn labels_help() -> String {
    let keys: Vec<_> = Label::ALL.iter().map(|label| label.key()).collect();
    format!("Labels of samples, separated by commas: {}; none for no labels [default: comm]", keys.join(", "))
}

/// What a profile is split by, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitArg {
    /// Process
    Pid,
    /// Name of the process
    Comm,
    /// Event
    Event,
    /// Cgroup
    Cgroup,
}

impl From<SplitArg> for Split {
    fn from(arg: SplitArg) -> Self {
        match arg {
            SplitArg::Pid => Self::Pid,
            SplitArg::Comm => Self::Comm,
            SplitArg::Event => Self::Event,
            SplitArg::Cgroup => Self::Cgroup,
        }
    }
}

/// What to do with what the kernel lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LostArg {
    /// Tell how much it is, and leave it out
    #[default]
    Apart,
    /// Samples of a stack of their own
    AsSamples,
}

/// A program whose output can be had, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompatArg {
    /// Of perf_data_converter: what pprof reads a perf.data by
    #[value(name = "perf_to_profile")]
    PerfToProfile,
}

/// How much of a recording a PerfDataProto holds, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FidelityArg {
    /// What quipper's own reader makes of it, and nothing else
    Strict,
    /// All of it, in fields that quipper skips where it has none
    Lossless,
    /// What perf_converter writes: strict, with the passes sort, huge-pages and combine
    PerfConverter,
}

impl From<FidelityArg> for Fidelity {
    fn from(arg: FidelityArg) -> Self {
        match arg {
            FidelityArg::Strict | FidelityArg::PerfConverter => Self::Strict,
            FidelityArg::Lossless => Self::Lossless,
        }
    }
}

/// A pass, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PassArg {
    /// Records in the order of time, those without one first
    Sort,
    /// Name maps that huge pages have hidden by the file that they are parts of
    HugePages,
    /// Tell maps as one that were told in pieces
    Combine,
    /// Replace addresses by others that say nothing of where a process was
    Remap,
    /// Leave out maps that no sample was in, and the marks of rounds
    DiscardUnused,
}

impl From<PassArg> for Passes {
    fn from(arg: PassArg) -> Self {
        let none = Self::default();
        match arg {
            PassArg::Sort => Self { sort: true, ..none },
            PassArg::HugePages => Self { huge_pages: true, ..none },
            PassArg::Combine => Self { combine: true, ..none },
            PassArg::Remap => Self { remap: true, ..none },
            PassArg::DiscardUnused => Self { discard_unused: true, ..none },
        }
    }
}

/// What JSON can tell besides, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DecodeArg {
    /// The fields of tracepoints' samples, by the formats in the recording
    Tracepoints,
}

/// A container, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ContainerArg {
    /// A file with header and sections
    File,
    /// A stream of records, as perf record writes it to a pipe
    Pipe,
    /// A folder, as perf record --threads writes it
    Dir,
}

impl From<ContainerArg> for Container {
    fn from(arg: ContainerArg) -> Self {
        match arg {
            ContainerArg::File => Self::File,
            ContainerArg::Pipe => Self::Pipe,
            ContainerArg::Dir => Self::Directory,
        }
    }
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
