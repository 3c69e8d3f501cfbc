//! Profiles as `perfconv push` sends them.

use crate::common::program::{perfconv, succeed};
use std::fs;
use std::path::Path;

/// A conversion to a file.
pub(crate) fn convert(input: &Path, name: &str, args: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join(name);
    succeed(perfconv().arg(input).arg("-o").arg(&output).args(["--symbols", "no"]).args(args));
    fs::read(output).expect("the output")
}
