//! The options that say where jitdumps are, and where images of code go.

use super::images::ImageOptions;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::option_values::{directory, existing_path};
use crate::rewrite::request::{PassContext, Values};
use std::path::PathBuf;

/// `--jit-dump`.
pub const JIT_DUMP: Parameter<PathBuf> = Parameter::repeated("--jit-dump", "PATH", existing_path);

/// `--jit-dir`.
pub const JIT_DIR: Parameter<PathBuf> = Parameter::once("--jit-dir", "DIR", directory);

/// The options that refine the passes for code that was compiled at run time.
pub const SETTINGS: &[PassOption] = &[
    PassOption::setting(
        &JIT_DUMP,
        &["--jit"],
        Outputs::All,
        "A jitdump, or a folder that has jitdumps, which are elsewhere than when they were recorded; may be given more than once",
    ),
    PassOption::setting(
        &JIT_DIR,
        &["--jit", "--perf-map"],
        Outputs::All,
        "Folder for the images that --jit and --perf-map make [default: that of the output]",
    ),
];

impl ImageOptions {
    /// Where images go by these options: beside the output, unless they say where.
    pub fn new(values: &Values, context: &PassContext) -> Self {
        let dir = values.get(&JIT_DIR).or_else(|| context.output_dir.clone());
        Self { dir, overwrite: context.overwrite }
    }
}
