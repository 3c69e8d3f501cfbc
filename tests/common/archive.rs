//! Unpacks archives, and lists their entries.

use crate::common::program::{perfconv, run};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) fn path(dir: &TempDir, name: &str) -> PathBuf {
    dir.path().join(name)
}

pub(crate) fn entries(tar: &[u8]) -> Vec<PathBuf> {
    let mut archive = tar::Archive::new(tar);
    let mut paths: Vec<_> =
        archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned()).collect();
    paths.sort();
    paths
}

pub(crate) fn unpack(archive: &Path, cache: &Path) -> (i32, String) {
    unpack_with(archive, cache, &[])
}

pub(crate) fn unpack_with(archive: &Path, cache: &Path, args: &[&str]) -> (i32, String) {
    let run = run(perfconv().args(["archive", "--unpack"]).arg(archive).arg("-o").arg(cache).args(args));
    (run.status, run.stderr)
}
