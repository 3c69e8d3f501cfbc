//! The documented columns are those of the files.

use super::super::programs;
use crate::common::files::fixture;
use crate::common::tables::convert;
use perfconv::formats::dataset::{SCHEMA_VERSION, describe, table};
use serde_json::Value;
use std::collections::BTreeMap;

/// Prints the columns and metadata of all files below a directory, by table.
const DESCRIBE: &str = r#"
import glob, json, os, sys
import duckdb
found = {}
for path in sorted(glob.glob(sys.argv[1] + "/**/*.parquet", recursive=True)):
    table = os.path.relpath(path, sys.argv[1]).split("/recording=")[0]
    columns = duckdb.sql(f"describe select * from read_parquet('{path}', hive_partitioning = false)").fetchall()
    metadata = duckdb.sql(f"select key::varchar, value::varchar from parquet_kv_metadata('{path}')").fetchall()
    found[table] = dict(columns=[c[:2] for c in columns], metadata=dict(metadata))
json.dump(found, sys.stdout)
"#;

#[test]
fn files_have_the_documented_columns_in_duckdb() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    convert(&fixture("tracepoints.data"), &directory.path().join("out"), &["--symbols", "no"]).unwrap();
    let text = programs::python(clients, DESCRIBE, &[&directory.path().join("out")]).unwrap();
    let schemas: BTreeMap<String, Value> = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    for (name, columns) in describe().into_iter().filter(|(name, _)| table::ALL.contains(name)) {
        let files = schemas.iter().filter(|(file, _)| file.split('/').next() == Some(name));
        for (file, description) in files {
            assert_eq!(description["metadata"]["perfconv.schema_version"], SCHEMA_VERSION.to_string(), "{file}");
            let in_file = description["columns"].as_array().unwrap().iter();
            let in_file: Vec<_> =
                in_file.map(|column| (&column[0], column[1].as_str().unwrap().replace('"', ""))).collect();
            assert!(in_file.len() >= columns.len(), "{file}: {in_file:?}");
            for (column, (name, sql_type)) in columns.iter().zip(in_file) {
                assert_eq!((column.0, &column.1), (name.as_str().unwrap(), &sql_type), "{file}");
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "only {compared} columns compared");
    let tracepoints = schemas.keys().filter(|file| file.starts_with("tracepoints/")).count();
    assert!(tracepoints > 0, "no table of a tracepoint");
}
