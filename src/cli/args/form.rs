//! What can be said of the form of a perf.data that is written.

use super::convert::{ContainerArg, EndianArg};
use clap::Args;

/// Container, compression and byte order.
#[derive(Args, Debug, Default)]
pub struct FormArgs {
    /// Container of a perf.data that is written [default: that of the input, a file where there are several or none; pipe on
    /// standard output]
    #[arg(long, value_enum, value_name = "CONTAINER")]
    pub container: Option<ContainerArg>,

    /// Compress the records anew, as perf record -z does; zstd's levels go from 1 (fast) to 22 (small) [default level: 3]
    #[arg(
        long,
        value_name = "LEVEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3",
        value_parser = clap::value_parser!(i32).range(1..=22)
    )]
    pub compress: Option<i32>,

    /// Byte order of a perf.data that is written [default: that of the recording, the first one where there are several]
    #[arg(long, value_enum, value_name = "ORDER")]
    pub endian: Option<EndianArg>,

    /// Write another byte order too where some bytes stay as they are, whose order belongs to the recorder: user stacks, raw
    /// data, AUX areas
    #[arg(long, requires = "endian")]
    pub allow_mixed: bool,
}
