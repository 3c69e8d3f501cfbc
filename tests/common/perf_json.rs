//! JSON of `perf data convert`.

use crate::common::program::{perfconv, run};
use serde_json::Value;
use std::path::Path;

pub(crate) fn convert(path: &Path, options: &[&str]) -> Result<Value, String> {
    let run = run(perfconv().arg(path).args(["-t", "perf-json", "-o", "-"]).args(options));
    if run.status != 0 {
        return Err(run.stderr);
    }
    serde_json::from_slice(&run.stdout).map_err(|error| error.to_string())
}
