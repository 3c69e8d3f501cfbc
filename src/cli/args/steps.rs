//! Steps of a rewrite, in the order in which they are said.

use crate::abi::feature::FeatureId;
use crate::container::read::ReadOptions;
use crate::profile::event::ProfileEvent;
use crate::rewrite::by_time::ByTimePass;
use crate::rewrite::header_edits::{HeaderEdit, Value};
use crate::rewrite::pass::Pass;
use crate::rewrite::perf_version::PerfVersionPass;
use crate::rewrite::perf_version::since::PerfVersion;
use crate::rewrite::quipper::Quipper;
use crate::rewrite::repair::RepairPass;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

/// A step that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `--pass`.
    Quipper(Quipper),
    /// The command `repair`.
    Repair,
    /// `--sort`.
    Sort,
    /// `--set`, `--add-feature`, `--drop-feature`.
    Header(HeaderEdit),
    /// `--perf-version`.
    PerfVersion(PerfVersion),
}

impl Step {
    /// The option that asks for it.
    pub fn option(&self) -> &'static str {
        match self {
            Self::Quipper(_) => "--pass",
            Self::Repair => "repair",
            Self::Sort => "--sort",
            Self::Header(HeaderEdit::Set(..)) => "--set",
            Self::Header(HeaderEdit::Add(..)) => "--add-feature",
            Self::Header(HeaderEdit::Drop(_)) => "--drop-feature",
            Self::PerfVersion(_) => "--perf-version",
        }
    }

    /// The pass that it is.
    pub fn pass(&self, options: &ReadOptions) -> Box<dyn Pass> {
        match self {
            Self::Quipper(pass) => pass.pass(options),
            Self::Repair => Box::new(RepairPass::new(|event| ProfileEvent::from(event).name)),
            Self::Sort => Box::new(ByTimePass { options: options.clone() }),
            Self::Header(edit) => Box::new(edit.clone()),
            Self::PerfVersion(version) => Box::new(PerfVersionPass::new(*version)),
        }
    }
}

/// All steps, in the order in which they are said.
#[derive(Debug, Default)]
pub struct Steps {
    /// The steps.
    pub list: Vec<Step>,
}

/// The options that ask for steps; each takes any number of them, and is in [`IDS`].
#[derive(Args, Debug)]
struct StepArgs {
    /// What to change of the records, by quipper's rules; separated by commas
    #[arg(long, value_name = "PASSES", value_delimiter = ',', value_parser = quipper())]
    pass: Vec<Step>,

    /// Records in the order of time, by the whole recording
    #[arg(long, num_args = 0, default_missing_value = "", value_parser = |_: &str| sort())]
    sort: Option<Step>,

    /// Give a feature that is there another value, such as hostname=build-7; may be given more than once
    #[arg(long, value_name = "FEATURE=VALUE", value_parser = |text: &str| valued(text, HeaderEdit::Set))]
    set: Vec<Step>,

    /// Add a feature that is not there
    #[arg(long, value_name = "FEATURE=VALUE", value_parser = |text: &str| valued(text, HeaderEdit::Add))]
    add_feature: Vec<Step>,

    /// Leave out a feature
    #[arg(long, value_name = "FEATURE", value_parser = |text: &str| feature(text).map(HeaderEdit::Drop).map(Step::Header))]
    drop_feature: Vec<Step>,

    /// Write what this version of perf reads; what it does not know is left out or told otherwise
    #[arg(long, value_name = "X.Y", value_parser = |text: &str| text.parse().map(Step::PerfVersion))]
    perf_version: Option<Step>,
}

fn sort() -> Result<Step, String> {
    Ok(Step::Sort)
}

/// A feature by its name, as perf has it, in letters of any case, with or without what all begin with.
fn feature(text: &str) -> Result<FeatureId, String> {
    let name = text.to_uppercase().replace('-', "_");
    let name = name.strip_prefix("HEADER_").unwrap_or(&name);
    let named = FeatureId::NAMED.iter().find(|(_, named)| *named == name).map(|(id, _)| *id);
    named.ok_or_else(|| {
        let names: Vec<_> = FeatureId::NAMED.iter().map(|(_, name)| name.to_lowercase()).collect();
        format!("there is no such feature; there is {}", names.join(", "))
    })
}

/// A feature and its value.
fn valued(text: &str, edit: fn(FeatureId, Value) -> HeaderEdit) -> Result<Step, String> {
    let (name, value) = text.split_once('=').ok_or("is not FEATURE=VALUE")?;
    let id = feature(name)?;
    Value::parse(id, value).map(|value| Step::Header(edit(id, value)))
}

/// The names of [`StepArgs`]' fields.
const IDS: [&str; 6] = ["pass", "sort", "set", "add_feature", "drop_feature", "perf_version"];

impl Args for Steps {
    fn augment_args(command: Command) -> Command {
        StepArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        StepArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for Steps {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut steps = Vec::new();
        for id in IDS {
            let places = matches.indices_of(id).into_iter().flatten();
            steps.extend(places.zip(matches.get_many::<Step>(id).into_iter().flatten().cloned()));
        }
        steps.sort_by_key(|(place, _)| *place);
        Ok(Self { list: steps.into_iter().map(|(_, step)| step).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A pass by quipper's rules, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum QuipperArg {
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

fn quipper() -> impl clap::builder::TypedValueParser<Value = Step> {
    use clap::builder::TypedValueParser;
    clap::builder::EnumValueParser::<QuipperArg>::new().map(|arg| {
        Step::Quipper(match arg {
            QuipperArg::Sort => Quipper::Sort,
            QuipperArg::HugePages => Quipper::HugePages,
            QuipperArg::Combine => Quipper::Combine,
            QuipperArg::Remap => Quipper::Remap,
            QuipperArg::DiscardUnused => Quipper::DiscardUnused,
        })
    })
}
