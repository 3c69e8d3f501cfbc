//! Arguments of `synth`.

use super::recording_output::RecordingOutputArgs;
use clap::Args;
use std::path::PathBuf;

/// Parses a factor.
fn factor(text: &str) -> Result<u64, &'static str> {
    text.parse().ok().filter(|factor| *factor > 0).ok_or("expected a number of at least 1")
}

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
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = factor)]
    pub scale: u64,

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
