//! What can be said of how recordings are read, by commands that look into them.

use super::folder;
use clap::Args;
use perfconv::container::read::ReadOptions;
use std::path::PathBuf;

/// Options of reading.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadArgs {
    /// Format of what is read, where it cannot be told by what it holds or its name
    #[arg(long, value_name = "FORMAT")]
    pub from: Option<String>,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub spool_dir: Option<PathBuf>,
}

impl ReadArgs {
    /// The same for the library.
    pub fn options(&self) -> ReadOptions {
        ReadOptions { spool_dir: self.spool_dir.clone(), ..ReadOptions::default() }
    }
}
