//! Profiles in the format of Callgrind, read by callgrind_annotate.

use super::files::{self, Recording};
use super::program::{note_missing_oracle, perfconv, run, run_other, with_time_limit};
use super::totals::{self, Totals};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const ORACLE: &str = "callgrind_annotate";

fn has_oracle() -> bool {
    let has_oracle = run_other(Command::new("sh").args(["-c", "command -v callgrind_annotate"])).status == 0;
    if !has_oracle {
        note_missing_oracle(ORACLE);
    }
    has_oracle
}

fn convert(recording: &Path, output: &Path, args: &[&str]) -> Result<String, String> {
    let run = run(perfconv().arg(recording).arg("-o").arg(output).args(["-f", "-q"]).args(args));
    if run.status != 0 {
        return Err(run.stderr);
    }
    Ok(String::from_utf8_lossy(&fs::read(output).expect("an output")).into_owned())
}

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
    if !has_oracle() {
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
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        // Events can have the same name.
        events
            .split(' ')
            .zip(costs(total).0)
            .for_each(|(event, cost)| *found.entry(event.to_owned()).or_default() += cost);
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for ((_, event), (_, value)) in expected {
            *sums.entry(event.replace([',', ' '], "_")).or_default() += value;
        }
        if found == sums { Ok(()) } else { Err(format!("{found:?}, expected {sums:?}")) }
    });
}

/// The functions of a report, by name, file with the code and source file.
fn report(recording: &Path, files: &str) -> Vec<Value> {
    let mut command = perfconv();
    command.arg("report").arg(recording);
    command.args(["--symfs", files, "--json", "-q", "--sort", "sym,dso,srcfile"]);
    let report: Value = serde_json::from_slice(&run(&mut command).stdout).expect("JSON");
    report["entries"].as_array().expect("entries").clone()
}

/// The first cost of each function with that of its calls, by object, source file and name.
fn inclusive_costs(text: &str) -> BTreeMap<[String; 3], u64> {
    let mut names: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    let mut place = ["", "", ""];
    let mut costs = BTreeMap::new();
    for line in text.lines().skip_while(|line| !line.starts_with("summary: ")).skip(1) {
        let Some((key, value)) = line.split_once('=') else {
            if let Some(cost) = line.split(' ').nth(1) {
                *costs.entry(place.map(str::to_owned)).or_default() += cost.parse::<u64>().expect("a cost");
            }
            continue;
        };
        // (NUMBER) NAME, or (NUMBER) of a known name.
        let kind = ["ob", "fl", "fn"].into_iter().position(|kind| key.trim_start_matches('c') == kind);
        let kind = kind.or((key == "cfi").then_some(1));
        let Some(kind) = kind else { continue };
        let (number, name) = value.split_once(") ").unwrap_or((value.trim_end_matches(')'), ""));
        let kinds = ["ob", "fl", "fn"];
        let name = if name.is_empty() { names[&(kinds[kind], number)] } else { name };
        names.insert((kinds[kind], number), name);
        if !key.starts_with('c') {
            place[kind] = name;
        }
    }
    costs
}

#[test]
fn own_costs_and_those_of_calls_are_inclusive_costs() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.callgrind");
    let mut compared = 0;
    for name in ["words.data", "cxx.data", "c.data", "dwarf.data", "both.data"] {
        let files = symbols.join("files").display().to_string();
        let found = inclusive_costs(&convert(&symbols.join(name), &output, &["--symfs", &files]).expect("a profile"));
        let report = report(&symbols.join(name), &files);
        for entry in &report {
            let field = |name: &str| entry[name].as_str().filter(|text| !text.is_empty()).unwrap_or("???").to_owned();
            let cost = found.get(&[field("dso"), field("srcfile"), field("sym")]).copied();
            assert_eq!(cost, entry["total"]["value"].as_u64(), "{name}: {entry}");
        }
        assert_eq!(found.len(), report.len(), "{name}");
        compared += report.len();
    }
    eprintln!("callgrind: {compared} inclusive costs are those of the report");
    assert!(compared > 80, "{compared}");
}

#[test]
fn own_costs_are_those_of_the_report() {
    if !has_oracle() {
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
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for line in table.lines().skip(2).take_while(|line| !line.is_empty()) {
            let (numbers, place) = costs(line);
            // FILE:FUNCTION [OBJECT]
            let place = place.rsplit_once(" [").map_or(place, |(place, _)| place);
            *found.entry(place.to_owned()).or_default() += numbers.first().copied().unwrap_or(0);
        }
        for entry in &report {
            let expected = entry["self"]["value"].as_u64().expect("a value");
            let file = entry["srcfile"].as_str().filter(|file| !file.is_empty()).unwrap_or("???");
            let place = format!("{file}:{}", entry["sym"].as_str().unwrap_or_default());
            let shown = found.get(&place).copied().unwrap_or(0);
            assert_eq!(shown, expected, "{name}: {place}: {found:#?}");
            compared += 1;
        }
    }
    eprintln!("callgrind: {compared} costs of functions are those of the report");
    assert!(compared > 50, "{compared}");
}
