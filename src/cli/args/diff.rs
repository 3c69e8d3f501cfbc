//! What can be said to `diff`.

use super::{OrderArg, ReadArgs};
use clap::Args;
use std::path::PathBuf;

/// Options of comparing recordings.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Recordings to compare: files, folders, one may be - for standard input
    #[arg(value_names = ["A", "B"], num_args = 2, required = true)]
    pub inputs: Vec<PathBuf>,

    /// What does not count, separated by commas: offsets (how a file is laid out), ids (numbers of events), times, form
    /// (container, byte order, compression), or any field by the name that --json tells
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub ignore: Vec<String>,

    /// In the order of the file, or of time
    #[arg(long, value_enum, value_name = "ORDER", default_value = "file")]
    pub order: OrderArg,

    /// One JSON object a line for each difference, and one with the counts
    #[arg(long)]
    pub json: bool,

    /// Only the counts
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    pub stats: bool,

    /// Show all differences, however many are alike
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    #[command(flatten)]
    pub read: ReadArgs,
}
