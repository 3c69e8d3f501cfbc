//! Steps of a rewrite, in the order in which they are said.

use crate::container::read::ReadOptions;
use crate::rewrite::pass::Pass;
use crate::rewrite::quipper::Quipper;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

/// A step that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `--pass`.
    Quipper(Quipper),
}

impl Step {
    /// The option that asks for it.
    pub fn option(&self) -> &'static str {
        match self {
            Self::Quipper(_) => "--pass",
        }
    }

    /// The pass that it is.
    pub fn pass(&self, options: &ReadOptions) -> Box<dyn Pass> {
        match self {
            Self::Quipper(pass) => pass.pass(options),
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
}

/// The names of [`StepArgs`]' fields.
const IDS: [&str; 1] = ["pass"];

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
