//! Recordings of `perf stat`: the summary of their counters.

use crate::common::files;
use crate::common::program::{perfconv, run, succeed};
use serde_json::Value;
use std::path::Path;
use tempfile::tempdir;

#[test]
fn summary_prints_counters_and_suggests_csv() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("stat.data");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/perf-stat.toml");
    succeed(perfconv().arg("synth").arg(scenario).args(["-q", "-o"]).arg(&path));
    let stdout = |args: &[&str]| {
        let run = run(perfconv().args(args));
        assert_eq!((run.status, &*run.stderr), (0, ""), "{args:?}");
        String::from_utf8(run.stdout).unwrap()
    };
    let path = path.to_str().unwrap();
    let summary = stdout(&[path]);
    assert!(summary.contains("  counters  234567 cycles\n"), "{summary}");
    assert!(summary.contains("aggregation global, interval 1000 ms, scaled, 2 rounds in 2.000000 s"), "{summary}");
    assert!(summary.contains("  samples   none\n") && summary.contains("-t csv -o tables"), "{summary}");
    assert!(!summary.contains("out.pb.gz"), "{summary}");
    let table = stdout(&["info", path, "--stats"]);
    let row = table.lines().find(|line| line.starts_with("cycles ") && line.contains("any")).expect("a row of counts");
    let words: Vec<&str> = row.split_ascii_whitespace().collect();
    assert_eq!(words, ["cycles", "0", "any", "234567", "2000000000", "2000000000"]);
    let json: Value = serde_json::from_str(&stdout(&["info", path, "--json"])).unwrap();
    let counters = &json["stats"]["counters"];
    assert_eq!((&counters["aggregation"], &counters["interval"]), (&"global".into(), &1000.into()));
    assert_eq!((&counters["rounds"], &counters["list"][0]["value"]), (&2.into(), &234_567.into()));
    assert_eq!((&counters["list"][0]["cpu"], &counters["list"][0]["thread"]), (&0.into(), &Value::Null));
}

#[test]
fn other_recordings_have_no_counters() {
    let json = run(perfconv().args(["info", "--json"]).arg(files::fixture("plain.data"))).stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert!(json["stats"].is_object() && json["stats"].get("counters").is_none());
}

/// As perf, which prints neither a count of 0 nor nothing.
#[test]
fn counters_that_never_ran_and_events_without_any_are_named() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reports/stat-not-counted");
    if !directory.exists() {
        note!("skipped: no {}", directory.display());
        return;
    }
    for (name, expected) in [
        ("st3.data", &["<not counted> task-clock, <not counted> page-faults"][..]),
        ("stat.data", &["msec task-clock", "<not supported> cycles, <not supported> instructions"]),
    ] {
        let done = run(perfconv().arg(directory.join(name)));
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(expected.iter().all(|expected| text.contains(expected)), "{name}: {text}");
    }
}
