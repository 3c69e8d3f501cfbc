//! Memory accesses and other operations in tables: columns have the values of labels of pprof.

use super::scheduling::{number, rows, text};
use crate::common::files::fixture;
use crate::common::program::{perfconv, profile, succeed};
use crate::common::scenarios::synth;
use crate::common::spe::Trace;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Labels of pprof, and the columns that have their values.
const COLUMNS: [(&str, &str); 10] = [
    ("data_src", "mem_level"),
    ("snoop_status", "mem_snoop"),
    ("operation", "operation"),
    ("tlb", "tlb"),
    ("remote", "remote"),
    ("branch_outcome", "branch_outcome"),
    ("cache_latency", "cache_latency"),
    ("total_latency", "total_latency"),
    ("issue_latency", "issue_latency"),
    ("translation_latency", "translation_latency"),
];

/// Number of samples by value.
type Counts = BTreeMap<String, i64>;

/// Recordings of each kind of access: of traces, with a weight, and with three.
fn recordings(directory: &Path) -> Vec<PathBuf> {
    let mut list = vec![fixture("weight.data")];
    let scenarios =
        ["tests/suite/perf_report/memory.toml", "tests/suite/perf_report/cache-lines.toml", "scenarios/ibs.toml"];
    for (number, scenario) in scenarios.iter().enumerate() {
        let path = directory.join(format!("{number}.data"));
        synth(&Path::new(env!("CARGO_MANIFEST_DIR")).join(scenario), &path, &["-q"]);
        list.push(path);
    }
    for seed in 0..6 {
        let (scenario, path) = (directory.join("spe.toml"), directory.join(format!("spe{seed}.data")));
        fs::write(&scenario, Trace::random(seed, 200).scenario(&[])).expect("a scenario");
        synth(&scenario, &path, &["-q", "-f"]);
        list.push(path);
    }
    list
}

/// The samples of a profile by the value of a label; `None` if no event has the label.
fn by_label(path: &Path, label: &str, directory: &Path) -> Option<Counts> {
    let output = directory.join("out.pb.gz");
    let arguments = ["--labels", label, "--weight", "samples", "--symbols", "no", "-q", "-f", "-o"];
    let run = crate::common::program::run(perfconv().arg(path).args(arguments).arg(&output));
    if run.status != 0 {
        assert!(run.stderr.contains("samples have no label"), "{}", run.stderr);
        return None;
    }
    let profile = profile(&output);
    let mut counts = Counts::new();
    for sample in &profile.sample {
        for label in &sample.label {
            let text = || profile.string_table[label.str as usize].clone();
            let value = if label.str == 0 { label.num.to_string() } else { text() };
            // Each event has a number of samples, and a sum, which is the same.
            *counts.entry(value).or_default() += sample.value.iter().step_by(2).sum::<i64>();
        }
    }
    Some(counts)
}

/// The rows of a table by the value of a column.
fn by_column(batches: &[RecordBatch], column: &str) -> Counts {
    let mut counts = Counts::new();
    for batch in batches {
        let is_text = batch.column_by_name(column).expect("a column").as_string_opt::<i32>().is_some();
        for row in 0..batch.num_rows() {
            let value = match is_text {
                true => text(batch, column, row),
                false => number(batch, column, row).map(|number| number.to_string()),
            };
            value.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
        }
    }
    counts
}

/// The rows of `accesses.csv` by the value of each column.
fn by_csv_column(path: &Path, directory: &Path) -> BTreeMap<String, Counts> {
    let tables = directory.join("tables");
    succeed(perfconv().arg(path).args(["-t", "csv", "--symbols", "no", "-q", "-f", "-o"]).arg(&tables));
    let mut counts = BTreeMap::<String, Counts>::new();
    let Ok(mut reader) = csv::Reader::from_path(tables.join("accesses.csv")) else { return counts };
    for row in reader.deserialize::<BTreeMap<String, String>>() {
        for (column, value) in row.expect("a row").into_iter().filter(|(_, value)| !value.is_empty()) {
            *counts.entry(column).or_default().entry(value).or_default() += 1;
        }
    }
    counts
}

#[test]
fn columns_have_the_values_of_labels() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut samples, mut compared) = (0, BTreeMap::<&str, usize>::new());
    for path in recordings(directory.path()) {
        let batches = rows(&path, &[]).expect("a table");
        let csv = by_csv_column(&path, directory.path());
        for (label, column) in COLUMNS {
            let columns = by_column(&batches, column);
            let labels = by_label(&path, label, directory.path()).unwrap_or_default();
            assert_eq!(columns, labels, "{}: {label}", path.display());
            assert_eq!(csv.get(column).cloned().unwrap_or_default(), labels, "{}: {column} in CSV", path.display());
            samples += labels.values().sum::<i64>();
            *compared.entry(label).or_default() += labels.len();
        }
        let addresses = by_column_of_addresses(&batches, "addr");
        let in_csv: i64 = csv.get("addr").into_iter().flat_map(BTreeMap::values).sum();
        assert_eq!(addresses, in_csv, "{}: addresses", path.display());
    }
    note!("{samples} values of samples, different ones by label: {compared:?}");
    assert!(samples >= 10_000 && compared.len() == COLUMNS.len() && compared.values().all(|&values| values >= 2));
}

/// Number of rows with an address.
fn by_column_of_addresses(batches: &[RecordBatch], column: &str) -> i64 {
    let valid = |batch: &RecordBatch| {
        let column = batch.column_by_name(column).expect("a column");
        column.len() - column.null_count()
    };
    batches.iter().map(valid).sum::<usize>() as i64
}

/// The registers of the scenario, whose fields perf prints, too.
#[test]
fn registers_of_ibs_have_their_fields() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("ibs.data");
    synth(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/ibs.toml"), &path, &["-q"]);
    let batches = rows(&path, &[]).expect("a table");
    let mut checked = 0;
    for batch in &batches {
        let maps = batch.column_by_name("ibs").expect("a column").as_map();
        for row in 0..batch.num_rows() {
            let entries = maps.value(row);
            let [keys, values] = [0, 1].map(|column| entries.column(column).as_string::<i32>().clone());
            let value =
                |key| keys.iter().position(|other| other == Some(key)).map(|index| values.value(index).to_owned());
            let expected = [
                ("IbsOpMaxCnt", "40000"),
                ("IbsOpRip", "0x400300"),
                ("IbsOpBrnTaken", "1"),
                ("DataSrc", "2"),
                ("IbsDcMissLat", "85"),
                ("IbsDcPhysAd", "0x123451000"),
                ("IbsBrTarget", "0x400800"),
            ];
            for (key, expected) in expected {
                assert_eq!(value(key).as_deref(), Some(expected), "{key}");
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 10);
}
