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

/// The weight of a row is the sum of those of its samples, as in perf.
#[test]
fn weights_are_those_of_all_samples() {
    let rows = report(&["--sort", "local_weight,weight"]);
    let sums = ["300,24000", "90,21600", "500,20000", "100,8000", "4,1120", "0,0"];
    for sum in sums {
        assert_eq!(rows.iter().filter(|row| row.contains(sum)).count(), 1, "{sum}: {rows:#?}");
    }
    assert_eq!(rows.len(), 1 + sums.len(), "{rows:#?}");
}

#[test]
fn shared_cache_lines_have_their_accesses() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lines.data");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/perf_report/cache-lines.toml");
    succeed(perfconv().args(["synth", scenario, "-q", "-o"]).arg(&path));
    let report = |arguments: &[&str]| {
        let run = succeed(perfconv().arg("report").arg(&path).args(["--c2c", "-q"]).args(arguments));
        String::from_utf8(run.stdout).expect("the output should be UTF-8")
    };
    let rows = report(&["--csv"]);
    let row = |offset, tid, cpu, loads, stores, hitm: [u64; 2], cycles| {
        let [local, remote] = hitm;
        format!("0x555500001100,{offset},,[share],share,7,{tid},{cpu},{loads},{stores},{local},{remote},0,{cycles}")
    };
    let expected = [
        row(0, 7, 0, 120, 0, [120, 0], 120 * 90),
        row(8, 8, 2, 40, 80, [40, 0], 40 * 70),
        row(8, 7, 0, 40, 0, [0, 40], 40 * 300),
        row(0, 8, 2, 0, 200, [0, 0], 0),
    ];
    assert_eq!(rows.lines().skip(1).collect::<Vec<_>>(), expected);
    let text = report(&[]);
    let heading = "1 of 3 cache lines shared between CPUs: 360 loads, 440 stores; 200 loads of modified lines (160 local, 40 remote), \
                   0 from peers";
    assert_eq!(text.lines().next(), Some(heading));
    assert!(
        text.contains("200     160      40       0      200      280          128  0x0000555500001100  CPUs 0,2"),
        "{text}"
    );
    let json: serde_json::Value = serde_json::from_str(&report(&["--json"])).expect("JSON");
    assert_eq!((&json["cache_lines"], &json["counts"]["stores"]), (&3.into(), &440.into()));
    assert_eq!(json["entries"][0]["accesses"].as_array().map(Vec::len), Some(4));
}

#[test]
fn recordings_without_accesses_are_rejected() {
    for arguments in
        [&["--mem"][..], &["--c2c"], &["--sort", "mem"], &["--sort", "phys_daddr"], &["--sort", "local_weight"]]
    {
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
