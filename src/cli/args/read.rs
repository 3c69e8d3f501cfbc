//! Options for reading recordings, shared by several commands.

use super::super::progress;
use super::directory;
use super::help::INPUT;
use clap::Args;
use perf_data::container::read::ReadOptions;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Options for reading recordings.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReadArgs {
    /// Input format [default: by content, then by file name]
    #[arg(long, value_name = "FORMAT", help_heading = INPUT)]
    pub from: Option<String>,

    /// Number of threads, or of recordings that are converted at once [default: number of CPUs]
    #[arg(short = 'J', long, value_name = "N", env = "PERFCONV_JOBS", hide_env_values = true, help_heading = INPUT)]
    pub jobs: Option<NonZeroUsize>,

    /// Directory for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", help_heading = INPUT, value_parser = directory())]
    pub spool_dir: Option<PathBuf>,
}

impl ReadArgs {
    /// These options as the library takes them.
    pub(crate) fn options(&self) -> ReadOptions {
        progress::observed(ReadOptions::default().with_spool_dir(self.spool_dir.clone()))
    }
}
