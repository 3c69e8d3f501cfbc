//! Manual pages.

use crate::common::program::{perfconv, run, succeed};
use std::fs;
use std::path::PathBuf;

pub(crate) fn pages() -> (tempfile::TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("share/man1");
    let written = run(perfconv().arg("man").arg(&target));
    assert_eq!((written.status, &*written.stderr), (0, ""));
    let mut pages: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    let again = run(perfconv().arg("man").arg(&target));
    assert!(again.status == 1 && again.stderr.contains("already exists; use -f to replace it"), "{}", again.stderr);
    succeed(perfconv().arg("man").arg("-f").arg(&target));
    (directory, pages)
}
