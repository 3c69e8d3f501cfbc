//! Traces in Chrome's JSON.

use crate::common::chrome::convert;
use crate::common::files::{self, fixture};
use crate::common::program::{perfconv, succeed};
use crate::common::totals::{self, Totals};
use serde_json::Value;
use std::path::Path;

fn totals_of(trace: &Value, has_threads: bool) -> Result<Totals, String> {
    let mut totals = Totals::new();
    let frames = trace["stackFrames"].as_object().ok_or("no stackFrames")?;
    let is_frame = |frame: &Value| frame.is_null() || frames.contains_key(&frame.to_string());
    if !frames.values().all(|frame| is_frame(&frame["parent"])) {
        return Err("a caller does not exist".to_owned());
    }
    for sample in trace["samples"].as_array().ok_or("no samples")? {
        if !is_frame(&sample["sf"]) || !sample["ts"].is_number() {
            return Err(format!("invalid sample {sample}"));
        }
        let thread = if has_threads { format!("{}/{}", sample["pid"], sample["tid"]) } else { String::new() };
        let total = totals.entry((thread, sample["name"].as_str().unwrap_or_default().to_owned())).or_default();
        *total = (total.0 + 1, total.1 + sample["weight"].as_u64().unwrap_or(0));
    }
    Ok(totals)
}

#[test]
fn chrome_totals_equal_the_profile() {
    let recordings = files::recordings();
    let enough = if files::has_corpus("chrome") { 500 } else { 20 };
    totals::compare("chrome", &recordings, enough, |recording, expected| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let trace = convert(&recording.path, &directory.path().join("out.trace.json"))?;
        let has_threads = expected.keys().any(|(thread, _)| !thread.is_empty());
        totals::check_equal(&totals_of(&trace, has_threads)?, expected)
    });
}

#[test]
fn traces_have_names_tracepoints_and_running_times() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.trace.json");
    let events = |recording: &Path, phase: &str| {
        let trace = convert(recording, &output).expect("a trace");
        let events = trace["traceEvents"].as_array().cloned().unwrap_or_default();
        events.into_iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>()
    };
    let names = events(&fixture("forks.data"), "M");
    assert!(names.iter().any(|event| event["args"]["name"] == "worker-1"), "{names:?}");
    let tracepoints = events(&fixture("tracepoints.data"), "i");
    assert!(tracepoints.iter().any(|event| event["args"]["prev_comm"].is_string()), "{tracepoints:?}");
    let recording = directory.path().join("switches.data");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/switches.toml");
    succeed(perfconv().arg("synth").arg(scenario).arg("-o").arg(&recording).arg("-q"));
    let running = events(&recording, "X");
    assert!(!running.is_empty() && running.iter().all(|event| event["dur"].as_f64() >= Some(0.0)), "{running:?}");
}
