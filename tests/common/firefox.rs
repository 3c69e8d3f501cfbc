//! Profiles of the Firefox Profiler.

use crate::common::program::{perfconv, try_run};
use crate::common::totals::{self, Totals};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::fs::File;
use std::path::Path;

pub(crate) fn convert(recording: &Path, output: &Path, args: &[&str]) -> Result<Value, String> {
    try_run(perfconv().arg(recording).arg("-o").arg(output).args(["-f", "-q"]).args(args))?;
    serde_json::from_reader(GzDecoder::new(File::open(output).expect("an output"))).map_err(|error| error.to_string())
}

/// Process and thread, and the event, of a thread.
pub(crate) fn key(thread: &Value, expected: &Totals) -> (String, String) {
    let event = totals::event_of(thread["name"].as_str().unwrap_or_default(), expected);
    let has_threads = expected.keys().any(|(thread, _)| !thread.is_empty());
    let id = || format!("{}/{}", thread["pid"].as_str().unwrap_or_default(), thread["tid"]);
    (if has_threads { id() } else { String::new() }, event)
}
