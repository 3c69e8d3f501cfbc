//! Traces in Chrome's JSON.

use crate::common::program::{perfconv, run};
use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) fn convert(recording: &Path, output: &Path) -> Result<Value, String> {
    let run = run(perfconv().arg(recording).arg("-o").arg(output).args(["-f", "-q", "--symbols", "no"]));
    if run.status != 0 {
        return Err(run.stderr);
    }
    serde_json::from_slice(&fs::read(output).expect("an output")).map_err(|error| error.to_string())
}
