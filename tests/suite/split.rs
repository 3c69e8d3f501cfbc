//! `perfconv split`: perf prints the same samples for the merged parts as for the original, and each part is valid.

use crate::suite::files::{Recording, fixture, has_corpus, recordings, uses_all};
use crate::suite::perf_script::script;
use crate::suite::program::{Run, for_each, perfconv, run};
use perf_data::container::read::{ReadOptions, input::Input};
use perfconv::inspect::check::{Severity, check};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Arguments;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn print_note(line: Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error should be writable");
}

fn split(input: &Path, output: &Path, by: &str, args: &[&str]) -> Run {
    run(perfconv().arg("split").arg(input).args(["-q", "--by", by]).args(args).arg("-o").arg(output))
}

/// The parts in a directory, sorted by name.
fn parts(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory of parts");
    let mut parts: Vec<_> = entries.map(|entry| entry.expect("the directory should be listable").path()).collect();
    parts.sort();
    parts
}

/// The rules that a recording breaks, except those that are notes.
fn broken_rules(path: &Path) -> BTreeSet<String> {
    let mut rules = BTreeSet::new();
    check(Input::Path(path.to_owned()), ReadOptions::default(), &mut |finding| {
        if finding.rule.severity() != Severity::Note {
            rules.insert(format!("{:?}", finding.rule));
        }
    })
    .expect("reading should succeed");
    rules
}

const KINDS: [&str; 8] = ["time=10%", "pid", "samples=20", "comm", "time=1ms", "tid", "event", "size=10K"];

enum Outcome {
    Same { by: &'static str, lines: usize, parts: usize },
    Skipped(String),
    Differs(String),
}

fn compare(recording: &Recording, by: &'static str) -> Outcome {
    let fields = ["comm,pid,tid,cpu,time,event,ip,sym,dso,period", "comm,pid,tid,time,event,ip,sym,dso"];
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, merged) = (dir.path().join("parts"), dir.path().join("merged.data"));
    // Convert recordings of newer perf versions for perf 6.1.
    let older = dir.path().join("older.data");
    let samples = [&recording.path, &older].into_iter().find_map(|path| {
        if path == &older {
            let args = ["--perf-version", "6.1", "-q", "-o"];
            run(perfconv().arg("rewrite").arg(&recording.path).args(args).arg(&older));
        }
        fields.iter().find_map(|fields| Some((path, fields, script(path, fields)?)))
    });
    let Some((input, fields, mut before)) = samples else {
        return Outcome::Skipped("perf 6.1 prints no samples".to_owned());
    };
    let by = if by == "tid" && fields.contains("cpu") { "cpu" } else { by };
    let run_split = split(input, &output, by, &["-f"]);
    if run_split.status != 0 {
        let why = run_split.stderr.trim().to_owned();
        let is_known = why.contains("do not record") || why.contains("does not record") || why.contains("AUX area");
        return match is_known {
            true => Outcome::Skipped(format!("{by}: samples lack the field, or there is an AUX area")),
            false => Outcome::Differs(format!("{} {by}: {why}", recording.name)),
        };
    }
    let parts = parts(&output);
    let mut after = Vec::new();
    // perf 6.1 reads events of later versions in pipes, but not in files.
    for container in ["file", "pipe"] {
        let args = ["merge", "-f", "-q", "--container", container, "-o"];
        let run_merge = run(perfconv().args(args).arg(&merged).args(&parts));
        if run_merge.status != 0 {
            return Outcome::Differs(format!("{} {by}: merging: {}", recording.name, run_merge.stderr));
        }
        if let Some(samples) = script(&merged, fields) {
            after = samples;
            break;
        }
    }
    if by.split_once('=').is_none() {
        // Samples with equal times are in the order of the parts.
        before.sort();
        after.sort();
    }
    if before != after {
        let what = format!("{} {by}: {} lines, expected {}", recording.name, after.len(), before.len());
        return Outcome::Differs(what);
    }
    let original = broken_rules(input);
    for part in [&parts[0], &parts[parts.len() / 2], &merged] {
        let new: Vec<_> = broken_rules(part).difference(&original).cloned().collect();
        if !new.is_empty() {
            return Outcome::Differs(format!("{} {by}: {} breaks {new:?}", recording.name, part.display()));
        }
    }
    Outcome::Same { by, lines: after.len(), parts: parts.len() }
}

#[test]
fn merged_parts_print_as_the_original() {
    let all = recordings();
    let is_all = uses_all();
    let share = if is_all || !has_corpus("splitting") { 1 } else { 12 };
    let of_each = if is_all { KINDS.len() } else { 1 };
    let selected =
        all.iter().enumerate().filter(|(index, recording)| index % share == 0 || !recording.name.contains('/'));
    let pairs = selected.enumerate().flat_map(|(number, (_, recording))| {
        (0..of_each).map(move |offset| (recording, KINDS[(number + offset) % KINDS.len()]))
    });
    let pairs: Vec<_> = pairs.collect();
    let (mut same, mut skipped, mut differing) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for outcome in for_each(&pairs, |(recording, by)| compare(recording, by)) {
        match outcome {
            Outcome::Same { by, lines, parts } => {
                let (count, all_lines, all_parts) = same.entry(by).or_insert((0, 0, 0));
                (*count, *all_lines, *all_parts) = (*count + 1, *all_lines + lines, *all_parts + parts);
            }
            Outcome::Skipped(why) => *skipped.entry(why).or_insert(0) += 1,
            Outcome::Differs(what) => differing.push(what),
        }
    }
    for (by, (count, lines, parts)) in &same {
        print_note(format_args!(
            "--by {by}: {parts} parts of {count} recordings, merged, match perf 6.1, {lines} lines"
        ));
    }
    skipped.iter().for_each(|(why, count)| print_note(format_args!("skipped {count}: {why}")));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let compared: usize = same.values().map(|(count, _, _)| count).sum();
    let enough = if has_corpus("splitting") { 40 } else { 12 };
    assert!(compared >= enough && same.len() >= 6, "compared only {compared} recordings, by {} kinds", same.len());
}

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
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("parts");
    let fields = "comm,pid,tid,time,event,ip,sym,dso";
    let original = script(&fixture("system-wide.data"), fields);
    for (by, args) in
        [("pid", &["--compress"][..]), ("pid", &["--container", "pipe", "-f"]), ("pid", &["--container", "dir", "-f"])]
    {
        let run = split(&fixture("system-wide.data"), &output, by, args);
        assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
        if by == "pid"
            && let Some(original) = &original
        {
            let mut all = Vec::new();
            for part in parts(&output) {
                let samples = script(&part, fields).expect("perf should print it");
                let name = part.file_stem().unwrap().to_str().unwrap().to_owned();
                let pid: i64 = name.strip_prefix("pid-").unwrap().parse().unwrap();
                let of_pid = format!(" {pid}/");
                assert!(samples.iter().all(|samples| samples.line.contains(&of_pid)), "{name}: {samples:?}");
                all.extend(samples);
            }
            all.sort();
            let mut original = original.clone();
            original.sort();
            assert_eq!(all, original, "{args:?}");
        }
    }
    // Of 60 processes, described in 127 kB, a part needs only one and its ancestors.
    let sizes: Vec<_> =
        parts(&output).iter().map(|part| part.join("data")).map(|part| fs::metadata(part).unwrap().len()).collect();
    let total = fs::metadata(fixture("system-wide.data")).unwrap().len();
    assert!(sizes.iter().all(|&size| size < total * 3 / 4), "{sizes:?} of {total}");
}

#[test]
fn many_parts_need_force() {
    let dir = tempfile::tempdir().unwrap();
    let (merged, output) = (dir.path().join("merged.data"), dir.path().join("parts"));
    let plain = fixture("killed.data");
    let repaired = run(perfconv().arg("repair").arg(&plain).args(["-q", "--perf-version", "6.1", "-o"]).arg(&merged));
    assert_eq!(repaired.status, 0, "{}", repaired.stderr);
    let rejected = split(&merged, &output, "samples=1", &[]);
    assert_eq!(rejected.status, 1, "{}", rejected.stderr);
    assert!(rejected.stderr.contains("the split would create 1024 parts; use -f"), "{}", rejected.stderr);
    assert!(!output.exists() && fs::read_dir(dir.path()).unwrap().count() == 1, "files were written");
    let written = split(&merged, &output, "samples=1", &["-f"]);
    assert_eq!((written.status, parts(&output).len()), (0, 1024), "{}", written.stderr);
    assert_eq!(script(&parts(&output)[1000], "pid,time,ip").map(|samples| samples.len()), Some(1));
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
