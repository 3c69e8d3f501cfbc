//! `perfconv merge`: the output has the samples of the inputs, in time order.

use crate::common::files::fixture;
use crate::common::merge::{merge, merge_into_a_pipe, merge_one_recording, merge_tracepoints, separate_processes};
use crate::common::perf_script::script_by_perfconv;
use crate::common::program::{perfconv, run, succeed};
use std::fs;
use std::path::Path;
use std::process::Stdio;

#[test]
fn merging_one_recording_changes_nothing() {
    merge_one_recording(script_by_perfconv);
}

#[test]
fn merged_tracepoints_keep_their_formats() {
    merge_tracepoints(script_by_perfconv);
}

#[test]
fn offset_pids_separates_processes() {
    separate_processes(script_by_perfconv);
}

#[test]
fn offset_pids_applies_to_virtual_machines() {
    let dir = tempfile::tempdir().unwrap();
    let [guests, output] = ["guests.data", "merged.data"].map(|name| dir.path().join(name));
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/guests.toml");
    succeed(perfconv().args(["synth", scenario, "-q", "-o"]).arg(&guests));
    let merged = merge(&[&guests, &guests], &output, &["-q", "--offset-pids"]);
    assert_eq!(merged.status, 0, "{}", merged.stderr);
    let json = run(perfconv().arg(&output).args(["-q", "-t", "jsonl", "-o", "-"]));
    let json = String::from_utf8_lossy(&json.stdout).into_owned();
    for pid in [4242, 10_004_242] {
        assert!(json.contains(&format!(r#""guests":[{{"machine_pid":{pid},"vcpu":6}}]"#)), "{json}");
    }
}

#[test]
fn warns_of_a_recording_that_is_merged_twice() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let [copy, json] = ["copy.data", "plain.jsonl"].map(|name| dir.path().join(name));
    fs::copy(fixture("plain.data"), &copy).unwrap();
    succeed(perfconv().arg(fixture("plain.data")).args(["-q", "-o"]).arg(&json));
    let plain = fixture("plain.data");
    for second in [&plain, &copy, &json] {
        let run = merge(&[&plain, second], &output, &["--strict"]);
        let (plain, second) = (plain.display(), second.display());
        let expected = format!(
            "perfconv: warning: input 2 ({second}) has the same content as input 1 ({plain}), so its samples are counted \
             twice; merge it once\n"
        );
        assert_eq!((run.status, run.stderr.contains(&expected)), (0, true), "{}", run.stderr);
    }
    let directory = fixture("threads.dir");
    let twice = merge(&[&directory, &directory], &output, &[]);
    assert_eq!((twice.status, twice.stderr.contains("has the same content")), (0, true), "{}", twice.stderr);
    let input = fs::File::open(&copy).unwrap();
    let piped = run(perfconv().arg("merge").args([Path::new("-"), &plain]).args(["-o", "-"]).stdin(Stdio::from(input)));
    assert!(piped.stderr.contains("has the same content as input 1 (standard input)"), "{}", piped.stderr);
    let others = merge(&[&plain, &fixture("compressed.data")], &output, &[]);
    assert!(!others.stderr.contains("same content"), "{}", others.stderr);
}

/// Merges recordings that cannot be merged. Returns the exit status and the messages.
fn refusal(inputs: &[&Path], args: &[&str]) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let run = merge(inputs, &output, args);
    assert!(!output.exists() && fs::read_dir(dir.path()).unwrap().count() == 0, "files were written");
    (run.status, run.stderr)
}

#[test]
fn rejects_incompatible_recordings_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let plain = fixture("plain.data");
    let rewrite = |name: &str, of: &str, args: &[&str]| {
        let path = dir.path().join(name);
        succeed(perfconv().arg("rewrite").arg(fixture(of)).args(["-q", "-o"]).arg(&path).args(args));
        path
    };
    let host = rewrite("host.data", "compressed.data", &["--set", "hostname=elsewhere"]);
    let kernel = rewrite("kernel.data", "pipe.data", &["--container", "file", "--set", "osrelease=1.2.3"]);
    let machine = rewrite("machine.data", "tracepoints.data", &["--set", "arch=ppc64le"]);
    let empty = dir.path().join("empty.data");
    fs::write(&empty, "").unwrap();
    for (other, args, status, said) in [
        (&host, &[][..], 1, "its host is elsewhere, not"),
        (&host, &["--align", "wall"], 1, "without its offset from the wall clock"),
        (&machine, &[], 1, "raw data in"),
        (&fixture("big-endian.data"), &[], 1, "clocks of different machines cannot be compared"),
        (&kernel, &[], 1, "its kernel is 1.2.3, not"),
        (&kernel, &["--kernel-from", "1"], 1, "clocks restart at boot"),
        (&empty, &[], 1, "the input is empty"),
        (&dir.path().join("missing.data"), &[], 1, "missing.data"),
        (&host, &["--features-from", "3"], 2, "not one of the inputs; expected a name or a number from 1 to 2"),
        (&host, &["--kernel-from", "other.data"], 2, "not one of the inputs; expected a name or a number from 1 to 2"),
    ] {
        let (got, message) = refusal(&[&plain, other], args);
        assert!(got == status && message.contains(said), "{} {args:?}: {got}: {message}", other.display());
        assert!(message.lines().count() == 1, "more than one line: {message}");
    }
    let (status, message) = refusal(&[Path::new("-"), Path::new("-")], &[]);
    assert_eq!((status, message.contains("standard input can be only one")), (2, true), "{message}");
    let output = dir.path().join("merged.data");
    assert_eq!(merge(&[&plain], &output, &[]).status, 0);
    let exists = run(perfconv().arg("merge").arg(&plain).arg("-o").arg(&output));
    assert_eq!((exists.status, exists.stderr.contains("already exists")), (1, true), "{}", exists.stderr);
    let itself = merge(&[&plain, &output], &output, &[]);
    assert_eq!((itself.status, itself.stderr.contains("cannot overwrite the input")), (1, true), "{}", itself.stderr);
}

#[test]
fn merges_the_readable_part_of_corrupt_recordings() {
    let dir = tempfile::tempdir().unwrap();
    let truncated = dir.path().join("cut.data");
    let complete = fs::read(fixture("pipe.data")).unwrap();
    fs::write(&truncated, &complete[..complete.len() - 20]).unwrap();
    let output = dir.path().join("merged.data");
    let run = merge(&[&fixture("plain.data"), &truncated], &output, &["--strict"]);
    assert_eq!((run.status, run.stderr.contains("cut.data: offset 0x")), (3, true), "{}", run.stderr);
    assert!(run.stderr.contains("samples in"), "{}", run.stderr);
}

#[test]
fn reads_standard_input_and_writes_a_pipe_to_standard_output() {
    merge_into_a_pipe(script_by_perfconv);
}
