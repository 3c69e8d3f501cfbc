//! Arguments of `merge`.

use super::help::RECORDINGS;
use super::recording_output::RecordingOutputArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `merge`.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// Recordings to merge: files or directories, one may be - for standard input; or profiles of llvm, bolt, profgen or autofdo
    #[arg(value_name = "IN", required = true)]
    pub inputs: Vec<PathBuf>,

    /// File to write, or - for standard output; a name that ends in .gz or .zst is compressed
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,

    /// Convert all times to one clock; needs recordings made with perf record -k
    #[arg(long, value_enum, value_name = "CLOCK")]
    pub align: Option<AlignArg>,

    /// Keep processes of different recordings apart: add 10000000 to their PIDs and TIDs for each further recording
    #[arg(long)]
    pub offset_pids: bool,

    /// Where features differ, use those of this recording, by its name or its number from 1
    #[arg(long, value_name = "IN")]
    pub features_from: Option<String>,

    /// Use the kernel mappings of this recording and drop those of the others
    #[arg(long, value_name = "IN")]
    pub kernel_from: Option<String>,

    /// Overwrite an existing output
    #[arg(short, long)]
    pub force: bool,

    #[command(flatten)]
    pub written: RecordingOutputArgs,

    /// With --endian, allow data that cannot be converted to keep the recorder's byte order: user stacks, raw data, AUX areas
    #[arg(long, requires = "endian", help_heading = RECORDINGS)]
    pub allow_mixed: bool,
}

/// Clock that times are converted to, as named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlignArg {
    /// Wall clock (CLOCK_REALTIME)
    Wall,
}
