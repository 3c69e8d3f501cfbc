//! What the program says about hardware traces that it does not decode.

use crate::common::program::{perfconv, succeed};
use std::path::PathBuf;
use tempfile::TempDir;

/// A recording with buffers of Arm SPE on two CPUs.
fn recording() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("spe.data");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/arm-spe.toml");
    succeed(perfconv().args(["synth", scenario, "-o"]).arg(&path));
    (dir, path)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the output should be UTF-8")
}

#[test]
fn dump_prints_the_packets_of_arm_spe() {
    let (_dir, path) = recording();
    let dump = text(succeed(perfconv().arg("dump").arg(path).args(["--type", "AUXTRACE", "--head", "1"])).stdout);
    let (_, packets) = dump.split_once("  packets:\n").expect("packets");
    assert_eq!(
        packets, "    0x0 PC 0x400123 EL0 NS\n    0x9 LATENCY total 42\n    0xc TS 1\n    0x15 PAD 11\n",
        "{dump}"
    );
}

#[test]
fn info_counts_buffers_by_source_and_cpu() {
    let (_dir, path) = recording();
    let info = text(succeed(perfconv().args(["info", "--stats"]).arg(&path)).stdout);
    let rows: Vec<_> = info.lines().filter(|line| line.starts_with("Arm SPE")).collect();
    let row = |cpu: &str, bytes: &str| format!("{:<28} {:>12} {bytes:>14}", format!("Arm SPE, CPU {cpu}"), 1);
    assert_eq!(rows, [row("0", "32"), row("1", "128")]);
}

#[test]
fn the_summary_has_traces_and_the_functions_in_them() {
    let (_dir, path) = recording();
    let summary = text(succeed(perfconv().arg(&path)).stdout);
    let line = "  trace     Arm SPE: 160 bytes in 2 buffers, which outputs of samples decode";
    assert!(summary.lines().any(|other| other == line), "{summary}");
}
