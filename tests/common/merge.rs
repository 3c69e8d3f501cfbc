//! Merges recordings.

use crate::common::files::{fixture, fixtures};
use crate::common::perf_script::{Script, ScriptSample};
use crate::common::program::{Run, perfconv, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub(crate) const FIELDS: &str = "pid,tid,time,event,ip,period";

pub(crate) fn merge(inputs: &[&Path], output: &Path, args: &[&str]) -> Run {
    run(perfconv().arg("merge").args(inputs).arg("-f").arg("-o").arg(output).args(args))
}

/// Merges the printed samples of several recordings by time; for equal times, in the order of the recordings.
pub(crate) fn merge_by_time(all: Vec<Vec<ScriptSample>>) -> Vec<String> {
    let mut samples: Vec<_> = all.into_iter().flatten().collect();
    samples.sort_by_key(|sample| sample.time);
    samples.into_iter().map(|sample| sample.line).collect()
}

pub(crate) fn lines(samples: Vec<ScriptSample>) -> Vec<String> {
    samples.into_iter().map(|sample| sample.line).collect()
}

/// Merges single recordings, whose samples do not change.
pub(crate) fn merge_one_recording(script: Script) {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let mut compared = 0;
    for recording in fixtures() {
        let Some(before) = script(&recording.path, FIELDS) else { continue };
        // perf 6.1 reads events of later versions in pipes, but not in files.
        let samples = ["file", "pipe"].iter().find_map(|container| {
            let run = merge(&[&recording.path], &output, &["-q", "--container", container]);
            assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{}", recording.name);
            script(&output, FIELDS)
        });
        assert_eq!(samples, Some(before), "{}", recording.name);
        compared += 1;
    }
    assert!(compared >= 12, "compared only {compared} recordings");
}

/// Merges recordings of tracepoints.
pub(crate) fn merge_tracepoints(script: Script) {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let inputs = [fixture("tracepoints.data"), fixture("pipe-tracepoints.data"), fixture("lost.data")];
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let fields = "comm,pid,tid,cpu,time,event,trace";
    let all = inputs.iter().map(|input| script(input, fields).expect("it should be printed")).collect();
    let merged = lines(script(&output, fields).expect("it should be printed"));
    assert_eq!(merged, merge_by_time(all));
    assert!(merged.iter().any(|line| line.contains("prev_comm=")) && merged.iter().any(|line| line.contains("NR 0")));
}

/// Merges recordings whose processes are kept apart.
pub(crate) fn separate_processes(script: Script) {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let inputs = [fixture("plain.data"), fixture("tracepoints.data"), fixture("pipe.data")];
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &["--offset-pids"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let fields = "comm,pid,tid,time,ip,sym,dso";
    let mut expected = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        for ScriptSample { time, line } in script(input, fields).expect("it should be printed") {
            let with_offset = |task: &str| match task.parse::<u64>() {
                Ok(0) | Err(_) => task.to_owned(),
                Ok(task) => (task + 10_000_000 * number as u64).to_string(),
            };
            let words = line.split(' ').map(|word| match word.split_once('/') {
                Some((pid, tid)) if !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()) => {
                    format!("{}/{}", with_offset(pid), with_offset(tid))
                }
                _ => word.to_owned(),
            });
            expected.push(ScriptSample { time, line: words.collect::<Vec<_>>().join(" ") });
        }
    }
    let merged = lines(script(&output, fields).expect("it should be printed"));
    assert_eq!(merged, merge_by_time(vec![expected]));
}

/// Merges standard input into a pipe.
pub(crate) fn merge_into_a_pipe(script: Script) {
    let input = fs::File::open(fixture("pipe-compressed.data")).unwrap();
    let run = run(perfconv()
        .args(["merge", "-"])
        .arg(fixture("plain.data"))
        .args(["-q", "-o", "-"])
        .stdin(Stdio::from(input)));
    assert_eq!((run.status, run.stdout.get(8)), (0, Some(&16)), "{}", run.stderr);
    let dir = tempfile::tempdir().unwrap();
    let piped = dir.path().join("piped.data");
    fs::write(&piped, &run.stdout).unwrap();
    let count = |path: &Path| script(path, FIELDS).expect("it should be printed").len();
    assert_eq!(count(&piped), count(&fixture("pipe-compressed.data")) + count(&fixture("plain.data")));
}
