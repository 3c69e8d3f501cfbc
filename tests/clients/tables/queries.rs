//! The queries of docs/queries.md, with results that are known from other outputs.

use super::super::programs;
use crate::common::files::{corpus, fixture};
use crate::common::program::{perfconv, run, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows of each query, by its name.
pub(super) type Results = BTreeMap<String, Vec<Vec<serde_json::Value>>>;

pub(super) const SCRIPT: &str = include_str!("queries.py");

pub(super) fn query(clients: &Path, dataset: &Path, engine: &str) -> Results {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/queries.md");
    let text =
        programs::python(clients, SCRIPT, &[&page, dataset, Path::new(engine)]).unwrap_or_else(|e| panic!("{e}"));
    serde_json::from_str(&text).expect("JSON")
}

/// A column as text.
fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or("")
}

/// A column that counts.
fn number(value: &serde_json::Value) -> u64 {
    text(value).parse().expect("a number")
}

fn symbols() -> [PathBuf; 2] {
    ["words.data", "files"].map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(name))
}

/// The output of the program.
fn output(input: &Path, args: &[&str]) -> String {
    let run = succeed(perfconv().arg(input).arg("--symfs").arg(&symbols()[1]).args(args).args(["-q", "-o", "-"]));
    String::from_utf8(run.stdout).expect("UTF-8")
}

/// Folded stacks with their counts.
fn folded(inputs: &[PathBuf], weight: &str) -> BTreeMap<String, u64> {
    let mut stacks = BTreeMap::new();
    for input in inputs {
        for line in output(input, &["-t", "folded", "--weight", weight]).lines() {
            let (stack, count) = line.rsplit_once(' ').expect("a stack and its count");
            *stacks.entry(stack.to_owned()).or_default() += count.parse::<u64>().expect("a count");
        }
    }
    stacks
}

/// Recordings with one event, and a system-wide one with waiting threads from the corpus.
pub(super) fn inputs() -> (Vec<PathBuf>, Option<PathBuf>) {
    let names = ["callgraph.data", "cgroup.data", "page-sizes.data", "plain.data", "system-wide.data"];
    let mut inputs: Vec<_> = names.map(fixture).into();
    inputs.push(symbols()[0].clone());
    let waiting =
        corpus().into_iter().find(|recording| recording.name.ends_with("guest-bookworm-amd64/inj-sched-src.data"));
    (inputs, waiting.map(|recording| recording.path))
}

pub(super) fn dataset(directory: &Path, inputs: &[PathBuf]) -> PathBuf {
    let dataset = directory.join("dataset");
    succeed(
        perfconv()
            .args(inputs)
            .arg("--symfs")
            .arg(&symbols()[1])
            .args(["-q", "-t", "parquet", "--append", "-o"])
            .arg(&dataset),
    );
    dataset
}

#[test]
fn queries_in_duckdb_have_the_results_of_other_outputs() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (inputs, waiting) = inputs();
    let results = query(clients, &dataset(directory.path(), &inputs), "duckdb");
    let mut compared = 0;

    let stacks = results["folded stacks"].iter().map(|row| (text(&row[0]).to_owned(), number(&row[1]))).collect();
    assert_eq!(folded(&inputs, "period"), stacks);
    compared += stacks.len();

    let (mut own, mut total) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    for (stack, count) in folded(&inputs, "samples") {
        let mut names: Vec<_> = stack.split(';').skip(1).collect();
        *own.entry(names.last().expect("a frame").to_string()).or_default() += count;
        names.sort_unstable();
        names.dedup();
        names.iter().for_each(|name| *total.entry(name.to_string()).or_default() += count);
    }
    for (query, expected) in [("top functions", &own), ("total of functions", &total)] {
        let mut sorted: Vec<_> = expected.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        sorted.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        sorted.truncate(20);
        let rows: Vec<_> = results[query].iter().map(|row| (text(&row[0]), number(&row[1]))).collect();
        assert_eq!(rows, sorted, "{query}");
        compared += rows.len();
    }

    let mut lines = BTreeMap::<(String, String), u64>::new();
    let csv = directory.path().join("csv");
    succeed(perfconv().arg(&inputs[5]).arg("--symfs").arg(&symbols()[1]).args(["-q", "-t", "csv", "-o"]).arg(&csv));
    for line in fs::read_to_string(csv.join("results.csv")).expect("a table").lines().skip(1) {
        let cells: Vec<_> = line.rsplitn(7, ',').collect();
        *lines.entry((cells[1].to_owned(), cells[0].to_owned())).or_default() +=
            cells[5].parse::<u64>().expect("a count");
    }
    for row in results["hottest lines"].iter().filter(|row| text(&row[0]).ends_with("words.c")) {
        let key = (text(&row[0]).to_owned(), text(&row[1]).to_owned());
        // A line can be in several functions.
        assert!(lines[&key] >= number(&row[3]), "{row:?}, {lines:?}");
        compared += 1;
    }
    let most = results["hottest lines"].iter().find(|row| text(&row[2]) == "find").expect("a line of find");
    assert_eq!(number(&most[3]), lines[&(text(&most[0]).to_owned(), text(&most[1]).to_owned())]);

    let samples: u64 = own.values().sum();
    let sum = |query: &str, column: usize| results[query].iter().map(|row| number(&row[column])).sum::<u64>();
    assert_eq!([sum("hosts", 2), sum("cgroups", 3), sum("percentiles by second", 2)], [samples; 3]);
    assert_eq!(sum("hosts", 1), inputs.len() as u64);
    assert!(results["cgroups"].iter().any(|row| text(&row[1]).starts_with('/')), "{:?}", results["cgroups"]);
    compared += results["cgroups"].len() + results["percentiles by second"].len() + results["hosts"].len();

    if let Some(waiting) = waiting {
        let dataset = dataset(&directory.path().join("dataset"), std::slice::from_ref(&waiting));
        let waits = &query(clients, &dataset, "duckdb")["off-CPU time"];
        let expected = waits_of(&waiting);
        for row in waits {
            assert_eq!(expected[text(&row[0])], (number(&row[1]), number(&row[2])), "{row:?}");
        }
        assert_eq!(waits.len(), expected.len().min(20));
        compared += waits.len();
    } else {
        note!("queries: no corpus; off-CPU time is not compared");
    }
    note!("queries: {compared} rows in DuckDB equal other outputs");
    assert!(compared > 100, "only {compared} rows compared");
}

/// Waits and their nanoseconds by name of the thread, from the text of `sched_switch`.
fn waits_of(recording: &Path) -> BTreeMap<String, (u64, u64)> {
    let text = output(recording, &["-t", "perf-script", "--ns", "--event", "sched:sched_switch", "-F", "time,trace"]);
    let mut out = BTreeMap::<u64, (String, u64)>::new();
    let mut waits = BTreeMap::<String, (u64, u64)>::new();
    for line in text.lines().filter(|line| line.contains("prev_comm=")) {
        let (time, fields) = line.trim().split_once(": ").expect("a time");
        let nanoseconds: u64 = time.replace('.', "").parse().expect("a time");
        let field = |name: &str| {
            let (_, rest) = fields.split_once(&format!("{name}=")).expect("a field");
            rest.split(" prev_").next().and_then(|rest| rest.split(" next_").next()).expect("a value").to_owned()
        };
        let id = |name: &str| field(name).split(' ').next().expect("a value").parse::<u64>().expect("a thread");
        if let Some((comm, since)) = out.remove(&id("next_pid")).filter(|_| id("next_pid") != 0) {
            let (count, sum) = waits.entry(comm).or_default();
            (*count, *sum) = (*count + 1, *sum + nanoseconds - since);
        }
        out.insert(id("prev_pid"), (field("prev_comm"), nanoseconds));
    }
    waits
}

#[test]
fn builds_are_compared_by_the_shares_of_their_functions() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [words, _] = symbols();
    // The first half of the samples, with another build ID.
    let half = directory.path().join("half.data");
    succeed(perfconv().arg("rewrite").arg(&words).args(["--head", "250", "-q", "-o"]).arg(&half));
    let json = run(perfconv().arg(&half).args(["-t", "jsonl", "-q"]));
    let json = String::from_utf8(json.stdout).expect("UTF-8");
    let (other, edited) = (directory.path().join("other.data"), directory.path().join("other.jsonl"));
    let ids = json.split("\"build_id\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let reversed = |json: String, id: &str| json.replace(id, &id.chars().rev().collect::<String>());
    fs::write(&edited, ids.fold(json.clone(), reversed)).expect("a file");
    succeed(perfconv().arg(&edited).args(["-q", "-o"]).arg(&other));
    let dataset = directory.path().join("dataset");
    let inputs = [&words, &other];
    succeed(
        perfconv()
            .args(inputs)
            .arg("--symfs")
            .arg(&symbols()[1])
            .args(["--symbols", "force", "-q", "-t", "parquet", "-o"])
            .arg(&dataset),
    );
    let share = |input: &PathBuf, name: &str| {
        let stacks = folded(std::slice::from_ref(input), "samples");
        let of = |wanted: &dyn Fn(&str) -> bool| -> u64 {
            stacks
                .iter()
                .filter(|(stack, _)| wanted(stack.rsplit(';').next().expect("a frame")))
                .map(|(_, count)| count)
                .sum()
        };
        of(&|leaf| leaf == name) as f64 * 100.0 / of(&|leaf| !leaf.starts_with('[')) as f64
    };
    let results = query(clients, &dataset, "duckdb");
    let row = results["builds"].iter().find(|row| text(&row[1]) == "find").expect("a row of find");
    let shares = [share(&words, "find"), share(&half, "find")];
    let [least, most] = [shares[0].min(shares[1]), shares[0].max(shares[1])];
    for (cell, expected) in row[2..].iter().zip([least, most, most - least]) {
        assert!((cell.as_f64().expect("a number") - expected).abs() < 1e-9, "{row:?}, {shares:?}");
    }
}

#[test]
fn data_sources_are_those_of_all_samples_that_have_one() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let inputs = ["callgraph.data", "page-sizes.data", "weight.data"].map(fixture);
    let mut expected = BTreeMap::<String, u64>::new();
    for input in &inputs[1..] {
        for line in
            output(input, &["-t", "perf-script", "-F", "data_src"]).lines().filter(|line| !line.trim().is_empty())
        {
            *expected.entry(line.trim().split(' ').next().unwrap_or("").to_owned()).or_default() += 1;
        }
    }
    let results = query(clients, &dataset(directory.path(), &inputs), "duckdb");
    let count: u64 = results["data sources"].iter().map(|row| number(&row[3])).sum();
    assert_eq!(count, expected.values().sum::<u64>(), "{:?}, {expected:?}", results["data sources"]);
    assert!(count > 0);
}
