//! Records, features and the ledger in tables, compared with JSON Lines.

use super::super::programs;
use super::read_each;
use crate::common::files;
use crate::common::program::{perfconv, try_run};
use crate::common::tables::convert;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Prints, for each dataset, the rows of `records`, and the ledger and the features of its recording.
const SCRIPT: &str = r#"
import json, sys
import duckdb
def read(dataset):
    table = lambda name: f"read_parquet('{dataset}/{name}/*/*.parquet', hive_partitioning = true)"
    records = [row[0] for row in duckdb.execute(f"select json from {table('records')} where record = json ->> '$.record'").fetchall()]
    [(count,)] = duckdb.execute(f"select count(*) from {table('records')}").fetchall()
    assert count == len(records), "a record has another type than its object"
    [(ledger, types, features)] = duckdb.execute(f"select ledger, records, features from {table('recordings')}").fetchall()
    sums = {}
    for part in ledger:
        sums[part["record"]] = sums.get(part["record"], 0) + part["count"]
    assert sums == {record: int(count) for record, count in (types or {}).items()}, f"{ledger}, but {types}"
    return dict(records=records, features=features or {}, ledger=ledger)
"#;

/// The objects of records and the contents of features in JSON Lines. Those of the last of several features of a number.
fn lines(recording: &Path) -> Result<(Vec<Value>, BTreeMap<String, Value>), String> {
    let run = try_run(perfconv().arg(recording).args(["-t", "jsonl", "-q", "-o", "-"]))?;
    let (mut records, mut features) = (Vec::new(), BTreeMap::new());
    for line in run.stdout.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let mut object: Map<String, Value> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if let Some(feature) = object.get("feature").and_then(Value::as_str) {
            let content = object.get("content").or(object.get("raw")).cloned().unwrap_or_default();
            features.insert(feature.to_owned(), content);
        }
        for place in ["payload", "tracing_data", "nr", "frame"] {
            object.remove(place);
        }
        match object.get("record").and_then(Value::as_str) {
            // Other tables have what these describe.
            Some("SAMPLE" | "COMPRESSED" | "COMPRESSED2" | "EVENT_UPDATE" | "FINISHED_ROUND") | None => {}
            Some(kind) if kind.starts_with("HEADER_") => {}
            Some(_) => records.push(Value::Object(object)),
        }
    }
    Ok((records, features))
}

/// Compares what a dataset has with JSON Lines; returns the number of records and features.
fn compare(found: &Value, recording: &Path) -> Result<(usize, usize), String> {
    let (records, mut features) = lines(recording)?;
    let mut expected: Vec<_> = records.iter().map(Value::to_string).collect();
    let parse = |text: &Value| serde_json::from_str::<Value>(text.as_str().unwrap_or_default()).unwrap_or_default();
    let of_table = found["records"].as_array().ok_or("no records")?.iter();
    let mut in_table: Vec<_> = of_table.map(|text| parse(text).to_string()).collect();
    expected.sort_unstable();
    in_table.sort_unstable();
    if expected != in_table {
        let other = expected.iter().zip(&in_table).find(|(expected, found)| expected != found);
        return Err(format!("{} records, expected {}; {other:?}", in_table.len(), expected.len()));
    }
    let found = found["features"].as_object().ok_or("no features")?;
    let in_table: BTreeMap<_, _> = found.iter().map(|(name, text)| (name.clone(), parse(text))).collect();
    // The index of AUX data refers to numbers of records in JSON Lines, and to places in the file here.
    features.remove("AUXTRACE");
    for (name, content) in &features {
        if in_table.get(name) != Some(content) {
            return Err(format!("feature {name}: {:?}, expected {content}", in_table.get(name)));
        }
    }
    Ok((expected.len(), features.len()))
}

#[test]
fn records_and_features_are_those_of_json_lines() {
    const ONE_OF: usize = 16;
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recordings = files::share(ONE_OF);
    let datasets: Vec<PathBuf> =
        (0..recordings.len()).map(|number| directory.path().join(number.to_string())).collect();
    let (mut unreadable, mut written) = (0, Vec::new());
    for (recording, dataset) in recordings.iter().zip(&datasets) {
        match convert(&recording.path, dataset, &["--symbols", "no", "--records"]) {
            Ok(()) => written.push((recording, dataset.clone())),
            Err(_) => unreadable += 1,
        }
    }
    let paths: Vec<_> = written.iter().map(|(_, dataset)| dataset.clone()).collect();
    let read = read_each(&paths, SCRIPT, |script, paths| programs::python(clients, script, paths));
    let (mut records, mut features, mut failures) = (0, 0, Vec::new());
    for ((recording, _), found) in written.iter().zip(read) {
        match found.and_then(|found| compare(&found, &recording.path)) {
            Ok(more) => (records, features) = (records + more.0, features + more.1),
            Err(error) => failures.push(format!("{}: {error}", recording.name)),
        }
    }
    note!(
        "tables: {records} records and {features} features of {} recordings are those of JSON Lines; {unreadable} skipped: no readable record",
        written.len()
    );
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    let enough = files::enough("tables of records", ONE_OF, 480, 20);
    assert!(written.len() >= enough, "compared only {}, expected {enough}", written.len());
}
