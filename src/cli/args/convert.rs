//! What can be said of a conversion.

use super::option_args::{OfProfiles, OfRecords, OptionArgs};
use super::passes::PassArgs;
use super::read::ReadArgs;
use super::report::ReportArg;
use clap::{ArgAction, Args, ValueEnum};
use perfconv::container::read::ReadOptions;
use perfconv::formats::import::Values;
use perfconv::formats::options::OptionValues;
use perfconv::rewrite::quipper::{self, Quipper};
use perfconv::rewrite::request::{PassContext, PassRequest};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The recording that is meant where none is named, as perf has it.
pub const DEFAULT_INPUT: &str = "perf.data";

/// Options of converting.
#[derive(Args, Debug, Default)]
pub struct ConvertArgs {
    /// Recording to read: a file, a folder, or - for standard input [default: perf.data]
    #[arg(value_name = "IN", conflicts_with = "input_option")]
    pub input: Option<PathBuf>,

    /// Further recordings, with --out-dir
    #[arg(value_name = "IN")]
    pub further_inputs: Vec<PathBuf>,

    /// Recording to read, said as perf does
    #[arg(short = 'i', long = "input", value_name = "IN")]
    pub input_option: Option<PathBuf>,

    /// File to write, or - for standard output, where text formats that --to names go by default; .gz or .zst at its end
    /// compresses it
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// Folder to write to, a file for each recording that is read, by its name; what is not said by --to is a pprof
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "input_option"])]
    pub out_dir: Option<PathBuf>,

    /// How many recordings are converted at the same time [default: as many as there are cores]
    #[arg(short = 'J', long, value_name = "N", requires = "out_dir")]
    pub jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    pub read: ReadArgs,

    /// Format to write, whatever the name of the output ends with
    #[arg(short, long, value_name = "FORMAT")]
    pub to: Option<String>,

    #[command(flatten)]
    pub of_records: OptionArgs<OfRecords>,

    /// Folder to write with the names of a profile's functions, as ELF files of symbols, for perf --buildid-dir DIR and perf
    /// report --symfs DIR [default: OUT.images beside a perf.data]
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,

    /// What becomes of a profile's values that stand for many samples [default: counted]
    #[arg(long, value_enum, value_name = "HOW")]
    pub values: Option<ValuesArg>,

    #[command(flatten, next_help_heading = "Rewriting")]
    pub passes: PassArgs,

    #[command(flatten, next_help_heading = "Profiles")]
    pub of_profiles: OptionArgs<OfProfiles>,

    /// How much a .gz (0 to 9) or .zst (1 to 22) output is compressed
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(0..=22))]
    pub level: Option<u32>,

    /// Overwrite an output that exists
    #[arg(short, long)]
    pub force: bool,

    /// Exit with status 3 when anything of the input is missing from the output
    #[arg(long)]
    pub strict: bool,

    /// Form of the account of the conversion on standard error
    #[arg(long, value_enum, value_name = "FORM", default_value = "text", conflicts_with = "quiet")]
    pub report: ReportArg,

    /// Tell what became of each type of record
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub verbose: bool,

    /// Tell nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl ConvertArgs {
    /// What the options of formats are given.
    pub fn format_values(&self) -> OptionValues {
        self.of_records.values.clone().and(&self.of_profiles.values)
    }

    /// The recording to read.
    pub fn input(&self) -> PathBuf {
        self.input.clone().or(self.input_option.clone()).unwrap_or_else(|| PathBuf::from(DEFAULT_INPUT))
    }

    /// Whether nothing was said of what to write and where.
    pub fn asks_for_no_output(&self) -> bool {
        let says_what = self.to.is_some() || !self.format_values().is_empty();
        let says_how = self.force
            || self.strict
            || self.report != ReportArg::Text
            || self.level.is_some()
            || !self.passes.list.is_empty();
        self.output.is_none() && self.out_dir.is_none() && !says_what && !says_how
    }

    /// The passes on the way to an output, behind those that its format always runs; each of these once.
    pub fn passes(&self, usual: &[Quipper]) -> Vec<PassRequest> {
        let is_usual =
            |request: &&PassRequest| request.values().get(&quipper::PASS).is_some_and(|pass| usual.contains(&pass));
        let further = self.passes.list.iter().filter(|request| !is_usual(request)).cloned();
        usual.iter().map(|pass| pass.request()).chain(further).collect()
    }

    /// Where passes read and write besides the records: beside the output.
    pub fn context(&self, read: &ReadOptions, output: &Path) -> PassContext {
        let output = Some(output).filter(|output| *output != Path::new("-"));
        let output_dir = output.and_then(Path::parent).map(|folder| match folder {
            folder if folder == Path::new("") => PathBuf::from("."),
            folder => folder.to_owned(),
        });
        PassContext { read: read.clone(), output_dir, overwrite: self.force }
    }
}

/// What becomes of a profile's values, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ValuesArg {
    /// As many samples as it counts, its value spread over them; one of each stack where it does not count
    Counted,
    /// The same, and where it does not count, as many as there are periods in the value
    Spread,
    /// One sample of each stack, with the whole value as its period
    Carry,
}

impl From<ValuesArg> for Values {
    fn from(arg: ValuesArg) -> Self {
        match arg {
            ValuesArg::Counted => Self::Counted,
            ValuesArg::Spread => Self::Spread,
            ValuesArg::Carry => Self::Carry,
        }
    }
}
