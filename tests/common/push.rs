//! Profiles as `perfconv push` sends them.

use crate::common::program::{perfconv, run};
use std::fs;
use std::path::Path;

/// A conversion to a file.
pub(crate) fn convert(input: &Path, name: &str, args: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join(name);
    let run = run(perfconv().arg(input).arg("-o").arg(&output).args(["--symbols", "no"]).args(args));
    assert_eq!(run.status, 0, "{}", run.stderr);
    fs::read(output).expect("the output")
}
