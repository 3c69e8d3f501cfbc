//! Arguments of `perf`: parsed later, since they have the syntax of perf's own commands.

use clap::Args;
use std::ffi::OsString;

/// Arguments of `perf`.
#[derive(Args, Debug)]
pub(crate) struct PerfArgs {
    /// Arguments, as perf takes them
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}
