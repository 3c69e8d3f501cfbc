//! `-t csv`: tables in a directory, whose totals match the recording.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::events::Event;
use perf_data::stream::source::Source;
use perfconv::inspect::info::{Parts, read_info};
use tempfile::tempdir;

use crate::common::files::{self, Recording, fixture};
use crate::common::program::{self, perfconv, run};

const FILES: [&str; 4] = ["overview.csv", "processes.csv", "results.csv", "stat.csv"];

/// The rows of a table, as maps from column names to values.
fn rows(dir: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let mut table = csv::Reader::from_path(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    table.deserialize().map(|row| row.unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} is not a number: {row:?}"))
}

fn sum(rows: &[BTreeMap<String, String>], column: &str) -> u64 {
    rows.iter().map(|row| number(row, column)).sum()
}

/// Checks the tables of a recording. Returns the numbers of records and samples; `None` if no record is readable.
fn check_tables(recording: &Recording) -> Result<Option<[u64; 2]>, String> {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tables");
    let converted = run(perfconv().arg(&recording.path).args(["-t", "csv", "-o"]).arg(&path));
    if converted.status != 0 {
        let is_unreadable = run(perfconv().arg("dump").arg(&recording.path).args(["--head", "1"])).status != 0;
        return if is_unreadable { Ok(None) } else { Err(converted.stderr) };
    }
    let mut names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let has_counters = names.contains(&"counters.csv".into());
    names.retain(|name| name != "counters.csv" && name != "accesses.csv");
    if names != FILES {
        return Err(format!("unexpected files {names:?}"));
    }
    let [overview, processes, results, stat] = FILES.map(|name| rows(&path, name));
    let (records, ledger) = (sum(&stat, "records"), converted.ledger()?);
    if has_counters != stat.iter().any(|row| row["type"] == "STAT") {
        return Err(format!("{names:?} and counters.csv: {has_counters}"));
    }
    if overview.len() as u64 != records {
        return Err(format!("{} rows of {records} records", overview.len()));
    }
    let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
    overview.iter().for_each(|row| *by_type.entry(&row["type"]).or_default() += 1);
    let listed: BTreeMap<&str, u64> = stat.iter().map(|row| (&*row["type"], number(row, "records"))).collect();
    if by_type != listed || by_type.get("SAMPLE").copied().unwrap_or(0) != ledger.samples_in {
        return Err(format!("{by_type:?} in the overview, {listed:?} by type, {} samples", ledger.samples_in));
    }
    let times: Vec<u64> = overview.iter().filter_map(|row| row["time"].parse().ok()).collect();
    let is_in_rounds = by_type.contains_key("FINISHED_ROUND");
    if !times.is_sorted() && !is_in_rounds {
        return Err("the overview is not in time order".into());
    }
    // Samples without a process are in no row of the processes table.
    let (of_processes, in_results) = (sum(&processes, "samples"), sum(&results, "samples"));
    if of_processes > in_results {
        return Err(format!("{of_processes} samples of processes, {in_results} in results"));
    }
    // A sample with counter values counts for several events, or for none.
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let info = source.and_then(|source| read_info(source, Parts { stats: true, ..Parts::default() }));
    let info = info.map_err(|error| error.to_string())?;
    let has_values = |event: &Event| event.attr.sample_type.contains(SampleType::READ);
    if in_results != ledger.samples_out && !info.meta.events.list().iter().any(has_values) {
        return Err(format!("{in_results} samples in results, {} in total", ledger.samples_out));
    }
    let mut of_events: BTreeMap<&str, u64> = BTreeMap::new();
    results.iter().for_each(|row| *of_events.entry(&row["event"]).or_default() += number(row, "samples"));
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    let stats = info.stats.ok_or("no statistics")?;
    stats.samples.iter().for_each(|of| *counted.entry(&of.event).or_default() += of.samples);
    counted.retain(|_, samples| *samples > 0);
    if ledger.dropped == 0 && counted != of_events {
        return Err(format!("{of_events:?} in results, {counted:?} counted"));
    }
    Ok(Some([records, ledger.samples_out]))
}

#[test]
fn totals_of_all_tables_agree() {
    let recordings: Vec<Recording> = files::recordings();
    let results = program::for_each(&recordings, check_tables);
    let (mut sums, mut unreadable, mut failures) = ([0; 3], 0, Vec::new());
    for (recording, result) in recordings.iter().zip(results) {
        match result {
            Ok(Some([records, samples])) => {
                sums.iter_mut().zip([1, records, samples]).for_each(|(sum, more)| *sum += more);
            }
            Ok(None) => unreadable += 1,
            Err(what) => failures.push(format!("{}: {what}", recording.name)),
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    let [tables, records, samples] = sums;
    writeln!(out, "csv: {records} records, {samples} samples in the tables of {tables} recordings").unwrap();
    writeln!(out, "csv: {unreadable} recordings skipped: no readable record").unwrap();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    let enough = if files::has_corpus("csv") { 540 } else { 20 };
    assert!(tables >= enough, "checked only the tables of {tables} recordings, expected {enough}");
}

#[test]
fn tables_list_processes_and_their_code() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tables");
    let done = run(perfconv().arg(fixture("callgraph.data")).args(["-t", "csv", "-o"]).arg(&path));
    assert_eq!(done.ledger().unwrap().samples_out, 377);
    let [overview, processes, results, stat] = FILES.map(|name| rows(&path, name));
    let row = |row: &BTreeMap<String, String>| row.values().cloned().collect::<Vec<_>>().join(" ");
    assert_eq!(fs::read_to_string(path.join("stat.csv")).unwrap().lines().next(), Some("type,records,bytes"));
    assert!(stat.iter().any(|of| of["type"] == "SAMPLE" && of["bytes"] == "36048"));
    let process = &processes[0];
    assert_eq!((&*process["pid"], &*process["name"], &*process["samples"]), ("21998", "loop-pie", "377"));
    assert_eq!((&*process["maps"], &*process["period"], &*process["fork_time"]), ("4", "94250000", ""));
    assert!(!process["exit_time"].is_empty());
    assert!(results.iter().any(|of| of["dso"] == "loop-pie" && of["file"] == "/tmp/corpus/own/bin/loop-pie"));
    assert!(results.iter().any(|of| of["dso"] == "[kernel.kallsyms]" && of["address"].starts_with("0xffffffff8")));
    assert!(results.windows(2).all(|pair| number(&pair[0], "samples") >= number(&pair[1], "samples")));
    let exec =
        overview.iter().find(|of| of["type"] == "COMM" && of["info"] == "loop-pie").expect("the program should start");
    assert_eq!((&*exec["pid"], &*exec["time"]), ("21998", "1806623971598"), "{}", row(exec));
}

#[test]
fn force_replaces_only_tables() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("tables");
    let convert = |options: &[&str]| {
        run(perfconv().arg(fixture("plain.data")).args(["-t", "csv", "-o"]).arg(&path).args(options))
    };
    assert_eq!(convert(&[]).status, 0);
    assert!(convert(&[]).failure().unwrap().contains("already exists"));
    assert_eq!(convert(&["-f"]).status, 0);
    fs::write(path.join("precious"), "").unwrap();
    let rejected = convert(&["-f"]);
    assert!(rejected.failure().unwrap().contains("is a directory with other contents"), "{}", rejected.stderr);
    fs::write(dir.path().join("file"), "precious").unwrap();
    let onto_file =
        run(perfconv().current_dir(&dir).arg(fixture("plain.data")).args(["-t", "csv", "-f", "-o", "file"]));
    assert!(onto_file.failure().unwrap().contains("is a file, but the output is a directory"), "{}", onto_file.stderr);
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"precious");
    assert!(path.join("precious").exists() && path.join("stat.csv").exists());
    for (output, what) in [("-", "the output is a directory"), ("x.gz", "cannot be compressed")] {
        let run = run(perfconv().current_dir(&dir).arg(fixture("plain.data")).args(["-t", "csv", "-o", output]));
        assert!(run.status == 2 && run.stderr.contains(what), "{output}: {}", run.stderr);
    }
    let unreadable = run(perfconv().current_dir(&dir).args(["/dev/null", "-t", "csv", "-o", "none"]));
    assert_eq!(unreadable.status, 1);
    assert!(!dir.path().join("none").exists());
}
