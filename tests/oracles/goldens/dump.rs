//! `perf report -D`: every record with its fields.

use super::{Enough, Golden, Verdict, any, compare, compare_records, dump_printer, is_big_endian, own};
use crate::common::files::{self, Recording};
use crate::common::program;
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

const VIEW: &str = "perf report -D";

#[test]
fn records_match_dumps_of_newer_perf_versions() {
    let enough = [
        Enough { machines: any, recordings: 335, records: 121_000 },
        Enough { machines: is_big_endian, recordings: 40, records: 12_900 },
    ];
    compare(VIEW, &own(VIEW), compare_newest, &enough);
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr();
    writeln!(out, "{VIEW}: {MISREAD}").unwrap();
}

/// A limitation of dumps of foreign recordings: values that perf misreads are compared as it misreads them.
const MISREAD: &str = "of big-endian recordings perf does not swap prot and flags of MMAP2, the mask of intr regs, CPU, \
                       domain and version of SCHEDSTAT and, before perf 7, scales: compared as it misreads them";

#[test]
fn fixtures_match_dumps_of_the_installed_perf() {
    let fixtures = files::fixtures();
    if installed(&fixtures[0].path).is_none() {
        // Not with the print macros, whose output the test harness captures.
        let mut out = io::stderr();
        writeln!(out, "{VIEW} of the fixtures: perf is not installed").unwrap();
        return;
    }
    let compare_newest =
        |recording: &Recording| installed(&recording.path).map(|golden| compare_with(recording, &golden));
    let enough = [Enough { machines: any, recordings: 12, records: 5_000 }];
    compare(VIEW, &fixtures, compare_newest, &enough);
}

fn compare_newest(recording: &Recording) -> Option<Verdict> {
    Golden::newest(recording, "dump").map(|golden| compare_with(recording, &golden))
}

/// The output of the installed perf, if any.
fn installed(path: &Path) -> Option<Golden> {
    let mut perf = program::with_time_limit("perf");
    perf.args(["report", "-D", "--force", "-i"]).arg(path).stdin(Stdio::null());
    // Otherwise perf would query debuginfod servers, and wait for them.
    perf.env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C");
    let run = program::run_other(&mut perf);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    (run.status != 127).then_some(Golden { text, by: "the installed perf" })
}

/// Fixtures that trigger bugs of other parsers (the tests `known_parser_bugs`), with the recordings of the corpus that they equal.
const KNOWN_BUGS: [(&str, &str); 6] = [
    ("group-read.data", "own/guest-bookworm-arm64/group-S.data"),
    ("page-sizes.data", "own/p612/shim-alltypes2.data"),
    ("pipe-grouped.data", "own/p612/pipe-many.data"),
    ("pipe-tracepoints.data", "own/p61/pipe-tp-z.data"),
    ("threads.dir", "own/p61/threads.dir"),
    ("weight.data", "own/p612/weight-txn.data"),
];

#[test]
fn fixtures_that_trigger_bugs_of_other_parsers_match_dumps() {
    for (fixture, own) in KNOWN_BUGS {
        note!("{fixture}: {}", agreement(fixture, own));
    }
    note!("lost.data: {}", order_agreement("lost.data"));
}

/// Compares a fixture with perf's dump, the golden of the same recording in the corpus or else of the installed perf. Returns a
/// summary, or why there is nothing to compare with.
fn agreement(fixture: &str, own: &str) -> String {
    let path = files::fixture(fixture);
    let golden = files::corpus().iter().find(|recording| recording.name == own).and_then(|r| Golden::newest(r, "dump"));
    let Some(golden) = golden.or_else(|| installed(&path)) else { return "perf is not installed".into() };
    let recording = Recording { name: fixture.into(), path, listed_samples: None };
    match compare_with(&recording, &golden) {
        Verdict::Same { by, records, values } => format!("{records} records with {values} values match {by}"),
        Verdict::Skipped(reason) => format!("not compared with {}: {reason}", golden.by),
        Verdict::Differs(what) => panic!("{fixture}: {what}"),
    }
}

/// Same, for the time order of records.
fn order_agreement(fixture: &str) -> String {
    let path = files::fixture(fixture);
    let Some(golden) = installed(&path) else { return "perf is not installed".into() };
    let is_timed = |record: &&String| time(record).is_some_and(|time| time > 0);
    let text = golden.text.split(TOTALS).next().expect("the first part should exist");
    let (theirs, ours) = (parse(text), dump_printer::in_order(&path).expect("the fixture should be readable"));
    let (theirs, ours): (Vec<_>, Vec<_>) =
        (theirs.iter().filter(is_timed).collect(), ours.iter().filter(is_timed).collect());
    assert!(!theirs.is_empty(), "{fixture}: perf dumps no records with times");
    let differing = theirs.iter().zip(&ours).find(|(theirs, ours)| theirs != ours);
    assert!(
        differing.is_none() && theirs.len() == ours.len(),
        "{fixture}: the order differs from perf's: {differing:#?}"
    );
    format!("{} records are in the order of {}", ours.len(), golden.by)
}

/// The time of a record: the word before its offset.
fn time(record: &str) -> Option<u64> {
    record.split_once(" 0x")?.0.split(' ').next_back()?.parse().ok()
}

fn compare_with(recording: &Recording, golden: &Golden) -> Verdict {
    let Some((records, _)) = golden.text.split_once(TOTALS) else {
        return Verdict::Skipped("perf stops before the end".into());
    };
    let theirs = parse(records);
    if theirs.is_empty() {
        return Verdict::Skipped("perf finds no records".into());
    }
    match dump_printer::records(&recording.path) {
        Ok(ours) => compare_records(golden.by, &theirs, &ours),
        Err(error) => Verdict::Differs(error.to_string()),
    }
}

/// The start of perf's summary, which is missing if perf stopped early.
const TOTALS: &str = "\nAggregated stats:";

/// The records of a dump, each as the words of its lines.
fn parse(text: &str) -> Vec<String> {
    let mut records: Vec<String> = Vec::new();
    for line in text.lines() {
        // perf 6.1 misspells a name.
        let line = &line.trim_end_matches(": unhandled!").replace("Muliplier", "Multiplier");
        if line.contains("]: PERF_RECORD_") {
            // Newer versions also print attrs and features of pipes here. They are compared in `header`.
            let line = if line.contains("PERF_RECORD_ATTR") || line.contains("PERF_RECORD_FEATURE") {
                line.split([',', '#']).next().expect("the first part should exist")
            } else {
                line
            };
            // perf prints the symbol of a TEXT_POKE's address, if it finds one.
            let is_name = |word: &&str| line.contains("PERF_RECORD_TEXT_POKE") && word.contains("+0x");
            records.push(line.split_whitespace().filter(|word| !is_name(word)).collect::<Vec<_>>().join(" "));
        } else if let (false, Some(record)) = (is_not_of_record(line), records.last_mut()) {
            let is_register = line.starts_with(".... ") && line.contains(" 0x");
            for word in line.split_whitespace().skip(if is_register { 2 } else { 0 }) {
                // Newer versions print names of call-chain contexts and registers.
                if !word.starts_with("(PERF_CONTEXT_") {
                    record.push(' ');
                    record.push_str(word);
                }
            }
        }
    }
    records
}

/// Whether a line is not part of the record: its offset, its bytes, or what perf derives from it.
fn is_not_of_record(line: &str) -> bool {
    let starts = [".  ", ". ...", "#", " ... thread:", " ...... dso:", "...... (deferred)"];
    line.is_empty() || line == "." || line.contains("]: event: ") || starts.iter().any(|start| line.starts_with(start))
}
