//! What goes into a profile.

use crate::profile::labels::Label;
use crate::profile::options::Split;
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What goes into a profile.
#[derive(Args, Debug, Default)]
pub struct ProfileArgs {
    /// Labels of samples, separated by commas; none for no labels [default: comm]
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = label_keys(), long_help = labels_help())]
    pub labels: Option<Vec<String>>,

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
            (self.split_by.is_some(), "--split-by"),
            (self.lost != LostArg::Apart, "--lost"),
            (self.data_addresses, "--data-addresses"),
            (self.thread_types.is_some(), "--thread-types"),
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
