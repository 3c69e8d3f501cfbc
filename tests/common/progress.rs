//! Recordings that take long to read.

use crate::common::program::{perfconv, succeed};
use std::path::Path;

/// A recording whose JSON does not fit in a pipe and the program's buffers.
pub(crate) fn write_large(path: &Path) {
    succeed(perfconv().args(["synth", "scenarios/callgraph.toml", "--scale", "20", "-q", "-o"]).arg(path));
}
