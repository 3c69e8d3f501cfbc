//! Arguments of `diff`.

use super::{OrderArg, ReadArgs};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub(crate) struct DiffArgs {
    /// First recording: a file, a directory, or - for standard input
    #[arg(value_name = "A")]
    pub first: PathBuf,

    /// Second recording
    #[arg(value_name = "B")]
    pub second: PathBuf,

    /// Ignore these differences, separated by commas: offsets (file layout), ids (event IDs), times, form (container, byte
    /// order, compression), or any field by its name in the --json output
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    pub ignore: Vec<String>,

    /// Order in which records are compared
    #[arg(long, value_enum, value_name = "ORDER", default_value = "file")]
    pub order: OrderArg,

    /// Print each difference as one line of JSON, and the counts as the last line
    #[arg(long)]
    pub json: bool,

    /// Print only the counts
    #[arg(long, conflicts_with_all = ["json", "verbose"])]
    pub stats: bool,

    /// Print all differences, not only the first 20 of each kind
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,

    #[command(flatten)]
    pub read: ReadArgs,
}
