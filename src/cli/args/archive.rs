//! What can be said to `archive`.

use super::build_ids::FindArgs;
use super::folder;
use clap::Args;
use std::path::PathBuf;

/// Options of archives.
#[derive(Args, Debug)]
pub struct ArchiveArgs {
    /// Recording to read [default: perf.data]; with --unpack an archive
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,

    /// Archive to write: .tar, .tar.gz or .tar.zst [default: IN.tar.zst]; with --unpack the folder to fill [default: ~/.debug, and
    /// the recording here, under its own name]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// All objects that were mapped, not those alone that samples are in
    #[arg(long, conflicts_with = "unpack")]
    pub all: bool,

    /// Fill a cache of build ids by an archive; then perf --buildid-dir OUT report -i OUT/RECORDING has names
    #[arg(long)]
    pub unpack: bool,

    #[command(flatten)]
    pub find: FindArgs,

    /// Overwrite an output that exists
    #[arg(short, long)]
    pub force: bool,

    /// Exit with status 3 when anything is missing from the archive
    #[arg(long, conflicts_with = "unpack")]
    pub strict: bool,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub spool_dir: Option<PathBuf>,

    /// Tell what became of each type of record
    #[arg(short, long, conflicts_with = "unpack")]
    pub verbose: bool,

    /// Tell nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}
