//! What can be said of how recordings are written, by commands that write new ones.

use super::option_args::{OfForm, OptionArgs};
use super::{ReportArg, folder};
use clap::Args;
use std::path::PathBuf;

/// Options of writing.
#[derive(Args, Debug)]
pub struct WrittenArgs {
    #[command(flatten)]
    pub form: OptionArgs<OfForm>,

    /// Exit with status 3 when anything of the input is missing from the output
    #[arg(long)]
    pub strict: bool,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub spool_dir: Option<PathBuf>,

    /// Form of the account of the conversion on standard error
    #[arg(long, value_enum, value_name = "FORM", default_value = "text", conflicts_with = "quiet")]
    pub report: ReportArg,

    /// Tell what became of each type of record
    #[arg(short, long)]
    pub verbose: bool,

    /// Tell nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}
