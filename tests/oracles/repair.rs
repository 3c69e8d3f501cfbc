//! `perfconv repair`: perf prints all samples and the header of interrupted, truncated and corrupt recordings.

use crate::common::files::{fixture, has_corpus, recordings};
use crate::common::oracle::has_program;
use crate::common::program::{for_each, perfconv, run_other, succeed, with_time_limit};
use crate::common::repair::repair;
use std::path::Path;

fn perf(arguments: &[&str], path: &Path) -> String {
    let mut perf = with_time_limit("perf");
    perf.args(arguments).arg("-i").arg(path).env("LC_ALL", "C");
    String::from_utf8_lossy(&run_other(&mut perf).stdout).into_owned()
}

/// The number of samples that perf script prints.
fn printed_samples(path: &Path) -> u64 {
    let printed = perf(&["script", "--force", "--no-itrace", "-F", "tid,time"], path);
    printed.lines().filter(|line| line.trim_end().ends_with(':')).count() as u64
}

#[test]
fn perf_prints_all_samples_of_repaired_recordings() {
    if !has_program("perf") {
        return;
    }
    let all = recordings();
    let (mut count, mut printed, mut samples, mut failures) = (0, 0, 0, Vec::new());
    for (recording, result) in
        all.iter().zip(for_each(&all, |recording| repair(&recording.path, Some(printed_samples))))
    {
        let Some(result) = result else { continue };
        count += 1;
        samples += result.samples;
        if result.printed == Some(result.samples) {
            printed += usize::from(result.samples > 0);
        } else if result.samples > 0 {
            failures.push(format!("{}: perf prints {:?} of {}", recording.name, result.printed, result.samples));
        }
        failures.extend(result.failure.map(|what| format!("{}: {what}", recording.name)));
    }
    note!("repaired {count} corrupt recordings with {samples} samples; perf 6.1 prints all of {printed}");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    let enough = if has_corpus("repairs") { 24 } else { 2 };
    assert!(printed >= enough, "perf prints only {printed} recordings, expected {enough}");
}

#[test]
fn perf_reads_repaired_interrupted_recordings() {
    if !has_program("perf") {
        return;
    }
    let killed: Vec<_> = recordings().into_iter().filter(|recording| recording.name.contains("killed")).collect();
    let mut compared = 0;
    for recording in &killed {
        let Some(result) = repair(&recording.path, Some(printed_samples)) else { continue };
        let is_foreign = recording.name.contains("s390x");
        // perf 6.1 misreads the IDs that distinguish events in foreign byte orders.
        if !is_foreign {
            assert_eq!(result.printed, Some(result.samples), "{}", recording.name);
        }
        compared += 1;
    }
    note!("repaired {compared} of {} interrupted recordings", killed.len());
    assert!(compared >= if has_corpus("interrupted recordings") { 8 } else { 1 }, "only {compared}");
}

#[test]
fn perf_prints_restored_features() {
    if !has_program("perf") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("repaired.data");
    // perf 6.1 accepts no attrs larger than its own.
    let args = ["--perf-version", "6.1", "-o"];
    succeed(perfconv().arg("repair").arg(fixture("killed.data")).args(args).arg(&output));
    let header = perf(&["report", "--header-only", "-I"], &output);
    for line in ["# event : name = cpu-clock", "# time of first sample", "# nrcpus online"] {
        assert!(header.lines().any(|other| other.starts_with(line)), "{line}:\n{header}");
    }
}
