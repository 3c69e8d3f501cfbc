//! What commands derive from the descriptors and roles of record types, for types that few recordings have.

use crate::common::program::{perfconv, run, succeed};
use std::fs;
use std::path::{Path, PathBuf};

/// A recording of a scenario with changes to its text.
fn synthesize(directory: &Path, name: &str, changes: &[(&str, &str)]) -> PathBuf {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
    let mut text = fs::read_to_string(scenario).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} should contain {from}");
        text = text.replace(from, to);
    }
    let scenario = directory.join("changed.toml");
    fs::write(&scenario, text).unwrap();
    let count = fs::read_dir(directory).unwrap().count();
    let output = directory.join(format!("{count}.data"));
    succeed(perfconv().arg("synth").arg(&scenario).args(["-q", "-o"]).arg(&output));
    output
}

/// Numbers of records of a type.
fn count(path: &Path, kind: &str) -> usize {
    let run = succeed(perfconv().arg(path).args(["-q", "-t", "jsonl", "-o", "-"]));
    String::from_utf8_lossy(&run.stdout).matches(&format!("{{\"record\":\"{kind}\"")).count()
}

#[test]
fn diff_ignores_the_times_of_scheduler_statistics() {
    let directory = tempfile::tempdir().unwrap();
    let [one, other] = ["timestamp = 5", "timestamp = 15"]
        .map(|time| synthesize(directory.path(), "records-of-perf-7.toml", &[("timestamp = 5", time)]));
    let diff = |arguments: &[&str]| run(perfconv().arg("diff").arg(&one).arg(&other).args(arguments)).status;
    assert_eq!((diff(&[]), diff(&["--ignore", "times"])), (1, 0));
}

#[test]
fn process_filters_drop_decoder_errors_of_other_processes() {
    let directory = tempfile::tempdir().unwrap();
    let error = "cpu = 1, pid = 100, tid = 100, fmt = 1";
    let other = error.replace("100", "777");
    for (pid, expected) in [(error, 1), (&*other, 0)] {
        let input = synthesize(directory.path(), "intel-pt.toml", &[(error, pid)]);
        assert_eq!(count(&input, "AUXTRACE_ERROR"), 1);
        let output = directory.path().join("filtered.data");
        succeed(perfconv().arg("rewrite").arg(&input).args(["-f", "-q", "--pid", "100", "-o"]).arg(&output));
        assert_eq!(count(&output, "AUXTRACE_ERROR"), expected, "{pid}");
    }
}

#[test]
fn merging_keeps_the_programs_of_one_kernel() {
    let directory = tempfile::tempdir().unwrap();
    let changes = [
        ("flags = [\"DEFER_CALLCHAIN\"", "attr = { clockid = 4 }\nflags = [\"USE_CLOCKID\", \"DEFER_CALLCHAIN\""),
        (
            "[kernel]",
            "[feature]\nCLOCK_DATA = { version = 1, clockid = 4, wall_clock_ns = 1700000000000000000, clockid_ns = 1000000000000 }\n\n[kernel]",
        ),
    ];
    let inputs = [(); 2].map(|()| synthesize(directory.path(), "records-of-perf-7.toml", &changes));
    let output = directory.path().join("merged.data");
    succeed(
        perfconv().arg("merge").args(&inputs).args(["--kernel-from", "1", "--align", "wall", "-q", "-o"]).arg(&output),
    );
    assert_eq!([&inputs[0], &inputs[1], &output].map(|path| count(path, "BPF_METADATA")), [1, 1, 1]);
}
