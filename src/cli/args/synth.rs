//! What can be said to `synth`.

use super::recording_output::WrittenArgs;
use clap::Args;
use std::path::PathBuf;

/// Options of making recordings up.
#[derive(Args, Debug)]
pub struct SynthArgs {
    /// What is to be recorded, in TOML: docs/scenario.md tells its keys
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,

    /// File to write, or - for standard output; .gz or .zst at its end compresses it
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,

    /// Record so many times as long as the scenario says
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub scale: u64,

    /// Seed of what is random [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Folder to write with the programs as ELF files of symbols, for perf report --symfs DIR and perf --buildid-dir DIR
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,

    /// Overwrite an output that exists
    #[arg(short, long)]
    pub force: bool,

    #[command(flatten)]
    pub written: WrittenArgs,
}
