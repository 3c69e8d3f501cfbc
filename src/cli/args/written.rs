//! What can be said of how recordings are written, by commands that write new ones.

use super::convert::{ContainerArg, EndianArg};
use super::folder;
use clap::Args;
use std::path::PathBuf;

/// Options of writing.
#[derive(Args, Debug)]
pub struct WrittenArgs {
    /// Container that is written [default: file; pipe on standard output]
    #[arg(long, value_enum, value_name = "CONTAINER")]
    pub container: Option<ContainerArg>,

    /// Compress the records, as perf record -z does; zstd's levels go from 1 (fast) to 22 (small) [default level: 3]
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(i32).range(1..=22)
    )]
    pub compress: Option<i32>,

    /// Byte order that is written [default: that of the recording, the first one where there are several]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub endian: Option<EndianArg>,

    /// Exit with status 3 when anything of the input is missing from the output
    #[arg(long)]
    pub strict: bool,

    /// Folder for temporary files [default: the system's]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub spool_dir: Option<PathBuf>,

    /// Tell what became of each type of record
    #[arg(short, long)]
    pub verbose: bool,

    /// Tell nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

/// Options of writing what was read in another byte order.
#[derive(Args, Debug)]
pub struct MixedArgs {
    /// Write another byte order too where some bytes stay as they are, whose order belongs to the recorder
    #[arg(long, requires = "endian")]
    pub allow_mixed: bool,
}
