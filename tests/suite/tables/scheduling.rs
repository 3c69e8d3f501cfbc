//! Time off the CPU and latency in tables.

use crate::common::files;
use crate::common::program::{perfconv, succeed, try_run};
use crate::common::scenarios::{scenario, synth};
use crate::suite::waits::{two_threads, written};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// The rows of a recording as a single table.
pub(super) fn rows(recording: &Path, args: &[&str]) -> Result<Vec<RecordBatch>, String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let table = directory.path().join("table.parquet");
    try_run(perfconv().arg(recording).args(["-q", "--symbols", "no", "-o"]).arg(&table).args(args))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(table).expect("a table")).expect("a table");
    Ok(reader.build().expect("a reader").map(|batch| batch.expect("rows")).collect())
}

pub(super) fn number(batch: &RecordBatch, column: &str, row: usize) -> Option<i64> {
    let column = batch.column_by_name(column).expect("a column");
    if column.is_null(row) {
        return None;
    }
    let int32 = column.as_primitive_opt::<Int32Type>().map(|column| column.value(row).into());
    int32.or_else(|| Some(column.as_primitive::<Int64Type>().value(row)))
}

pub(super) fn text(batch: &RecordBatch, column: &str, row: usize) -> Option<String> {
    let column = batch.column_by_name(column).expect("a column").as_string::<i32>();
    column.is_valid(row).then(|| column.value(row).to_owned())
}

/// Time off the CPU by reason, and latency by event.
fn sums(batches: &[RecordBatch]) -> (BTreeMap<String, i64>, BTreeMap<String, i64>) {
    let (mut off_cpu, mut latency) = (BTreeMap::new(), BTreeMap::new());
    for batch in batches {
        for row in 0..batch.num_rows() {
            if let Some(time) = number(batch, "off_cpu_ns", row) {
                *off_cpu.entry(text(batch, "state", row).unwrap_or_default()).or_default() += time;
            }
            if let Some(time) = number(batch, "latency_ns", row) {
                *latency.entry(text(batch, "event", row).unwrap_or_default()).or_default() += time;
            }
        }
    }
    (off_cpu, latency)
}

#[test]
fn samples_have_the_wait_after_them_with_its_reason() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let input = written(directory.path(), &two_threads());
    let batches = rows(&input, &[]).expect("a table");
    let mut waits = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let wait = text(batch, "state", row).zip(number(batch, "off_cpu_ns", row));
            waits.extend(wait.map(|(state, time)| (number(batch, "tid", row), state, time)));
        }
    }
    let wait = |tid, state: &str, time| (Some(tid), state.to_owned(), time);
    // In the order of their ends.
    let expected = [
        wait(100, "blocked", 30_000),
        wait(101, "blocked", 40_000),
        wait(100, "preempted", 20_000),
        wait(100, "uninterruptible", 5_000),
    ];
    assert_eq!(waits, expected);
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 12, "samples are missing");
    // What filters remove may have ended waits.
    let filtered = rows(&input, &["--tid", "100"]).expect("a table");
    assert_eq!(sums(&filtered), (BTreeMap::new(), BTreeMap::new()));
}

/// Sums of folded stacks by the last label, or together.
fn folded(recording: &Path, args: &[&str]) -> Result<BTreeMap<String, i64>, String> {
    let args = ["-t", "folded", "--symbols", "no", "-q", "-o", "-"].iter().chain(args);
    let run = try_run(perfconv().arg(recording).args(args))?;
    let mut sums = BTreeMap::new();
    for line in String::from_utf8_lossy(&run.stdout).lines() {
        let (stack, value) = line.rsplit_once(' ').expect("a count");
        let label = stack.split(';').find_map(|frame| frame.strip_prefix("state ")).unwrap_or_default();
        *sums.entry(label.to_owned()).or_default() += value.parse::<i64>().expect("a count");
    }
    Ok(sums)
}

#[test]
fn sums_equal_those_of_profiles() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut recordings = Vec::new();
    for name in ["switches.toml", "scheduler.toml"] {
        let path = directory.path().join(name).with_extension("data");
        synth(&scenario(name), &path, &["-q"]);
        recordings.push(path);
    }
    recordings.extend(files::recordings().into_iter().map(|recording| recording.path));
    let (mut compared, mut latencies) = (0, 0);
    for path in &recordings {
        let name = path.display();
        // Waits that perf recorded have no reason.
        let Ok(expected) = folded(path, &["--off-cpu", "--labels", "state"]) else { continue };
        if expected.is_empty() || expected.contains_key("") {
            continue;
        }
        let (off_cpu, latency) = sums(&rows(path, &[]).expect("a table"));
        let total = |sums: &BTreeMap<String, i64>| sums.values().sum::<i64>();
        let has_stacks = succeed(perfconv().arg(path).args(["--off-cpu", "-t", "folded", "-o", "-"]));
        if has_stacks.stderr.contains("without a stack") {
            assert!(total(&off_cpu) <= total(&expected), "{name}");
            continue;
        }
        // Of switch records, a sample can have several waits, and the reason of the longest.
        assert_eq!(total(&off_cpu), total(&expected), "{name}");
        compared += 1;
        for (event, sum) in &latency {
            let Ok(expected) = folded(path, &["--weight", "latency", "--event", event]) else { continue };
            assert_eq!(*sum, total(&expected), "{name}: {event}");
            latencies += 1;
        }
    }
    note!(
        "tables: time off the CPU of {compared} recordings and latency of {latencies} events equal those of profiles"
    );
    assert!(compared >= 2 && latencies >= 2, "{compared} {latencies}");
}
