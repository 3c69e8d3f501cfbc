//! Datasets in Spark, of PyPI's package pyspark with Debian's Java.

use super::super::programs;
use super::super::python;
use super::queries::{self, Results};
use super::read;
use crate::common::files;
use crate::common::oracle::note_missing_oracle;
use crate::common::program::{for_each, perfconv, run_other, succeed};
use crate::common::tables::convert;
use crate::common::tables::recordings;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Seconds that a script may take: a cluster is started first.
const TIME_LIMIT: &str = "600";

/// A cluster of two threads in the process of the script.
const IN_PROCESS: &str = "local[2]";

const CONFIGURATION: [&str; 7] = [
    "spark.driver.bindAddress=127.0.0.1",
    "spark.driver.host=127.0.0.1",
    "spark.executor.memory=512m",
    "spark.log.level=ERROR",
    "spark.sql.legacy.parquet.nanosAsLong=true",
    "spark.sql.shuffle.partitions=4",
    "spark.ui.enabled=false",
];

/// Runs a script with pyspark on a cluster; `None` if it, or Java, is missing.
fn spark(clients: &Path, cluster: &str, script: &str, args: &[&Path]) -> Option<String> {
    let packages = format!("{}:{}", clients.join("spark").display(), python::packages()?);
    let mut check = Command::new("sh");
    check.args(["-c", "command -v java && python3 -c 'import pyspark'"]).env("PYTHONPATH", &packages);
    if run_other(&mut check).status != 0 {
        note_missing_oracle("pyspark with java");
        return None;
    }
    let mut command = Command::new("timeout");
    let submit = format!("--master {cluster} --conf {} pyspark-shell", CONFIGURATION.join(" --conf "));
    command.args([TIME_LIMIT, "python3", "-c", script]).args(args).env("PYTHONPATH", &packages);
    command.env("PYSPARK_SUBMIT_ARGS", submit);
    let run = run_other(&mut command);
    assert_eq!(run.status, 0, "{}", run.stderr);
    Some(String::from_utf8(run.stdout).expect("UTF-8"))
}

#[test]
fn queries_in_spark_have_the_results_of_duckdb() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut inputs, waiting) = queries::inputs();
    inputs.extend(waiting);
    let dataset = queries::dataset(directory.path(), &inputs);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/queries.md");
    let Some(text) = spark(clients, IN_PROCESS, queries::SCRIPT, &[&page, &dataset, Path::new("spark")]) else {
        return;
    };
    let results: Results = serde_json::from_str(&text).expect("JSON");
    let expected = queries::query(clients, &dataset, "duckdb");
    let rows: usize = expected.values().map(Vec::len).sum();
    assert_eq!(results.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, expected) in expected {
        assert_eq!(results[&name], expected, "{name}");
    }
    note!("queries: {rows} rows of {} queries in Spark equal those in DuckDB", results.len());
    assert!(results.len() >= 9 && rows > 100, "only {rows} rows of {} queries", results.len());
}

#[test]
fn totals_in_spark_equal_those_in_duckdb() {
    const ONE_OF: usize = 16;
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = directory.path().join("dataset");
    let recordings = files::share(ONE_OF);
    let converted =
        for_each(&recordings, |recording| convert(&recording.path, &dataset, &["--symbols", "no", "--append"]));
    let unreadable = converted.iter().filter(|result| result.is_err()).count();
    let Some(text) = spark(clients, IN_PROCESS, include_str!("totals.py"), &[&dataset, Path::new("spark")]) else {
        return;
    };
    let in_spark: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let text = programs::python(clients, include_str!("totals.py"), &[&dataset, Path::new("duckdb")]).expect("totals");
    let in_duckdb: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let different = in_spark.iter().zip(&in_duckdb).find(|(one, other)| one != other);
    assert!(in_spark == in_duckdb, "{} rows and {}: {different:?}", in_spark.len(), in_duckdb.len());
    let compared: BTreeSet<_> = in_spark.iter().map(|row| row[0].to_string()).collect();
    let samples: u64 = in_spark.iter().map(|row| row[4].as_u64().expect("a count")).sum();
    note!(
        "tables: {samples} samples of {} recordings in {} threads and events are the same in Spark as in DuckDB; \
         {unreadable} files skipped: no readable record; others have no samples, or the same contents as another",
        compared.len(),
        in_spark.len()
    );
    let enough = files::enough("tables in Spark", ONE_OF, 450, 20);
    assert!(compared.len() >= enough, "compared only {} recordings, expected {enough}", compared.len());
}

#[test]
fn a_cluster_that_loses_an_executor_writes_no_row_twice() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let inputs = recordings(directory.path(), 6);
    let (on_one, on_cluster) = (directory.path().join("one"), directory.path().join("cluster"));
    succeed(perfconv().args(&inputs).args(["-t", "parquet", "--symbols", "no", "-q", "-o"]).arg(&on_one));
    let args = [&[&*on_cluster], &inputs.iter().map(|input| &**input).collect::<Vec<_>>()[..]].concat();
    let Some(text) = spark(clients, "local-cluster[2,1,512]", include_str!("spark.py"), &args) else {
        return;
    };
    let in_spark: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&in_spark["lost"], &in_spark["recordings"]), (&true.into(), &6.into()), "{text}");
    let totals = in_spark["totals"].as_array().expect("totals");
    let samples: u64 = totals.iter().map(|row| row[4].as_u64().expect("a count")).sum();
    assert_eq!(samples, 6 * 377);
    let read: Vec<_> = read(clients, &[on_one, on_cluster]).into_iter().map(Result::unwrap).collect();
    assert_eq!(read[0], read[1]);
    note!("tables: a cluster that lost an executor wrote {samples} samples of 6 recordings once");
}
