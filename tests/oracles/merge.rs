//! `perfconv merge`: perf prints the samples of the inputs, in time order.

use crate::common::files::{Recording, corpus, fixture, fixtures, has_corpus, uses_all};
use crate::common::merge::{
    FIELDS, lines, merge, merge_by_time, merge_into_a_pipe, merge_one_recording, merge_tracepoints, separate_processes,
};
use crate::common::oracle::has_program;
use crate::common::perf_script::{ScriptSample, script_by_perf};
use crate::common::program::{for_each, perfconv, run_other, succeed, with_time_limit};
use perf_data::container::read::{ReadOptions, input::Input};
use perfconv::inspect::check::{Severity, check};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn errors(path: &Path) -> Vec<String> {
    let mut errors = Vec::new();
    check(Input::Path(path.to_owned()), ReadOptions::default(), &mut |finding| {
        if finding.rule.severity() == Severity::Error {
            errors.push(format!("{:?}", finding.rule));
        }
    })
    .expect("the output should be readable");
    errors
}

enum Outcome {
    Same(usize),
    Skipped(String),
    Differs(String),
}

fn compare(recordings: &[&Recording]) -> Outcome {
    let names: Vec<_> = recordings.iter().map(|recording| recording.name.as_str()).collect();
    let samples: Option<Vec<_>> = recordings.iter().map(|recording| script_by_perf(&recording.path, FIELDS)).collect();
    let Some(samples) = samples else { return Outcome::Skipped("perf 6.1 cannot print the samples of one".to_owned()) };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("merged.data");
    let paths: Vec<_> = recordings.iter().map(|recording| recording.path.as_path()).collect();
    let run = merge(&paths, &output, &[]);
    if run.status != 0 {
        let why = run.stderr.lines().last().unwrap_or_default().to_owned();
        let refusals = [
            "it uses",
            "clocks of different machines cannot be compared",
            "clock started at another time",
            "its kernel",
        ];
        return match refusals.iter().find(|refusals| why.contains(**refusals)) {
            Some(refusal) => Outcome::Skipped(format!("rejected: ... {refusal} ...")),
            None if why.contains("it is a perf stat recording") => {
                Outcome::Skipped("refused: it is a perf stat recording".to_owned())
            }
            None if why.contains("both have AUX areas") => Outcome::Skipped("refused: both have AUX areas".to_owned()),
            None => Outcome::Differs(format!("{names:?}: {why}")),
        };
    }
    let (expected, merged) = (merge_by_time(samples), script_by_perf(&output, FIELDS).map(lines).unwrap_or_default());
    let findings = errors(&output);
    match expected == merged {
        true if findings.is_empty() => Outcome::Same(merged.len()),
        true => Outcome::Differs(format!("{names:?}: check finds {findings:?}")),
        false => {
            let at = expected.iter().zip(&merged).position(|(one, other)| one != other);
            Outcome::Differs(format!("{names:?}: {} lines, expected {}; first at {at:?}", merged.len(), expected.len()))
        }
    }
}

/// Sets of two or three recordings of one machine, each recording in one or two sets.
fn sets<'a>(all: &'a [Recording], machine: &str, max: usize) -> Vec<Vec<&'a Recording>> {
    let of_machine: Vec<_> = all.iter().filter(|recording| recording.name.starts_with(machine)).collect();
    let count = of_machine.len();
    let step = (count / max.max(1)).max(1);
    let far = |first: usize| [first, (first + count / 2 + 1) % count, (first + count / 3 + 2) % count];
    let set = |first: usize| {
        let mut indices = far(first)[..2 + first / step % 2].to_vec();
        indices.dedup();
        indices.into_iter().map(|index| of_machine[index]).collect()
    };
    (0..count).step_by(step).map(set).collect()
}

#[test]
fn merged_recordings_print_as_their_samples_in_time_order() {
    let (fixtures, corpus) = (fixtures(), corpus());
    let of_machine = ["plain.", "compressed.", "pipe.", "pipe-compressed.", "tracepoints.", "lost.", "threads."];
    let on_one_machine: Vec<_> =
        of_machine.iter().filter_map(|name| fixtures.iter().find(|fixture| fixture.name.starts_with(name))).collect();
    let mut all: Vec<_> = on_one_machine.windows(2).map(<[_]>::to_vec).collect();
    all.push(on_one_machine.clone());
    let max = if uses_all() { 1000 } else { 9 };
    for machine in ["own/p61/", "own/guest-bookworm-amd64/", "own/guest-bookworm-arm64/", "own/guest-bookworm-s390x/"] {
        all.extend(sets(&corpus, machine, max));
    }
    let (mut same, mut lines, mut skipped, mut differing) = (0, 0, BTreeMap::new(), Vec::new());
    for outcome in for_each(&all, |set| compare(set)) {
        match outcome {
            Outcome::Same(count) => (same, lines) = (same + 1, lines + count),
            Outcome::Skipped(why) => *skipped.entry(why).or_insert(0) += 1,
            Outcome::Differs(what) => differing.push(what),
        }
    }
    note!("{same} of {} merges print as their recordings in time order with perf 6.1: {lines} lines", all.len());
    skipped.iter().for_each(|(why, count)| note!("skipped {count}: {why}"));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let enough = if has_corpus("merging") { 20 } else { 4 };
    assert!(same >= enough, "compared only {same} merges");
}

fn evlist(path: &Path) -> Vec<String> {
    let run = run_other(with_time_limit("perf").args(["evlist", "--force", "-v", "-i"]).arg(path).env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn equal_events_are_merged_across_containers() {
    let dir = tempfile::tempdir().unwrap();
    let (piped, output) = (dir.path().join("piped.data"), dir.path().join("merged.data"));
    for name in ["plain.data", "two-events.data", "group-read.data"] {
        let args = ["--container", "pipe", "--compress", "-f", "-q", "-o"];
        succeed(perfconv().arg(fixture(name)).args(args).arg(&piped));
        let merged = merge(&[&fixture(name), &piped], &output, &["--compress", "--container", "pipe"]);
        assert_eq!(merged.status, 0, "{name}: {}", merged.stderr);
        assert_eq!(evlist(&output).len(), evlist(&fixture(name)).len(), "{name}");
        let twice = merge(&[&fixture(name), &piped], &output, &["--offset-pids"]);
        assert_eq!(twice.status, 0, "{name}: {}", twice.stderr);
        let before = evlist(&fixture(name));
        assert_eq!(evlist(&output).len(), before.len(), "{name}: {before:?}");
    }
}

#[test]
fn events_with_different_fields_get_an_identifier() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let names = ["plain.data", "pipe.data", "tracepoints.data"];
    let inputs = names.map(fixture);
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let events = evlist(&output);
    assert!(events.len() >= 7, "{events:?}");
    assert!(events.iter().all(|event| event.contains("IDENTIFIER")), "{events:?}");
}

fn header(path: &Path) -> String {
    let run = run_other(with_time_limit("perf").args(["report", "--header-only", "-i"]).arg(path).env("LC_ALL", "C"));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

#[test]
fn differing_features_are_reported_or_taken_from_one_input() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let inputs = [fixture("plain.data"), fixture("compressed.data")];
    let inputs = inputs.each_ref().map(PathBuf::as_path);
    let run = merge(&inputs, &output, &[]);
    assert!(run.stderr.contains("these features differ and are dropped: CMDLINE"), "{}", run.stderr);
    let header_text = header(&output);
    assert!(!header_text.contains("# cmdline") && header_text.contains("# hostname"), "{header_text}");
    let second = inputs[1].to_str().expect("the path should be UTF-8");
    for chosen in ["2", second] {
        let run = merge(&inputs, &output, &["--features-from", chosen]);
        assert_eq!((run.status, run.stderr.contains("differ")), (0, false), "{}", run.stderr);
        assert!(header(&output).contains("-z3"), "{}", header(&output));
    }
}

#[test]
fn recordings_of_several_machines_are_aligned_by_the_wall_clock() {
    let all = corpus();
    let named = |name: &str| all.iter().find(|recording| recording.name == name);
    let both = [named("own/p61/all-side.data"), named("own/guest-bookworm-amd64/sys-a-all.data")];
    let [Some(one), Some(other)] = both else {
        assert!(all.is_empty(), "the corpus should have recordings with clock data");
        return note!("aligning by the wall clock: skipped: no corpus");
    };
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let run = merge(&[&one.path, &other.path], &output, &["--align", "wall", "--kernel-from", "1", "--offset-pids"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let merged = script_by_perf(&output, "time,event,ip").expect("perf should print it");
    let mut expected = Vec::new();
    for recording in [one, other] {
        let clock = header(&recording.path);
        let samples = script_by_perf(&recording.path, "time,event,ip").expect("perf should print it");
        assert!(clock.contains("clockid"), "{clock}");
        // Times relative to the first sample do not change.
        let first = samples[0].time;
        expected.push(samples.iter().map(|sample| sample.time - first).collect::<Vec<_>>());
    }
    assert!(merged.is_sorted_by_key(|sample| sample.time));
    assert_eq!(merged.len(), expected.iter().map(Vec::len).sum::<usize>());
    let (split, year_2020) = (expected[0].len().min(expected[1].len()), 1_577_836_800_000_000_000);
    assert!(split > 0 && merged.iter().all(|sample| sample.time > year_2020), "times should be of the wall clock");
    // The recordings do not overlap in time, but their order is unknown.
    let (early, late) = if merged.len() - expected[0].len() == expected[1].len() { (0, 1) } else { (1, 0) };
    let of = |times: &[ScriptSample]| times.iter().map(|sample| sample.time - times[0].time).collect::<Vec<_>>();
    let (head, tail) = merged.split_at(expected[early].len());
    let in_order = of(head) == expected[early] && of(tail) == expected[late];
    let (head, tail) = merged.split_at(expected[late].len());
    assert!(in_order || of(head) == expected[late] && of(tail) == expected[early], "relative times changed");
}

#[test]
fn perf_prints_a_merged_recording_as_before() {
    if has_program("perf") {
        merge_one_recording(script_by_perf);
    }
}

#[test]
fn perf_prints_merged_tracepoints() {
    if has_program("perf") {
        merge_tracepoints(script_by_perf);
    }
}

#[test]
fn perf_prints_separated_processes() {
    if has_program("perf") {
        separate_processes(script_by_perf);
    }
}

#[test]
fn perf_prints_a_merged_pipe() {
    if has_program("perf") {
        merge_into_a_pipe(script_by_perf);
    }
}
