//! Profiles in pprof format are valid by the rules of pprof.

use crate::common::files::{self};
use crate::common::pprof::{Outcome, check_outputs};
use crate::common::program;
use std::fs;

/// The minimum number of valid outputs, with the corpus and of the fixtures alone.
const ENOUGH: (usize, usize) = (500, 14);

#[test]
fn every_output_is_valid() {
    let outcomes = check_outputs(None);
    let valid = outcomes.iter().filter(|outcome| **outcome != Outcome::NoOutput).count();
    note!("{valid} outputs are valid");
    let enough = if files::has_corpus("pprof") { ENOUGH.0 } else { ENOUGH.1 };
    assert!(valid >= enough, "only {valid} valid outputs, expected {enough}");
}

#[test]
fn outputs_with_names_report_the_share_of_frames_without() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.pb.gz");
    let line = |name: &str, args: &[&str]| {
        let done =
            program::run(program::perfconv().arg(files::fixture(name)).arg("-f").args(args).arg("-o").arg(&path));
        assert_eq!(done.status, 0, "{}", done.stderr);
        done.stderr.lines().find(|line| line.contains("function name")).map(str::to_owned)
    };
    // One of 350 samples is in the kernel.
    let all =
        "perfconv: 100% of frames and 100% of innermost frames have no function name (kernel less than 1%, user 99%)";
    assert_eq!(line("plain.data", &["--symbols", "no"]).as_deref(), Some(all));
    // With unique labels, samples are written one by one.
    assert_eq!(line("plain.data", &["--symbols", "no", "--labels", "timestamp_ns"]).as_deref(), Some(all));
    assert_eq!(line("plain.data", &["-q"]), None);
    assert_eq!(line("plain.data", &["-t", "jsonl"]), None);
    // So does every other output that has names.
    for format in ["perf-script", "perf-json", "folded", "html"] {
        assert!(line("plain.data", &["-t", format]).is_some(), "{format}");
    }
    assert!(line("plain.data", &["-t", "jsonl", "--decode", "symbols"]).is_some());
    let mut tables = program::perfconv();
    tables.arg(files::fixture("plain.data")).args(["-t", "csv", "-o"]).arg(dir.path().join("tables"));
    assert!(program::run(&mut tables).stderr.contains("of innermost frames have no function name"));
    fs::remove_file(&path).unwrap();
    assert!(line("callgraph.data", &["--split-by", "pid"]).is_some());
}
