//! Events that are one to the user: of the PMUs of different cores, and of user and kernel mode.

use crate::common::program::{Run, column, decode, perfconv, succeed};
use std::fs;
use std::path::{Path, PathBuf};

const HYBRID: &str = include_str!("../../scenarios/hybrid.toml");

/// A recording of two events.
fn recording(directory: &Path, scenario: &str) -> PathBuf {
    let (toml, data) = (directory.join("events.toml"), directory.join("events.data"));
    fs::write(&toml, scenario).unwrap();
    succeed(perfconv().arg("synth").arg(&toml).arg("-o").arg(&data).arg("-f"));
    data
}

fn converted(data: &Path, args: &[&str]) -> Run {
    let mut command = perfconv();
    succeed(command.arg(data).args(["-o", "-"]).args(args).env("HOME", "/nonexistent"))
}

fn total(folded: &Run) -> u64 {
    let text = String::from_utf8_lossy(&folded.stdout);
    text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
}

#[test]
fn events_of_two_pmus_are_added_up_unless_one_is_selected() {
    let directory = tempfile::tempdir().unwrap();
    let data = recording(directory.path(), HYBRID);
    let folded = ["-t", "folded", "--weight", "samples"];
    let with = |args: &[&'static str]| converted(&data, &[&folded, args].concat());
    let all = with(&[]);
    assert_eq!(total(&all), 1002);
    assert!(
        all.stderr.contains("cycles: adds up the samples of cpu_atom/cycles/P, cpu_core/cycles/P"),
        "{}",
        all.stderr
    );
    assert_eq!(total(&with(&["--event", "cycles"])), 1002);
    assert_eq!(total(&with(&["--event", "cpu_atom/cycles/P"])), 2);
    let profile = decode(&converted(&data, &["-t", "pprof"]).stdout);
    let types: Vec<_> = profile.sample_type.iter().map(|of| column(&profile, of)).collect();
    assert_eq!(types, [("samples", "count"), ("cycles", "count")]);
    assert_eq!(profile.sample.iter().map(|sample| sample.value[0]).sum::<i64>(), 1002);
}

#[test]
fn events_of_user_and_kernel_mode_are_added_up_and_those_that_overlap_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let named = |first: &str, second: &str| {
        let plain = HYBRID.lines().filter(|line| !line.starts_with("attr")).collect::<Vec<_>>().join("\n");
        plain.replace("cpu_atom/cycles/P", first).replace("cpu_core/cycles/P", second)
    };
    let data = recording(directory.path(), &named("cycles:u", "cycles:k"));
    assert_eq!(total(&converted(&data, &["-t", "folded", "--weight", "samples"])), 1002);
    // A cycle in user mode would count twice.
    let data = recording(directory.path(), &named("cycles:u", "cycles"));
    let profile = decode(&converted(&data, &["-t", "pprof"]).stdout);
    assert_eq!(profile.sample_type.len(), 4);
    // The event with most samples comes first to the reader.
    let shown = &profile.string_table[profile.default_sample_type as usize];
    assert_eq!(shown, "cycles");
}
