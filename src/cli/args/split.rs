//! Arguments of `split`.

use super::default_input;
use super::help::RECORDINGS;
use super::recording_output::RecordingOutputArgs;
use clap::Args;
use perfconv::rewrite::split::criterion::By;
use std::path::PathBuf;

/// Arguments of `split`.
#[derive(Args, Debug)]
pub(crate) struct SplitArgs {
    /// Recording to split: a file, a directory, or - for standard input [default: perf.data]
    #[arg(value_name = "IN", default_value_os_t = default_input(), hide_default_value = true)]
    pub input: PathBuf,

    /// Criterion: time=1s (units: ns, us, ms, s, m, h) or time=10%, size=100M (bytes of uncompressed samples), samples=N, pid,
    /// tid, comm, cpu, event
    #[arg(long, value_name = "WHAT", value_parser = |text: &str| text.parse::<By>())]
    pub by: By,

    /// Directory to write, with one recording for each part; it is created unless it exists
    #[arg(short, long, visible_alias = "out-dir", value_name = "DIR")]
    pub output: PathBuf,

    /// Overwrite an existing directory of parts, and allow more than 1000 parts
    #[arg(short, long)]
    pub force: bool,

    #[command(flatten)]
    pub written: RecordingOutputArgs,

    /// With --endian, allow data that cannot be converted to keep the recorder's byte order: user stacks, raw data, AUX areas
    #[arg(long, requires = "endian", help_heading = RECORDINGS)]
    pub allow_mixed: bool,
}
