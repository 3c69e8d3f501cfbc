//! Memory accesses in reports.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run, succeed};
use std::path::PathBuf;
use tempfile::TempDir;

/// A recording of accesses of two processes.
fn recording() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("memory.data");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/perf_report/memory.toml");
    succeed(perfconv().args(["synth", scenario, "-q", "-o"]).arg(&path));
    (dir, path)
}

fn report(arguments: &[&str]) -> Vec<String> {
    let (_dir, path) = recording();
    let run = succeed(perfconv().arg("report").arg(path).args(arguments).args(["--csv", "-q"]));
    String::from_utf8(run.stdout).expect("the output should be UTF-8").lines().map(str::to_owned).collect()
}

#[test]
fn accesses_are_worth_their_latency() {
    let rows = report(&["--mem", "--sort", "local_weight,mem,snoop"]);
    let expected = [
        ("300", "Local RAM hit", "Hit", 80),
        ("90", "LFB/MAB hit", "HitM", 240),
        ("500", "Remote RAM (1 hop) hit", "Miss", 40),
        ("100", "\"Remote node, same socket L3 hit\"", "HitM", 80),
        ("4", "N/A", "N/A", 160),
        ("4", "L1 or L1 hit", "None", 120),
        ("0", "L1 miss", "Peer", 80),
    ];
    assert_eq!(rows.len(), 1 + expected.len(), "{rows:#?}");
    for (row, (weight, level, snoop, samples)) in rows[1..].iter().zip(expected) {
        assert!(row.contains(&format!("{weight},{level},{snoop}")), "{row}");
        assert!(row.contains(&samples.to_string()), "{row}");
        let value = samples * weight.parse::<u64>().expect("a number").max(1);
        assert!(row.split(',').any(|cell| cell == value.to_string()), "{value} in {row}");
    }
}

#[test]
fn accesses_are_grouped_by_data() {
    let rows = report(&["--sort", "dcacheline,comm"]);
    let count = |line: &str, comm: &str| rows.iter().filter(|row| row.contains(line) && row.contains(comm)).count();
    assert_eq!(rows.len(), 1 + 5, "{rows:#?}");
    assert_eq!((count("0x0000000020000100", "chase"), count("0x0000000020000100", "other")), (1, 1));
    let rows = report(&["--sort", "symbol_daddr"]);
    assert!(rows.iter().any(|row| row.contains("0xffff888000001000")), "{rows:#?}");
}

#[test]
fn recordings_without_accesses_are_rejected() {
    for arguments in [&["--mem"][..], &["--sort", "mem"], &["--sort", "phys_daddr"], &["--sort", "local_weight"]] {
        let run = run(perfconv().arg("report").arg(fixture("callgraph.data")).args(arguments));
        assert!(run.status == 1 && run.stderr.contains("record them with 'perf mem record'"), "{arguments:?}: {run:?}");
    }
}

#[test]
fn perf_mem_answers_report_only() {
    let (_dir, path) = recording();
    let run_mem = |arguments: &[&str]| run(perfconv().args(["perf", "mem"]).args(arguments).arg("-i").arg(&path));
    let report = run_mem(&["report"]);
    assert_eq!(report.status, 0, "{}", report.stderr);
    assert!(String::from_utf8_lossy(&report.stdout).contains("# Total weight : 74800"));
    let unknown = run_mem(&["reports"]);
    assert!(unknown.status == 129 && unknown.stderr.contains("unexpected argument 'reports'"), "{}", unknown.stderr);
}
