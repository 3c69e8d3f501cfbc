//! Files in the format of Callgrind, and reports with the same costs.

use crate::common::program::{perfconv, run, try_run};
use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) fn convert(recording: &Path, output: &Path, args: &[&str]) -> Result<String, String> {
    try_run(perfconv().arg(recording).arg("-o").arg(output).args(["-f", "-q"]).args(args))?;
    Ok(String::from_utf8_lossy(&fs::read(output).expect("an output")).into_owned())
}

/// The functions of a report, by name, file with the code and source file.
pub(crate) fn report(recording: &Path, files: &str) -> Vec<Value> {
    let mut command = perfconv();
    command.arg("report").arg(recording);
    command.args(["--symfs", files, "--json", "-q", "--sort", "sym,dso,srcfile"]);
    let report: Value = serde_json::from_slice(&run(&mut command).stdout).expect("JSON");
    report["entries"].as_array().expect("entries").clone()
}
