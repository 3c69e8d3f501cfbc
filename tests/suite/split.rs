//! `perfconv split`: names and contents of the parts.

use crate::common::files::fixture;
use crate::common::perf_script::script_by_perfconv;
use crate::common::program::{perfconv, run, succeed};
use crate::common::split::{parts, split, split_by_process};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

#[test]
fn part_names_describe_their_contents_and_sort_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let names = |input: &str, by: &str| {
        let output = dir.path().join("parts");
        let run = split(&fixture(input), &output, by, &["-f"]);
        assert_eq!(run.status, 0, "{by}: {}", run.stderr);
        let names = parts(&output).into_iter().map(|part| part.file_name().unwrap().to_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names("callgraph.data", "samples=100"), ["000.data", "001.data", "002.data", "003.data"]);
    let halves = names("callgraph.data", "time=50%");
    assert_eq!(halves, ["000.data", "001.data"]);
    assert_eq!(names("two-events.data", "event"), ["event-cpu-clock.data", "event-task-clock.data"]);
    // Events of a group with counter values in samples are kept together.
    assert_eq!(names("pipe-grouped.data", "event").len(), 2);
    let comms = names("system-wide.data", "comm");
    assert!(comms.contains(&"comm-swapper.data".to_owned()), "{comms:?}");
    let cpus = names("system-wide.data", "cpu");
    assert!(cpus.iter().all(|cpu| cpu.starts_with("cpu-")) && cpus.is_sorted(), "{cpus:?}");
    let pids = names("forks.data", "pid");
    let widths: BTreeSet<_> = pids.iter().map(String::len).collect();
    assert!(pids.len() > 1 && widths.len() == 1, "{pids:?}");
}

#[test]
fn parts_by_pid_have_no_records_of_other_processes() {
    split_by_process(script_by_perfconv);
}

#[test]
fn many_parts_need_force() {
    let dir = tempfile::tempdir().unwrap();
    let (merged, output) = (dir.path().join("merged.data"), dir.path().join("parts"));
    let plain = fixture("killed.data");
    succeed(perfconv().arg("repair").arg(&plain).args(["-q", "--perf-version", "6.1", "-o"]).arg(&merged));
    let rejected = split(&merged, &output, "samples=1", &[]);
    assert_eq!(rejected.status, 1, "{}", rejected.stderr);
    assert!(rejected.stderr.contains("the split would create 1024 parts; use -f"), "{}", rejected.stderr);
    assert!(!output.exists() && fs::read_dir(dir.path()).unwrap().count() == 1, "files were written");
    let written = split(&merged, &output, "samples=1", &["-f"]);
    assert_eq!((written.status, parts(&output).len()), (0, 1024), "{}", written.stderr);
    assert_eq!(script_by_perfconv(&parts(&output)[1000], "pid,time,ip").map(|samples| samples.len()), Some(1));
}

#[test]
fn output_directory_is_complete_and_replaces_only_splits() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("parts");
    let plain = fixture("plain.data");
    assert_eq!(split(&plain, &output, "tid", &[]).status, 0);
    let repeated = split(&plain, &output, "samples=100", &[]);
    assert_eq!((repeated.status, repeated.stderr.contains("already exists")), (1, true), "{}", repeated.stderr);
    assert_eq!(split(&plain, &output, "samples=100", &["-f"]).status, 0);
    assert_eq!(parts(&output).len(), 4);
    fs::write(output.join("notes.txt"), "mine").unwrap();
    let other = split(&plain, &output, "tid", &["-f"]);
    assert_eq!(
        (other.status, other.stderr.contains("is a directory with other contents")),
        (1, true),
        "{}",
        other.stderr
    );
    for (by, status, said) in [
        ("cpu", 1, "350 samples have no CPU; record with perf record --sample-cpu"),
        ("dso", 2, "unknown criterion 'dso'; expected one of: time, size, samples, pid, tid, comm, cpu, event"),
        ("time=0s", 2, "requires a time such as 1s"),
        ("samples", 2, "requires a value"),
    ] {
        let run = split(&plain, &dir.path().join("new"), by, &[]);
        assert!(run.status == status && run.stderr.contains(said), "{by}: {} {}", run.status, run.stderr);
        assert!(!dir.path().join("new").exists());
    }
    let stdout = split(&plain, Path::new("-"), "tid", &[]);
    assert_eq!((stdout.status, stdout.stderr.contains("split writes a directory")), (2, true), "{}", stdout.stderr);
    let input = fs::File::open(fixture("pipe-compressed.data")).unwrap();
    let args = ["split", "-", "-q", "--by", "samples=100", "-o"];
    let piped = run(perfconv().args(args).arg(dir.path().join("new")).stdin(Stdio::from(input)));
    assert_eq!((piped.status, parts(&dir.path().join("new")).len()), (0, 4), "{}", piped.stderr);
}
