//! What the program says about hardware traces that it does not decode.

use crate::common::program::{perfconv, run, succeed};
use std::path::{Path, PathBuf};
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

/// Branches of Intel BTS: each is a sample with a branch stack.
#[test]
fn branches_of_intel_bts_are_samples() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("bts.data");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/intel-bts.toml");
    succeed(perfconv().arg("synth").arg(&scenario).args(["-q", "-o"]).arg(&path));
    let script = |arguments: &[&str]| {
        let fields = ["-t", "perf-script", "--event", "branches", "--symbols", "no", "-q", "-o", "-", "--fields"];
        let run = succeed(perfconv().arg(&path).args(fields).arg("comm,tid,event,ip,addr,brstack").args(arguments));
        text(run.stdout).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    let line = "traced 100 branches: 400200 400100 0x400100/0x400200/P/-/-/0/";
    assert_eq!(script(&[]), [line, line]);
    assert_eq!(script(&["--itrace=bl"]), [line, line]);
    let other = run(perfconv().arg(&path).args(["--itrace=M", "-o"]).arg(directory.path().join("out.script")));
    assert!(other.status == 1 && other.stderr.contains("no letter is of events of Intel BTS"), "{}", other.stderr);
    let dump = text(succeed(perfconv().arg("dump").arg(&path).args(["--type", "AUXTRACE"])).stdout);
    let branches = "  branches:\n    0x0 0x400100 -> 0x400200 predicted\n    0x18 0x400100 -> 0x400200 predicted\n";
    assert!(dump.ends_with(branches), "{dump}");
    let bolt = succeed(perfconv().arg(&path).args(["-o", "x.pb.gz", "--strict", "-f"]).current_dir(directory.path()));
    assert!(bolt.stderr.contains("hardware trace (Intel BTS): 2 records are decoded to samples"), "{}", bolt.stderr);
}

/// What is not decoded is counted and named, with its metadata as recorded.
#[test]
fn other_traces_are_counted_and_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let template = include_str!("../../scenarios/intel-bts.toml");
    let sources = [
        ("INTEL_PT", "Intel PT"),
        ("CS_ETM", "Arm CoreSight"),
        ("S390_CPUMSF", "s390 CPU-MSF"),
        ("HISI_PTT", "HiSilicon PTT"),
    ];
    for (kind, title) in sources {
        let (scenario, path) = (directory.path().join("trace.toml"), directory.path().join("trace.data"));
        std::fs::write(&scenario, template.replace("INTEL_BTS", kind)).expect("a scenario");
        succeed(perfconv().arg("synth").arg(&scenario).args(["-q", "-f", "-o"]).arg(&path));
        let output = directory.path().join("out.pb.gz");
        let converted = run(perfconv().arg(&path).args(["-f", "--strict", "-o"]).arg(&output));
        let message = format!("hardware trace ({title}): 48 bytes are not decoded (1 buffer");
        assert!(converted.status == 3 && converted.stderr.contains(&message), "{kind}: {}", converted.stderr);
        let info = text(succeed(perfconv().args(["info", "--stats"]).arg(&path)).stdout);
        assert!(info.lines().any(|line| line.starts_with(title) && line.ends_with(" 48")), "{kind}: {info}");
        let dump = text(succeed(perfconv().arg("dump").arg(&path).args(["--type", "AUXTRACE_INFO"])).stdout);
        assert!(dump.contains("0x1234") || dump.contains("4660"), "{kind}: {dump}");
    }
}
