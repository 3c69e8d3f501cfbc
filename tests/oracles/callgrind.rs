//! Profiles in the format of Callgrind, read by callgrind_annotate.

use crate::common::callgrind::{convert, report};
use crate::common::files::{self, Recording};
use crate::common::oracle::has_program;
use crate::common::program::{run_other, with_time_limit};
use crate::common::totals::{self, Totals};
use std::collections::BTreeMap;
use std::path::Path;

const ORACLE: &str = "callgrind_annotate";

fn annotate(output: &Path, args: &[&str]) -> Result<String, String> {
    let run = run_other(
        with_time_limit(ORACLE).args(["--auto=no", "--show-percs=no", "--threshold=100"]).args(args).arg(output),
    );
    if run.status == 0 { Ok(String::from_utf8_lossy(&run.stdout).into_owned()) } else { Err(run.stderr) }
}

/// The numbers at the start of a line, and the rest of it.
fn costs(line: &str) -> (Vec<u64>, &str) {
    let (mut numbers, mut rest) = (Vec::new(), line.trim_start());
    while let Some((word, after)) = rest.split_once(' ')
        && (word == "." || word.starts_with(|char: char| char.is_ascii_digit()))
    {
        numbers.push(word.replace(',', "").parse().unwrap_or(0));
        rest = after.trim_start();
    }
    (numbers, rest)
}

#[test]
fn callgrind_annotate_totals_equal_the_profile() {
    if !has_program(ORACLE) {
        return;
    }
    let recordings: Vec<Recording> = files::recordings();
    let enough = if files::has_corpus("callgrind") { 500 } else { 20 };
    totals::compare("callgrind_annotate", &recordings, enough, |recording, expected: &Totals| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = directory.path().join("out.callgrind");
        let text = convert(&recording.path, &output, &["--symbols", "no"])?;
        let events = text.lines().find_map(|line| line.strip_prefix("events: ")).ok_or("no events")?;
        let annotated = annotate(&output, &[])?;
        let total = annotated.lines().find(|line| line.ends_with("PROGRAM TOTALS")).ok_or("no totals")?;
        let mut totals: BTreeMap<String, u64> = BTreeMap::new();
        // Events can have the same name.
        events
            .split(' ')
            .zip(costs(total).0)
            .for_each(|(event, cost)| *totals.entry(event.to_owned()).or_default() += cost);
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for ((_, event), (_, value)) in expected {
            *sums.entry(event.replace([',', ' '], "_")).or_default() += value;
        }
        if totals == sums { Ok(()) } else { Err(format!("{totals:?}, expected {sums:?}")) }
    });
}

#[test]
fn own_costs_are_those_of_the_report() {
    if !has_program(ORACLE) {
        return;
    }
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.callgrind");
    let mut compared = 0;
    for name in ["words.data", "cxx.data", "c.data"] {
        let files = symbols.join("files").display().to_string();
        convert(&symbols.join(name), &output, &["--symfs", &files]).expect("a profile");
        let report = report(&symbols.join(name), &files);
        let annotated = annotate(&output, &[]).expect("an annotated profile");
        let table = annotated.split("file:function").nth(1).unwrap_or_default();
        let mut functions: BTreeMap<String, u64> = BTreeMap::new();
        for line in table.lines().skip(2).take_while(|line| !line.is_empty()) {
            let (numbers, function) = costs(line);
            // FILE:FUNCTION [OBJECT]
            let function = function.rsplit_once(" [").map_or(function, |(function, _)| function);
            *functions.entry(function.to_owned()).or_default() += numbers.first().copied().unwrap_or(0);
        }
        for entry in &report {
            let expected = entry["self"]["value"].as_u64().expect("a value");
            let file = entry["srcfile"].as_str().filter(|file| !file.is_empty()).unwrap_or("???");
            let function = format!("{file}:{}", entry["sym"].as_str().unwrap_or_default());
            let shown = functions.get(&function).copied().unwrap_or(0);
            assert_eq!(shown, expected, "{name}: {function}: {functions:#?}");
            compared += 1;
        }
    }
    note!("callgrind: {compared} costs of functions are those of the report");
    assert!(compared > 50, "{compared}");
}
