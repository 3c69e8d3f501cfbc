//! Traces in Chrome's JSON.

use crate::common::program::{perfconv, try_run};
use serde_json::Value;
use std::fs;
use std::path::Path;

pub(crate) fn convert(recording: &Path, output: &Path) -> Result<Value, String> {
    try_run(perfconv().arg(recording).arg("-o").arg(output).args(["-f", "-q", "--symbols", "no"]))?;
    serde_json::from_slice(&fs::read(output).expect("an output")).map_err(|error| error.to_string())
}
