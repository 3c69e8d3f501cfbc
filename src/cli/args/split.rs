//! What can be said to `split`.

use super::DEFAULT_INPUT;
use super::option_args::{OfMixed, OptionArgs};
use super::recording_output::WrittenArgs;
use clap::Args;
use perfconv::rewrite::split::by::By;
use std::path::PathBuf;

/// Options of splitting.
#[derive(Args, Debug)]
pub struct SplitArgs {
    /// Recording to split: a file, a folder, or - for standard input
    #[arg(value_name = "IN", default_value = DEFAULT_INPUT)]
    pub input: PathBuf,

    /// By what: time=1s (or ms, us, ns, m, h) or time=10%, size=100M (of samples, before they are compressed), samples=N, pid,
    /// tid, comm, cpu, event
    #[arg(long, value_name = "WHAT", value_parser = |text: &str| text.parse::<By>())]
    pub by: By,

    /// Folder to write, with a recording for each part
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// Overwrite a folder of parts that exists, and write more than 1000 parts
    #[arg(short, long)]
    pub force: bool,

    #[command(flatten)]
    pub written: WrittenArgs,

    #[command(flatten)]
    pub mixed: OptionArgs<OfMixed>,
}
