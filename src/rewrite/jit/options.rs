//! Options of the passes for code compiled at run time.

use super::images::ImageOptions;
use crate::option_values::{directory, existing_path};
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::request::{PassContext, Values};
use std::path::PathBuf;

/// `--jit-dump`.
pub const JIT_DUMP: Parameter<PathBuf> = Parameter::repeated("--jit-dump", "PATH", |text| existing_path(text));

/// `--jit-dir`.
pub const JIT_DIR: Parameter<PathBuf> = Parameter::once("--jit-dir", "DIR", directory);

/// The options that configure the passes.
pub const SETTINGS: &[PassOption] = &[
    PassOption::setting(
        &JIT_DUMP,
        &["--jit"],
        Outputs::All,
        "Jitdump, or directory of jitdumps, that are no longer at their recorded paths; may be given more than once",
    ),
    PassOption::setting(
        &JIT_DIR,
        &["--jit", "--perf-map"],
        Outputs::All,
        "Directory to which --jit and --perf-map write their ELF images [default: that of the output]",
    ),
];

impl ImageOptions {
    /// Where to write images: as given, otherwise next to the output.
    pub fn new(values: &Values, context: &PassContext) -> Self {
        let dir = values.get(&JIT_DIR).or_else(|| context.output_dir.clone());
        Self { dir, overwrite: context.overwrite, access: context.access, pending: context.images.clone() }
    }
}
