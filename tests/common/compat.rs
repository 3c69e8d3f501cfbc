//! The program under the name `perf_to_profile`.

use crate::common::program::{self, Run, run};
use perfconv::formats::pprof::proto::Profile;
use prost::Message;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::{TempDir, tempdir};

/// A directory with the program under the name `perf_to_profile`.
pub(crate) struct WorkDir(pub(crate) TempDir);

impl WorkDir {
    pub(crate) fn new() -> WorkDir {
        let dir = tempdir().unwrap();
        symlink(env!("CARGO_BIN_EXE_perfconv"), dir.path().join("perf_to_profile")).unwrap();
        WorkDir(dir)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn perf_to_profile(&self, input: &Path, output: &str, options: &[&str]) -> Run {
        let mut command = program::with_time_limit(&self.path("perf_to_profile").to_string_lossy());
        run(command.arg("-i").arg(input).arg("-o").arg(self.path(output)).args(options).stdin(Stdio::null()))
    }

    pub(crate) fn profile(&self, name: &str) -> Profile {
        Profile::decode(&fs::read(self.path(name)).unwrap()[..]).expect("the output should be an uncompressed profile")
    }
}
