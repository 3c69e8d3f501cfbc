//! `-t csv`: tables in a folder, whose sums are those of the recording.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use perfconv::abi::sample_type::SampleType;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::inspect::info::{Parts, read_info};
use perfconv::stream::events::Event;
use perfconv::stream::source::Source;
use tempfile::tempdir;

use super::files::{self, Recording, fixture};
use super::program::{self, perfconv, run};

const FILES: [&str; 4] = ["overview.csv", "processes.csv", "results.csv", "stat.csv"];

/// The rows of a table, by the names of its columns.
fn rows(folder: &Path, name: &str) -> Vec<BTreeMap<String, String>> {
    let mut table = csv::Reader::from_path(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    table.deserialize().map(|row| row.unwrap_or_else(|error| panic!("{name}: {error}"))).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} is no number: {row:?}"))
}

fn sum(rows: &[BTreeMap<String, String>], column: &str) -> u64 {
    rows.iter().map(|row| number(row, column)).sum()
}

/// How many records and samples the tables of a recording have; nothing where none can be read.
fn judge(recording: &Recording) -> Result<Option<[u64; 2]>, String> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tables");
    let converted = run(perfconv().arg(&recording.path).args(["-t", "csv", "-o"]).arg(&path));
    if converted.status != 0 {
        let is_unreadable = run(perfconv().arg("dump").arg(&recording.path).args(["--head", "1"])).status != 0;
        return if is_unreadable { Ok(None) } else { Err(converted.stderr) };
    }
    let mut names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let has_counters = names.contains(&"counters.csv".into());
    names.retain(|name| name != "counters.csv");
    if names != FILES {
        return Err(format!("there is {names:?}"));
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
        return Err("the overview is not in the order of time".into());
    }
    // Samples of no process are in no row of one.
    let (of_processes, at_places) = (sum(&processes, "samples"), sum(&results, "samples"));
    if of_processes > at_places {
        return Err(format!("{of_processes} samples of processes, {at_places} at places"));
    }
    // A sample of counter values stands for several events, or for none.
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let info = source.and_then(|source| read_info(source, Parts { stats: true, ..Parts::default() }));
    let info = info.map_err(|error| error.to_string())?;
    let has_values = |event: &Event| event.attr.sample_type.contains(SampleType::READ);
    if at_places != ledger.samples_out && !info.meta.events.list().iter().any(has_values) {
        return Err(format!("{at_places} samples at places, {} in all", ledger.samples_out));
    }
    let mut of_events: BTreeMap<&str, u64> = BTreeMap::new();
    results.iter().for_each(|row| *of_events.entry(&row["event"]).or_default() += number(row, "samples"));
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    let stats = info.stats.ok_or("there are no counts")?;
    stats.samples.iter().for_each(|of| *counted.entry(&of.event).or_default() += of.samples);
    counted.retain(|_, samples| *samples > 0);
    if ledger.dropped == 0 && counted != of_events {
        return Err(format!("{of_events:?} at places, {counted:?} counted"));
    }
    Ok(Some([records, ledger.samples_out]))
}

#[test]
fn the_tables_agree_with_each_other() {
    let recordings: Vec<Recording> = files::recordings();
    let results = program::for_each(&recordings, judge);
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
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr().lock();
    let [tables, records, samples] = sums;
    writeln!(out, "csv: {records} records, {samples} samples in the tables of {tables} recordings").unwrap();
    writeln!(out, "csv: {unreadable} recordings skipped: not a single record can be read").unwrap();
    assert!(failures.is_empty(), "{} are wrong:\n{}", failures.len(), failures.join("\n"));
    let enough = if files::has_corpus("csv") { 540 } else { 20 };
    assert!(tables >= enough, "only the tables of {tables} of {enough} recordings were looked at");
}

#[test]
fn the_tables_tell_what_ran_where() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tables");
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
    let exec = overview.iter().find(|of| of["type"] == "COMM" && of["info"] == "loop-pie").expect("the program begins");
    assert_eq!((&*exec["pid"], &*exec["time"]), ("21998", "1806623971598"), "{}", row(exec));
}

#[test]
fn tables_take_the_place_of_tables_alone() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("tables");
    let convert = |options: &[&str]| {
        run(perfconv().arg(fixture("plain.data")).args(["-t", "csv", "-o"]).arg(&path).args(options))
    };
    assert_eq!(convert(&[]).status, 0);
    assert!(convert(&[]).failure().unwrap().contains("exists already"));
    assert_eq!(convert(&["-f"]).status, 0);
    fs::write(path.join("precious"), "").unwrap();
    let refused = convert(&["-f"]);
    assert!(refused.failure().unwrap().contains("is a folder that holds something else"), "{}", refused.stderr);
    fs::write(folder.path().join("file"), "precious").unwrap();
    let onto_file =
        run(perfconv().current_dir(&folder).arg(fixture("plain.data")).args(["-t", "csv", "-f", "-o", "file"]));
    assert!(onto_file.failure().unwrap().contains("is a file, and the output a folder"), "{}", onto_file.stderr);
    assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"precious");
    assert!(path.join("precious").exists() && path.join("stat.csv").exists());
    for (output, what) in [("-", "cannot be a folder"), ("x.gz", "is not compressed")] {
        let run = run(perfconv().current_dir(&folder).arg(fixture("plain.data")).args(["-t", "csv", "-o", output]));
        assert!(run.status == 2 && run.stderr.contains(what), "{output}: {}", run.stderr);
    }
    let unreadable = run(perfconv().current_dir(&folder).args(["/dev/null", "-t", "csv", "-o", "none"]));
    assert_eq!(unreadable.status, 1);
    assert!(!folder.path().join("none").exists());
}
