//! JSON of `perf data convert`.

use crate::common::program::{perfconv, try_run};
use serde_json::Value;
use std::path::Path;

pub(crate) fn convert(path: &Path, options: &[&str]) -> Result<Value, String> {
    let run = try_run(perfconv().arg(path).args(["-t", "perf-json", "-o", "-"]).args(options))?;
    serde_json::from_slice(&run.stdout).map_err(|error| error.to_string())
}
