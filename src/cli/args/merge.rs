//! What can be said to `merge`.

use super::option_args::{OfMixed, OptionArgs};
use super::recording_output::WrittenArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of merging.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// Recordings to merge: files or folders, or one of them - for standard input
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,

    /// File to write, or - for standard output; .gz or .zst at its end compresses it
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,

    /// Have all times be of one clock, where the recordings' are not: of the wall clock, which perf record -k tells
    #[arg(long, value_enum, value_name = "CLOCK")]
    pub align: Option<AlignArg>,

    /// Tell the processes of different recordings apart: their numbers are 10000000 more in each than in the one before
    #[arg(long)]
    pub offset_pids: bool,

    /// Where features differ, take those of this recording: IN as it is named above, or 1 for the first
    #[arg(long, value_name = "IN")]
    pub features_from: Option<String>,

    /// Tell the kernel of this recording, and leave out what the others tell of theirs
    #[arg(long, value_name = "IN")]
    pub kernel_from: Option<String>,

    /// Overwrite an output that exists
    #[arg(short, long)]
    pub force: bool,

    #[command(flatten)]
    pub written: WrittenArgs,

    #[command(flatten)]
    pub mixed: OptionArgs<OfMixed>,
}

/// A clock, as it is named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlignArg {
    /// The wall clock
    Wall,
}
