//! What can be said to `inject`, as perf inject names it.

use super::ConvertArgs;
use super::convert::ContainerArg;
use clap::Args;
use std::path::{Path, PathBuf};

/// Options of perf inject.
#[derive(Args, Debug)]
pub struct InjectArgs {
    /// Recording to read
    #[arg(short, long, value_name = "IN", default_value = "-")]
    pub input: PathBuf,

    /// File to write; one that exists is overwritten, as perf inject does
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,

    /// As of perf inject; there is no ownership that is complained about
    #[arg(short, long)]
    pub force: bool,

    /// Tell what became of each type of record
    #[arg(short, long)]
    pub verbose: bool,
}

impl InjectArgs {
    /// The rewrite that it is: to standard output as a pipe, to all else as a file.
    pub fn rewrite(self) -> ConvertArgs {
        let container = if self.output == Path::new("-") { ContainerArg::Pipe } else { ContainerArg::File };
        ConvertArgs {
            input: Some(self.input),
            output: Some(self.output),
            container: Some(container),
            force: true,
            verbose: self.verbose,
            ..ConvertArgs::default()
        }
    }
}
