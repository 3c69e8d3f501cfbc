//! Arguments of `mcp`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Arguments of `mcp`.
#[derive(Args, Debug)]
pub(crate) struct McpArgs {
    /// Recordings that may be read
    #[arg(value_name = "FILE", required_unless_present = "root")]
    pub inputs: Vec<PathBuf>,

    /// Also permit to read all recordings in this directory
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Answer with the text of source lines too, from the paths that debug information names
    #[arg(long)]
    pub source: bool,

    /// Options of 'perfconv report' for all answers, such as --symfs files
    #[arg(value_name = "OPTIONS", last = true)]
    pub options: Vec<OsString>,
}
