//! Arguments of `archive`.

use super::build_ids::BuildIdSearchArgs;
use super::help::headed;
use super::symbols::SymbolFileArgs;
use super::{directory, file_mode};
use clap::Args;
use perf_data::container::access::FileMode;
use perfconv::rewrite::build_ids::find::FindOptions;
use perfconv::rewrite::registry::BUILD_IDS;
use std::path::PathBuf;

/// Arguments of `archive`.
#[derive(Args, Debug)]
#[command(mut_args(headed::<FindOptions>(BUILD_IDS)))]
pub(crate) struct ArchiveArgs {
    /// Recording to read [default: perf.data]; with --unpack, the archive
    #[arg(value_name = "IN")]
    pub input: Option<PathBuf>,

    /// Archive to write: .tar, .tar.gz or .tar.zst [default: IN.tar.zst]; with --unpack, the directory to unpack to [default:
    /// ~/.debug for the objects and the current directory for the recording]
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,

    /// Pack all mapped objects, not only those with samples
    #[arg(long, conflicts_with = "unpack")]
    pub all: bool,

    /// Unpack an archive into a build ID cache, for perf --buildid-dir OUT report -i OUT/RECORDING
    #[arg(long)]
    pub unpack: bool,

    #[command(flatten)]
    pub find: BuildIdSearchArgs,

    #[command(flatten)]
    pub files: SymbolFileArgs,

    /// Overwrite an existing output
    #[arg(short, long)]
    pub force: bool,

    /// Permissions of the output, such as 644 [default: those that all inputs have]
    #[arg(long, value_name = "MODE", value_parser = file_mode)]
    pub mode: Option<FileMode>,

    /// Exit with status 3 if anything is missing from the archive
    #[arg(long, conflicts_with = "unpack")]
    pub strict: bool,

    /// Directory for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", value_parser = directory())]
    pub spool_dir: Option<PathBuf>,

    /// Print a table of records by type: read, written, used, dropped
    #[arg(short, long, conflicts_with = "unpack")]
    pub verbose: bool,

    /// Suppress all messages except errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}
