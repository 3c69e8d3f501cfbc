//! What can be said of a conversion.

use super::option_args::{OfProfiles, OfRecords, OptionArgs};
use super::read::ReadArgs;
use super::report::ReportArg;
use super::step::Step;
use super::steps::Steps;
use crate::formats::import::Values;
use crate::formats::options::OptionValues;
use crate::rewrite::jit::images::ImageOptions;
use crate::rewrite::perf_version::since::PerfVersion;
use crate::rewrite::quipper::Quipper;
use clap::{ArgAction, Args, ValueEnum};
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
    pub steps: Steps,

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
            || !self.steps.list.is_empty();
        self.output.is_none() && self.out_dir.is_none() && !says_what && !says_how
    }

    /// The steps that are asked for, on the way to an output, behind those that go without saying; each of these once.
    pub fn steps(&self, output: &Path, usual: &[Quipper]) -> Vec<Step> {
        let mut steps: Vec<_> = usual.iter().map(|&pass| Step::Quipper(pass)).collect();
        let is_asked_for = |step: &Step| !usual.iter().any(|&pass| Step::Quipper(pass) == *step);
        steps.extend(self.steps.with_images(&self.images(output)).into_iter().filter(is_asked_for));
        steps
    }

    /// Where images go unless it is said where: beside the output.
    fn images(&self, output: &Path) -> ImageOptions {
        let output = Some(output).filter(|output| *output != Path::new("-"));
        let folder = output.and_then(Path::parent).map(|folder| match folder {
            folder if folder == Path::new("") => PathBuf::from("."),
            folder => folder.to_owned(),
        });
        ImageOptions { dir: folder, overwrite: self.force }
    }

    /// The version of perf that is to read what is written.
    pub fn perf_version(&self) -> Option<PerfVersion> {
        self.steps.list.iter().find_map(|step| match step {
            Step::PerfVersion(version) => Some(*version),
            _ => None,
        })
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
