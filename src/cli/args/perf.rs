//! Arguments of `perf` and `script`, which perf's own options are.

use clap::Args;
use std::ffi::OsString;

/// Arguments of `perf` and `script`.
#[derive(Args, Debug)]
pub(crate) struct PerfArgs {
    /// Arguments, as perf takes them
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}
