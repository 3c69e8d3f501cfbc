//! Tables for query engines, read by DuckDB, Polars and PyArrow.

mod datasets;
mod queries;
mod records;
mod schema;
mod spark;

use super::programs;
use crate::common::files::{self, Recording};
use crate::common::program::{for_each, perfconv, succeed, try_run};
use crate::common::tables::convert;
use crate::common::totals::{self, Totals};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Reads datasets, after checks of their tables.
fn read(clients: &Path, datasets: &[PathBuf]) -> Vec<Result<Value, String>> {
    read_each(datasets, include_str!("read.py"), |script, paths| programs::python(clients, script, paths))
}

/// The values, or errors, of the function `read` of a script for paths. The script is run with several paths at once.
pub(super) fn read_each(
    paths: &[PathBuf],
    script: &str,
    run: impl Fn(&str, &[&Path]) -> Result<String, String> + Sync,
) -> Vec<Result<Value, String>> {
    let script = [script, include_str!("each.py")].concat();
    // As many as are read within the time limit.
    let chunks: Vec<_> = paths.chunks(40).collect();
    let read = for_each(&chunks, |chunk| {
        let text = run(&script, &chunk.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        serde_json::from_str::<Vec<Value>>(&text).map_err(|error| error.to_string())
    });
    let of_one = |value: Value| match value["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(value),
    };
    let of_chunk = |(chunk, read): (&&[PathBuf], Result<Vec<Value>, String>)| match read {
        Ok(values) => values.into_iter().map(of_one).collect::<Vec<_>>(),
        Err(error) => vec![Err(error); chunk.len()],
    };
    chunks.iter().zip(read).flat_map(of_chunk).collect()
}

/// The totals that a script prints.
pub(super) fn totals_of(dataset: &Value) -> Totals {
    let totals = dataset["totals"].as_object().expect("totals").iter().map(|(key, sums)| {
        let key: (String, String) = serde_json::from_str(key).expect("a key");
        (key, (sums[0].as_u64().unwrap_or(0), sums[1].as_u64().unwrap_or(0)))
    });
    totals.collect()
}

/// Converts all recordings, and compares what DuckDB and Polars read with the profile.
fn compare(name: &str, recordings: &[Recording], enough: usize, args: &[&str]) {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let numbers: Vec<_> = (0..recordings.len()).collect();
    let dataset = |number: usize| directory.path().join(number.to_string());
    let converted = for_each(&numbers, |&number| convert(&recordings[number].path, &dataset(number), args));
    let written: Vec<_> = numbers.iter().copied().filter(|&number| dataset(number).exists()).collect();
    let read = read(clients, &written.iter().map(|&number| dataset(number)).collect::<Vec<_>>());
    let read: HashMap<_, _> = written.iter().map(|&number| recordings[number].name.as_str()).zip(read).collect();
    let errors: HashMap<_, _> = recordings.iter().map(|recording| recording.name.as_str()).zip(converted).collect();
    totals::compare(name, recordings, enough, |recording, expected| {
        errors[recording.name.as_str()].clone()?;
        let found = read.get(recording.name.as_str()).ok_or("no dataset")?.clone()?;
        totals::check_equal(&totals::like(totals_of(&found), expected), expected)
    });
}

#[test]
fn totals_in_duckdb_and_polars_equal_the_profile() {
    let enough = if files::has_corpus("tables") { 500 } else { 20 };
    compare("tables (DuckDB 2.0, Polars 2.1)", &files::recordings(), enough, &["--symbols", "no"]);
}

/// Prints the number of samples, the sum of their values, and the stacks of a single table.
const SINGLE: &str = r#"
import json, sys
import polars, pyarrow.ipc, pyarrow.parquet
path = sys.argv[1]
if path.endswith(".arrow"):
    table, columns = pyarrow.ipc.open_file(path).read_all(), polars.read_ipc(path)
else:
    table, columns = pyarrow.parquet.read_table(path), polars.read_parquet(path)
assert columns.height == table.num_rows and columns.columns == table.column_names
stacks = [[frame["function"] or "" for frame in frames] for frames in table["frames"].to_pylist()]
json.dump(dict(samples=table.num_rows, value=int(columns["value"].cast(polars.Int128).sum()), stacks=stacks), sys.stdout)
"#;

#[test]
fn single_tables_have_the_samples_and_functions_of_the_profile() {
    let Some(clients) = programs::directory() else { return };
    for extension in ["parquet", "arrow"] {
        totals::compare(&format!("single table (.{extension})"), &files::fixtures(), 20, |recording, expected| {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let output = directory.path().join(format!("out.{extension}"));
            try_run(perfconv().arg(&recording.path).arg("-o").arg(&output).args(["-q", "--symbols", "no"]))?;
            let found: Value = serde_json::from_str(&programs::python(clients, SINGLE, &[&output])?)
                .map_err(|error| error.to_string())?;
            let sums = expected.values().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
            let found = (found["samples"].as_u64().unwrap_or(0), found["value"].as_u64().unwrap_or(0));
            if found == sums { Ok(()) } else { Err(format!("{found:?}, expected {sums:?}")) }
        });
    }
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (table, folded) = (directory.path().join("out.parquet"), directory.path().join("out.folded"));
    for (output, args) in [(&table, &[][..]), (&folded, &["--weight", "samples"])] {
        succeed(
            perfconv()
                .arg(symbols.join("words.data"))
                .arg("--symfs")
                .arg(symbols.join("files"))
                .arg("-o")
                .arg(output)
                .args(args),
        );
    }
    let found: Value = serde_json::from_str(&programs::python(clients, SINGLE, &[&table]).unwrap()).unwrap();
    let mut functions = std::collections::BTreeMap::<String, u64>::new();
    for stack in found["stacks"].as_array().unwrap() {
        let leaf = stack[0].as_str().unwrap().to_owned();
        *functions.entry(leaf).or_default() += 1;
    }
    let mut expected = std::collections::BTreeMap::<String, u64>::new();
    for line in fs::read_to_string(folded).unwrap().lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let leaf = stack.rsplit(';').next().unwrap();
        let leaf = if leaf.starts_with('[') { "" } else { leaf };
        *expected.entry(leaf.to_owned()).or_default() += count.parse::<u64>().unwrap();
    }
    assert_eq!(functions.values().sum::<u64>(), 495);
    for name in ["find", "count_words"] {
        assert!(functions[name] > 0 && functions[name] == expected[name], "{name}: {functions:?}, {expected:?}");
    }
}
