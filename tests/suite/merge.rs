//! `perfconv merge`: perf prints the samples of the inputs, in time order.

use crate::suite::files::{Recording, corpus, fixture, fixtures, has_corpus, uses_all};
use crate::suite::perf_script::{ScriptSample, script};
use crate::suite::program::{Run, for_each, perfconv, run, run_other, with_time_limit};
use perf_data::container::read::{ReadOptions, input::Input};
use perfconv::inspect::check::{Severity, check};
use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const FIELDS: &str = "pid,tid,time,event,ip,period";

fn merge(inputs: &[&Path], output: &Path, args: &[&str]) -> Run {
    run(perfconv().arg("merge").args(inputs).arg("-f").arg("-o").arg(output).args(args))
}

fn print_note(line: Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error should be writable");
}

/// Merges the printed samples of several recordings by time; for equal times, in the order of the recordings.
fn merge_by_time(all: Vec<Vec<ScriptSample>>) -> Vec<String> {
    let mut samples: Vec<_> = all.into_iter().flatten().collect();
    samples.sort_by_key(|sample| sample.time);
    samples.into_iter().map(|sample| sample.line).collect()
}

fn lines(samples: Vec<ScriptSample>) -> Vec<String> {
    samples.into_iter().map(|sample| sample.line).collect()
}

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
    let samples: Option<Vec<_>> = recordings.iter().map(|recording| script(&recording.path, FIELDS)).collect();
    let Some(samples) = samples else { return Outcome::Skipped("perf 6.1 cannot print the samples of one".to_owned()) };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("merged.data");
    let paths: Vec<_> = recordings.iter().map(|recording| recording.path.as_path()).collect();
    let run = merge(&paths, &output, &[]);
    if run.status != 0 {
        let why = run.stderr.lines().last().unwrap_or_default().to_owned();
        let known = [
            "it uses",
            "clocks of different machines cannot be compared",
            "clock started at another time",
            "its kernel",
        ];
        return match known.iter().find(|known| why.contains(**known)) {
            Some(known) => Outcome::Skipped(format!("rejected: ... {known} ...")),
            None if why.contains("it is a perf stat recording") => {
                Outcome::Skipped("refused: it is a perf stat recording".to_owned())
            }
            None if why.contains("both have AUX areas") => Outcome::Skipped("refused: both have AUX areas".to_owned()),
            None => Outcome::Differs(format!("{names:?}: {why}")),
        };
    }
    let (expected, merged) = (merge_by_time(samples), script(&output, FIELDS).map(lines).unwrap_or_default());
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
    print_note(format_args!(
        "{same} of {} merges print as their recordings in time order with perf 6.1: {lines} lines",
        all.len()
    ));
    skipped.iter().for_each(|(why, count)| print_note(format_args!("skipped {count}: {why}")));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let enough = if has_corpus("merging") { 20 } else { 4 };
    assert!(same >= enough, "compared only {same} merges");
}

#[test]
fn merging_one_recording_changes_nothing() {
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
        assert_eq!(run(perfconv().arg(fixture(name)).args(args).arg(&piped)).status, 0);
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

#[test]
fn merged_tracepoints_keep_their_formats() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let inputs = [fixture("tracepoints.data"), fixture("pipe-tracepoints.data"), fixture("lost.data")];
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let fields = "comm,pid,tid,cpu,time,event,trace";
    let all = inputs.iter().map(|input| script(input, fields).expect("perf should print it")).collect();
    let merged = lines(script(&output, fields).expect("perf should print it"));
    assert_eq!(merged, merge_by_time(all));
    assert!(merged.iter().any(|line| line.contains("prev_comm=")) && merged.iter().any(|line| line.contains("NR 0")));
}

#[test]
fn offset_pids_separates_processes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let inputs = [fixture("plain.data"), fixture("tracepoints.data"), fixture("pipe.data")];
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &["--offset-pids"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let fields = "comm,pid,tid,time,ip,sym,dso";
    let mut expected = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        for ScriptSample { time, line } in script(input, fields).expect("perf should print it") {
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
    let merged = lines(script(&output, fields).expect("perf should print it"));
    assert_eq!(merged, merge_by_time(vec![expected]));
}

#[test]
fn offset_pids_applies_to_virtual_machines() {
    let dir = tempfile::tempdir().unwrap();
    let [guests, output] = ["guests.data", "merged.data"].map(|name| dir.path().join(name));
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/guests.toml");
    assert_eq!(run(perfconv().args(["synth", scenario, "-q", "-o"]).arg(&guests)).status, 0);
    let merged = merge(&[&guests, &guests], &output, &["-q", "--offset-pids"]);
    assert_eq!(merged.status, 0, "{}", merged.stderr);
    let json = run(perfconv().arg(&output).args(["-q", "-t", "jsonl", "-o", "-"]));
    let json = String::from_utf8_lossy(&json.stdout).into_owned();
    for pid in [4242, 10_004_242] {
        assert!(json.contains(&format!(r#""guests":[{{"machine_pid":{pid},"vcpu":6}}]"#)), "{json}");
    }
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
fn warns_of_a_recording_that_is_merged_twice() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let [copy, json] = ["copy.data", "plain.jsonl"].map(|name| dir.path().join(name));
    fs::copy(fixture("plain.data"), &copy).unwrap();
    assert_eq!(run(perfconv().arg(fixture("plain.data")).args(["-q", "-o"]).arg(&json)).status, 0);
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
        let run = run(perfconv().arg("rewrite").arg(fixture(of)).args(["-q", "-o"]).arg(&path).args(args));
        assert_eq!(run.status, 0, "{}", run.stderr);
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
        (&empty, &[], 1, "the file is empty"),
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
    let count = |path: &Path| script(path, FIELDS).expect("perf should print it").len();
    assert_eq!(count(&piped), count(&fixture("pipe-compressed.data")) + count(&fixture("plain.data")));
}

#[test]
fn recordings_of_several_machines_are_aligned_by_the_wall_clock() {
    let all = corpus();
    let named = |name: &str| all.iter().find(|recording| recording.name == name);
    let both = [named("own/p61/all-side.data"), named("own/guest-bookworm-amd64/sys-a-all.data")];
    let [Some(one), Some(other)] = both else {
        assert!(all.is_empty(), "the corpus should have recordings with clock data");
        return print_note(format_args!("aligning by the wall clock: skipped: no corpus"));
    };
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("merged.data");
    let run = merge(&[&one.path, &other.path], &output, &["--align", "wall", "--kernel-from", "1", "--offset-pids"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let merged = script(&output, "time,event,ip").expect("perf should print it");
    let mut expected = Vec::new();
    for recording in [one, other] {
        let clock = header(&recording.path);
        let samples = script(&recording.path, "time,event,ip").expect("perf should print it");
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
