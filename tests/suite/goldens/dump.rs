//! `perf report -D`: every record with its fields.

use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

use super::super::files::{self, Recording};
use super::super::program;
use super::{Enough, Golden, Verdict, any, compare, dumped, is_big_endian, judged, own};

const VIEW: &str = "perf report -D";

#[test]
fn records_are_what_newer_perfs_dump() {
    let enough = [
        Enough { machines: any, recordings: 335, records: 121_000 },
        Enough { machines: is_big_endian, recordings: 40, records: 12_900 },
    ];
    compare(VIEW, &own(VIEW), judge, &enough);
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr();
    writeln!(out, "{VIEW}: {MISREAD}").unwrap();
}

/// What a dump of a foreign recording proves little of: the values are compared as perf misreads them.
const MISREAD: &str = "of big-endian recordings perf does not swap prot and flags of MMAP2, the mask of intr regs, CPU, \
                       domain and version of SCHEDSTAT and, before perf 7, scales: compared as it misreads them";

#[test]
fn fixtures_are_what_the_installed_perf_dumps() {
    let fixtures = files::fixtures();
    if installed(&fixtures[0].path).is_none() {
        // Not through the macros, whose output the test harness hides when the test passes.
        let mut out = io::stderr();
        writeln!(out, "{VIEW} of the fixtures: perf is not installed").unwrap();
        return;
    }
    let judge = |recording: &Recording| installed(&recording.path).map(|golden| judged_by(recording, &golden));
    let enough = [Enough { machines: any, recordings: 12, records: 5_000 }];
    compare(VIEW, &fixtures, judge, &enough);
}

fn judge(recording: &Recording) -> Option<Verdict> {
    Golden::newest(recording, "dump").map(|golden| judged_by(recording, &golden))
}

/// What the perf on this machine says, if there is one.
fn installed(path: &Path) -> Option<Golden> {
    let mut perf = program::with_time_limit("perf");
    perf.args(["report", "-D", "--force", "-i"]).arg(path).stdin(Stdio::null());
    // A server that is asked for symbols would be waited for.
    perf.env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C");
    let run = program::run_other(&mut perf);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    (run.status != 127).then_some(Golden { text, by: "the installed perf" })
}

/// How many records of a fixture are what perf dumps of it, the perf of the golden of the same recording in the corpus, or
/// else the installed one; or why there is nothing to compare with.
pub fn agreement(fixture: &str, own: &str) -> String {
    let path = files::fixture(fixture);
    let golden = files::corpus().iter().find(|recording| recording.name == own).and_then(|r| Golden::newest(r, "dump"));
    let Some(golden) = golden.or_else(|| installed(&path)) else { return "perf is not installed".into() };
    let recording = Recording { name: fixture.into(), path, listed_samples: None };
    match judged_by(&recording, &golden) {
        Verdict::Same { by, records, values } => format!("{records} records with {values} values as {by} dumps them"),
        Verdict::Skipped(reason) => format!("not compared with {}: {reason}", golden.by),
        Verdict::Differs(what) => panic!("{fixture}: {what}"),
    }
}

/// The same of the order in time.
pub fn order_agreement(fixture: &str) -> String {
    let path = files::fixture(fixture);
    let Some(golden) = installed(&path) else { return "perf is not installed".into() };
    let is_timed = |record: &&String| time(record).is_some_and(|time| time > 0);
    let text = golden.text.split(TOTALS).next().expect("there is a first part");
    let (theirs, ours) = (parse(text), dumped::in_order(&path).expect("the fixture can be read"));
    let (theirs, ours): (Vec<_>, Vec<_>) =
        (theirs.iter().filter(is_timed).collect(), ours.iter().filter(is_timed).collect());
    assert!(!theirs.is_empty(), "{fixture}: perf dumps no records with times");
    let differing = theirs.iter().zip(&ours).find(|(theirs, ours)| theirs != ours);
    assert!(differing.is_none() && theirs.len() == ours.len(), "{fixture}: perf's order is not ours: {differing:#?}");
    format!("{} records in the order of {}", ours.len(), golden.by)
}

/// When a record was written: the word before the place in the file.
fn time(record: &str) -> Option<u64> {
    record.split_once(" 0x")?.0.split(' ').next_back()?.parse().ok()
}

fn judged_by(recording: &Recording, golden: &Golden) -> Verdict {
    let Some((records, _)) = golden.text.split_once(TOTALS) else {
        return Verdict::Skipped("perf stops before the end".into());
    };
    let theirs = parse(records);
    if theirs.is_empty() {
        return Verdict::Skipped("perf finds no record in it".into());
    }
    match dumped::records(&recording.path) {
        Ok(ours) => judged(golden.by, &theirs, &ours),
        Err(error) => Verdict::Differs(error.to_string()),
    }
}

/// What perf ends with, unless it stopped where it could not go on.
const TOTALS: &str = "\nAggregated stats:";

/// The records in a dump, each as the words of its lines.
fn parse(text: &str) -> Vec<String> {
    let mut records: Vec<String> = Vec::new();
    for line in text.lines() {
        // perf 6.1 misspells a name.
        let line = &line.trim_end_matches(": unhandled!").replace("Muliplier", "Multiplier");
        if line.contains("]: PERF_RECORD_") {
            // Newer perfs tell attrs and features of pipes here, too. They are compared with those of the header.
            let line = if line.contains("PERF_RECORD_ATTR") || line.contains("PERF_RECORD_FEATURE") {
                line.split([',', '#']).next().expect("there is a first part")
            } else {
                line
            };
            // The code that a TEXT_POKE is about has a name, where perf finds one.
            let is_name = |word: &&str| line.contains("PERF_RECORD_TEXT_POKE") && word.contains("+0x");
            records.push(line.split_whitespace().filter(|word| !is_name(word)).collect::<Vec<_>>().join(" "));
        } else if let (false, Some(record)) = (is_not_of_the_record(line), records.last_mut()) {
            let is_register = line.starts_with(".... ") && line.contains(" 0x");
            for word in line.split_whitespace().skip(if is_register { 2 } else { 0 }) {
                // Marks of call chains have names in newer perfs, and registers have.
                if !word.starts_with("(PERF_CONTEXT_") {
                    record.push(' ');
                    record.push_str(word);
                }
            }
        }
    }
    records
}

/// Lines that tell where a record is, its bytes, or what perf makes of it.
fn is_not_of_the_record(line: &str) -> bool {
    let starts = [".  ", ". ...", "#", " ... thread:", " ...... dso:", "...... (deferred)"];
    line.is_empty() || line == "." || line.contains("]: event: ") || starts.iter().any(|start| line.starts_with(start))
}
