//! Options of the build ID search.

use super::find::{Cache, FindOptions};
use super::known_build_ids::KnownBuildIds;
use crate::option_values::directory;
use crate::rewrite::option::{Outputs, Parameter, PassOption};
use crate::rewrite::request::Values;
use std::env;
use std::path::PathBuf;

const KNOWN_BUILD_IDS: Parameter<KnownBuildIds> =
    Parameter::once("--known-build-ids", "BUILDID FILE,...|PATH", KnownBuildIds::parse);
const SYMFS: Parameter<PathBuf> = Parameter::once("--symfs", "DIR", directory);
const BUILDID_DIR: Parameter<PathBuf> = Parameter::path("--buildid-dir", "DIR");

/// The options that request passes with a build ID search.
const PASSES: &[&str] = &["--build-ids", "--buildid-all", "--mmap2-buildids", "--mmap2-buildid-all"];

/// The options whose passes read the files of the recorded machine.
const READING: &[&str] = &["--build-ids", "--buildid-all", "--mmap2-buildids", "--mmap2-buildid-all", "--unwind"];

/// The options that configure the search.
pub const SETTINGS: &[PassOption] = &[
    PassOption::setting(
        &KNOWN_BUILD_IDS,
        PASSES,
        Outputs::All,
        "Build IDs of files, overriding recorded and found ones: a list, or a file with one per line, as printed by perf buildid-list",
    ),
    PassOption::setting(
        &SYMFS,
        READING,
        Outputs::All,
        "Directory with the files of the recorded machine at their paths [default: /, for files that match the recorded ones]",
    )
    .also_of_symbols(),
    PassOption::setting(
        &BUILDID_DIR,
        READING,
        Outputs::All,
        "Build ID cache, for files that no longer exist [default: ~/.debug]",
    )
    .also_of_symbols(),
];

impl From<&Values> for FindOptions {
    fn from(values: &Values) -> Self {
        let of_user =
            || Some(Cache { dir: PathBuf::from(env::var_os("HOME")?).join(".debug"), is_of_recording: false });
        let cache = values.get(&BUILDID_DIR).map(|dir| Cache { dir, is_of_recording: true }).or_else(of_user);
        Self { known: values.get(&KNOWN_BUILD_IDS).unwrap_or_default(), symfs: values.get(&SYMFS), cache }
    }
}
