//! `perfconv merge`: what perf shows of the result is what it shows of the recordings, the earliest sample first.

use crate::suite::files::{Recording, corpus, fixture, fixtures, has_corpus, takes_all};
use crate::suite::program::{Run, for_each, perfconv, run, run_other, with_time_limit};
use crate::suite::scripts::{Shown, script};
use perfconv::container::read::{ReadOptions, input::Input};
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

fn say(line: Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}

/// Lines of several recordings by time; those of the same time in the order of the recordings, and in each in its own.
fn interleaved(all: Vec<Vec<Shown>>) -> Vec<String> {
    let mut shown: Vec<_> = all.into_iter().flatten().collect();
    shown.sort_by_key(|shown| shown.time);
    shown.into_iter().map(|shown| shown.line).collect()
}

fn lines(shown: Vec<Shown>) -> Vec<String> {
    shown.into_iter().map(|shown| shown.line).collect()
}

fn errors(path: &Path) -> Vec<String> {
    let mut errors = Vec::new();
    check(Input::Path(path.to_owned()), ReadOptions::default(), &mut |finding| {
        if finding.rule.severity() == Severity::Error {
            errors.push(format!("{:?}", finding.rule));
        }
    })
    .expect("what was written can be read");
    errors
}

enum Outcome {
    Same(usize),
    Skipped(String),
    Differs(String),
}

fn compare(recordings: &[&Recording]) -> Outcome {
    let names: Vec<_> = recordings.iter().map(|recording| recording.name.as_str()).collect();
    let shown: Option<Vec<_>> = recordings.iter().map(|recording| script(&recording.path, FIELDS)).collect();
    let Some(shown) = shown else { return Outcome::Skipped("perf 6.1 shows no such samples of one".to_owned()) };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = folder.path().join("merged.data");
    let paths: Vec<_> = recordings.iter().map(|recording| recording.path.as_path()).collect();
    let run = merge(&paths, &output, &[]);
    if run.status != 0 {
        let why = run.stderr.lines().last().unwrap_or_default().to_owned();
        let known = ["its times are of", "each machine has a clock", "began at another time", "its kernel"];
        return match known.iter().find(|known| why.contains(**known)) {
            Some(known) => Outcome::Skipped(format!("refused: ... {known} ...")),
            None if why.contains("it is of perf stat") => Outcome::Skipped("refused: it is of perf stat".to_owned()),
            None if why.contains("have AUX areas both") => Outcome::Skipped("refused: AUX areas both".to_owned()),
            None => Outcome::Differs(format!("{names:?}: {why}")),
        };
    }
    let (expected, merged) = (interleaved(shown), script(&output, FIELDS).map(lines).unwrap_or_default());
    let wrong = errors(&output);
    match expected == merged {
        true if wrong.is_empty() => Outcome::Same(merged.len()),
        true => Outcome::Differs(format!("{names:?}: check finds {wrong:?}")),
        false => {
            let at = expected.iter().zip(&merged).position(|(one, other)| one != other);
            Outcome::Differs(format!("{names:?}: {} lines, not {}; first at {at:?}", merged.len(), expected.len()))
        }
    }
}

/// Recordings of one machine, two or three at a time, so that each is taken once or twice.
fn sets<'a>(all: &'a [Recording], machine: &str, most: usize) -> Vec<Vec<&'a Recording>> {
    let of_machine: Vec<_> = all.iter().filter(|recording| recording.name.starts_with(machine)).collect();
    let count = of_machine.len();
    let step = (count / most.max(1)).max(1);
    let far = |first: usize| [first, (first + count / 2 + 1) % count, (first + count / 3 + 2) % count];
    let set = |first: usize| {
        let mut places = far(first)[..2 + first / step % 2].to_vec();
        places.dedup();
        places.into_iter().map(|place| of_machine[place]).collect()
    };
    (0..count).step_by(step).map(set).collect()
}

#[test]
fn merged_recordings_are_shown_as_their_samples_by_time() {
    let (fixtures, corpus) = (fixtures(), corpus());
    let of_machine = ["plain.", "compressed.", "pipe.", "pipe-compressed.", "tracepoints.", "lost.", "threads."];
    let on_one_machine: Vec<_> =
        of_machine.iter().filter_map(|name| fixtures.iter().find(|fixture| fixture.name.starts_with(name))).collect();
    let mut all: Vec<_> = on_one_machine.windows(2).map(<[_]>::to_vec).collect();
    all.push(on_one_machine.clone());
    let most = if takes_all() { 1000 } else { 9 };
    for machine in ["own/p61/", "own/guest-bookworm-amd64/", "own/guest-bookworm-arm64/", "own/guest-bookworm-s390x/"] {
        all.extend(sets(&corpus, machine, most));
    }
    let (mut same, mut lines, mut skipped, mut differing) = (0, 0, BTreeMap::new(), Vec::new());
    for outcome in for_each(&all, |set| compare(set)) {
        match outcome {
            Outcome::Same(count) => (same, lines) = (same + 1, lines + count),
            Outcome::Skipped(why) => *skipped.entry(why).or_insert(0) += 1,
            Outcome::Differs(what) => differing.push(what),
        }
    }
    say(format_args!(
        "{same} of {} merges are what perf 6.1 shows of their recordings, by time: {lines} lines",
        all.len()
    ));
    skipped.iter().for_each(|(why, count)| say(format_args!("skipped {count}: {why}")));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let enough = if has_corpus("merging") { 20 } else { 4 };
    assert!(same >= enough, "only {same} were compared");
}

#[test]
fn a_merge_of_one_recording_is_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let mut compared = 0;
    for recording in fixtures() {
        let Some(before) = script(&recording.path, FIELDS) else { continue };
        // perf 6.1 reads events of later versions in pipes, and not in files.
        let shown = ["file", "pipe"].iter().find_map(|container| {
            let run = merge(&[&recording.path], &output, &["-q", "--container", container]);
            assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{}", recording.name);
            script(&output, FIELDS)
        });
        assert_eq!(shown, Some(before), "{}", recording.name);
        compared += 1;
    }
    assert!(compared >= 12, "only {compared} were compared");
}

fn evlist(path: &Path) -> Vec<String> {
    let run = run_other(with_time_limit("perf").args(["evlist", "--force", "-v", "-i"]).arg(path).env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

#[test]
fn an_event_of_the_same_settings_is_one_whatever_the_container() {
    let folder = tempfile::tempdir().unwrap();
    let (piped, output) = (folder.path().join("piped.data"), folder.path().join("merged.data"));
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
fn events_of_other_fields_get_an_identifier_and_keep_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let names = ["plain.data", "pipe.data", "tracepoints.data"];
    let inputs = names.map(fixture);
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let events = evlist(&output);
    assert!(events.len() >= 7, "{events:?}");
    assert!(events.iter().all(|event| event.contains("IDENTIFIER")), "{events:?}");
}

#[test]
fn tracepoints_of_several_recordings_are_read_by_the_formats_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let inputs = [fixture("tracepoints.data"), fixture("pipe-tracepoints.data"), fixture("lost.data")];
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let fields = "comm,pid,tid,cpu,time,event,trace";
    let all = inputs.iter().map(|input| script(input, fields).expect("perf shows it")).collect();
    let merged = lines(script(&output, fields).expect("perf shows it"));
    assert_eq!(merged, interleaved(all));
    assert!(merged.iter().any(|line| line.contains("prev_comm=")) && merged.iter().any(|line| line.contains("NR 0")));
}

#[test]
fn processes_are_told_apart_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let inputs = [fixture("plain.data"), fixture("tracepoints.data"), fixture("pipe.data")];
    let run = merge(&inputs.each_ref().map(PathBuf::as_path), &output, &["--offset-pids"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let fields = "comm,pid,tid,time,ip,sym,dso";
    let mut expected = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        for Shown { time, line } in script(input, fields).expect("perf shows it") {
            let apart = |task: &str| match task.parse::<u64>() {
                Ok(0) | Err(_) => task.to_owned(),
                Ok(task) => (task + 10_000_000 * number as u64).to_string(),
            };
            let words = line.split(' ').map(|word| match word.split_once('/') {
                Some((pid, tid)) if !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()) => {
                    format!("{}/{}", apart(pid), apart(tid))
                }
                _ => word.to_owned(),
            });
            expected.push(Shown { time, line: words.collect::<Vec<_>>().join(" ") });
        }
    }
    let merged = lines(script(&output, fields).expect("perf shows it"));
    assert_eq!(merged, interleaved(vec![expected]));
}

fn header(path: &Path) -> String {
    let run = run_other(with_time_limit("perf").args(["report", "--header-only", "-i"]).arg(path).env("LC_ALL", "C"));
    String::from_utf8_lossy(&run.stdout).into_owned()
}

#[test]
fn features_that_differ_are_told_or_taken_from_one() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let inputs = [fixture("plain.data"), fixture("compressed.data")];
    let inputs = inputs.each_ref().map(PathBuf::as_path);
    let run = merge(&inputs, &output, &[]);
    assert!(run.stderr.contains("these features differ and are left out: CMDLINE"), "{}", run.stderr);
    let told = header(&output);
    assert!(!told.contains("# cmdline") && told.contains("# hostname"), "{told}");
    let second = inputs[1].to_str().expect("its path is text");
    for chosen in ["2", second] {
        let run = merge(&inputs, &output, &["--features-from", chosen]);
        assert_eq!((run.status, run.stderr.contains("differ")), (0, false), "{}", run.stderr);
        assert!(header(&output).contains("-z3"), "{}", header(&output));
    }
}

#[test]
fn warns_of_a_recording_that_is_merged_twice() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let [copy, json] = ["copy.data", "plain.jsonl"].map(|name| folder.path().join(name));
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

/// What is said of recordings that cannot be merged.
fn refusal(inputs: &[&Path], args: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let run = merge(inputs, &output, args);
    assert!(!output.exists() && fs::read_dir(folder.path()).unwrap().count() == 0, "something was written");
    (run.status, run.stderr)
}

#[test]
fn what_cannot_be_merged_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let plain = fixture("plain.data");
    let changed = |name: &str, of: &str, args: &[&str]| {
        let path = folder.path().join(name);
        let run = run(perfconv().arg("rewrite").arg(fixture(of)).args(["-q", "-o"]).arg(&path).args(args));
        assert_eq!(run.status, 0, "{}", run.stderr);
        path
    };
    let host = changed("host.data", "compressed.data", &["--set", "hostname=elsewhere"]);
    let kernel = changed("kernel.data", "pipe.data", &["--container", "file", "--set", "osrelease=1.2.3"]);
    let machine = changed("machine.data", "tracepoints.data", &["--set", "arch=ppc64le"]);
    let empty = folder.path().join("empty.data");
    fs::write(&empty, "").unwrap();
    for (other, args, status, said) in [
        (&host, &[][..], 1, "it is of the host elsewhere, not of"),
        (&host, &["--align", "wall"], 1, "does not tell how that relates to the wall clock"),
        (&machine, &[], 1, "raw data in"),
        (&fixture("big-endian.data"), &[], 1, "each machine has a clock of its own"),
        (&kernel, &[], 1, "its kernel is 1.2.3, not"),
        (&kernel, &["--kernel-from", "1"], 1, "a clock begins anew when a machine is started"),
        (&empty, &[], 1, "the file is empty"),
        (&folder.path().join("missing.data"), &[], 1, "missing.data"),
        (&host, &["--features-from", "3"], 2, "is none of the 2 recordings"),
        (&host, &["--kernel-from", "other.data"], 2, "is none of the 2 recordings"),
    ] {
        let (got, message) = refusal(&[&plain, other], args);
        assert!(got == status && message.contains(said), "{} {args:?}: {got}: {message}", other.display());
        assert!(message.lines().count() == 1, "more than one line: {message}");
    }
    let (status, message) = refusal(&[Path::new("-"), Path::new("-")], &[]);
    assert_eq!((status, message.contains("cannot be read twice")), (2, true), "{message}");
    let output = folder.path().join("merged.data");
    assert_eq!(merge(&[&plain], &output, &[]).status, 0);
    let exists = run(perfconv().arg("merge").arg(&plain).arg("-o").arg(&output));
    assert_eq!((exists.status, exists.stderr.contains("exists already")), (1, true), "{}", exists.stderr);
    let itself = merge(&[&plain, &output], &output, &[]);
    assert_eq!((itself.status, itself.stderr.contains("is the input")), (1, true), "{}", itself.stderr);
}

#[test]
fn what_is_damaged_is_merged_as_far_as_it_can_be_read_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.data");
    let whole = fs::read(fixture("pipe.data")).unwrap();
    fs::write(&cut, &whole[..whole.len() - 20]).unwrap();
    let output = folder.path().join("merged.data");
    let run = merge(&[&fixture("plain.data"), &cut], &output, &["--strict"]);
    assert_eq!((run.status, run.stderr.contains("cut.data: at offset")), (3, true), "{}", run.stderr);
    assert!(run.stderr.contains("samples in"), "{}", run.stderr);
}

#[test]
fn standard_input_is_merged_and_standard_output_is_a_pipe() {
    let input = fs::File::open(fixture("pipe-compressed.data")).unwrap();
    let run = run(perfconv()
        .args(["merge", "-"])
        .arg(fixture("plain.data"))
        .args(["-q", "-o", "-"])
        .stdin(Stdio::from(input)));
    assert_eq!((run.status, run.stdout.get(8)), (0, Some(&16)), "{}", run.stderr);
    let folder = tempfile::tempdir().unwrap();
    let piped = folder.path().join("piped.data");
    fs::write(&piped, &run.stdout).unwrap();
    let count = |path: &Path| script(path, FIELDS).expect("perf shows it").len();
    assert_eq!(count(&piped), count(&fixture("pipe-compressed.data")) + count(&fixture("plain.data")));
}

#[test]
fn recordings_of_several_machines_are_aligned_by_the_wall_clock() {
    let all = corpus();
    let named = |name: &str| all.iter().find(|recording| recording.name == name);
    let both = [named("own/p61/all-side.data"), named("own/guest-bookworm-amd64/sys-a-all.data")];
    let [Some(one), Some(other)] = both else {
        assert!(all.is_empty(), "the corpus has no recordings with clocks of their own");
        return say(format_args!("aligning by the wall clock: there is no corpus"));
    };
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("merged.data");
    let run = merge(&[&one.path, &other.path], &output, &["--align", "wall", "--kernel-from", "1", "--offset-pids"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let merged = script(&output, "time,event,ip").expect("perf shows it");
    let mut expected = Vec::new();
    for recording in [one, other] {
        let clock = header(&recording.path);
        let shown = script(&recording.path, "time,event,ip").expect("perf shows it");
        assert!(clock.contains("clockid"), "{clock}");
        // How far the first sample is from the others does not change.
        let first = shown[0].time;
        expected.push(shown.iter().map(|shown| shown.time - first).collect::<Vec<_>>());
    }
    assert!(merged.is_sorted_by_key(|shown| shown.time));
    assert_eq!(merged.len(), expected.iter().map(Vec::len).sum::<usize>());
    let (split, year_2020) = (expected[0].len().min(expected[1].len()), 1_577_836_800_000_000_000);
    assert!(split > 0 && merged.iter().all(|shown| shown.time > year_2020), "these are not times of the wall clock");
    // They were made one after the other.
    let (early, late) = if merged.len() - expected[0].len() == expected[1].len() { (0, 1) } else { (1, 0) };
    let of = |times: &[Shown]| times.iter().map(|shown| shown.time - times[0].time).collect::<Vec<_>>();
    let (head, tail) = merged.split_at(expected[early].len());
    let in_order = of(head) == expected[early] && of(tail) == expected[late];
    let (head, tail) = merged.split_at(expected[late].len());
    assert!(in_order || of(head) == expected[late] && of(tail) == expected[early], "times moved against each other");
}
