//! `perfconv split`: perf prints the same samples for the merged parts as for the original, and each part is valid.

use crate::common::files::{Recording, has_corpus, recordings, uses_all};
use crate::common::oracle::has_program;
use crate::common::perf_script::script_by_perf;
use crate::common::program::{for_each, perfconv, run};
use crate::common::split::{parts, split, split_by_process};
use perf_data::container::read::{ReadOptions, input::Input};
use perfconv::inspect::check::{Severity, check};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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
        fields.iter().find_map(|fields| Some((path, fields, script_by_perf(path, fields)?)))
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
        if let Some(samples) = script_by_perf(&merged, fields) {
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
        note!("--by {by}: {parts} parts of {count} recordings, merged, match perf 6.1, {lines} lines");
    }
    skipped.iter().for_each(|(why, count)| note!("skipped {count}: {why}"));
    assert!(differing.is_empty(), "{}:\n{}", differing.len(), differing.join("\n"));
    let compared: usize = same.values().map(|(count, _, _)| count).sum();
    let enough = if has_corpus("splitting") { 40 } else { 12 };
    assert!(compared >= enough && same.len() >= 6, "compared only {compared} recordings, by {} kinds", same.len());
}

#[test]
fn perf_prints_the_parts_of_each_process() {
    if has_program("perf") {
        split_by_process(script_by_perf);
    }
}
