//! Arguments of `synth`.

use super::recording_output::RecordingOutputArgs;
use clap::Args;
use perfconv::option_values::positive_number;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// Arguments of `synth`.
#[derive(Args, Debug)]
pub(crate) struct SynthArgs {
    /// Scenario in TOML
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,

    /// File to write, or - for standard output; a name that ends in .gz or .zst is compressed
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,

    /// Multiply the scenario's duration by N
    #[arg(long, value_name = "N", default_value_t = NonZeroU64::MIN, value_parser = positive_number)]
    pub scale: NonZeroU64,

    /// Seed of the random number generator [default: the scenario's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Directory to write the programs to as ELF files with symbols, for perf report --symfs DIR and perf --buildid-dir DIR
    #[arg(long, value_name = "DIR")]
    pub images: Option<PathBuf>,

    /// Overwrite an existing output
    #[arg(short, long)]
    pub force: bool,

    #[command(flatten)]
    pub written: RecordingOutputArgs,
}
