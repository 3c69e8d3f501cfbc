//! Recordings that take long to read.

use crate::common::program::{perfconv, run};
use std::path::Path;

/// A recording whose JSON does not fit in a pipe and the program's buffers.
pub(crate) fn write_large(path: &Path) {
    let large = run(perfconv().args(["synth", "scenarios/callgraph.toml", "--scale", "20", "-q", "-o"]).arg(path));
    assert_eq!(large.status, 0, "{}", large.stderr);
}
