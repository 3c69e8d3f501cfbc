//! Datasets of several recordings.

use super::super::programs;
use super::{read, totals_of};
use crate::common::files::{fixture, fixtures, is_temporary};
use crate::common::program::{for_each, perfconv, perfconv_with_signals, run, succeed};
use crate::common::tables::convert;
use crate::common::tables::{TABLES, paths, recordings};
use serde_json::Value;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

#[test]
fn a_union_of_datasets_equals_a_dataset_of_all() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let of_machines = recordings(directory.path(), 20);
    let (all, union) = (directory.path().join("all"), directory.path().join("union"));
    succeed(perfconv().args(&of_machines).args(["-t", "parquet", "-q", "-J", "2", "--symbols", "no", "-o"]).arg(&all));
    let numbers: Vec<_> = (0..of_machines.len()).collect();
    for_each(&numbers, |&number| {
        convert(&of_machines[number], &directory.path().join(format!("ds{number}")), &["--symbols", "no"]).unwrap();
    });
    for number in numbers {
        let dataset = directory.path().join(format!("ds{number}"));
        for path in paths(&dataset) {
            let target = union.join(&path);
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(dataset.join(&path), target).unwrap();
        }
    }
    assert_eq!(paths(&all), paths(&union));
    assert_eq!(paths(&all).len(), 20 * TABLES);
    let read: Vec<_> = read(clients, &[all, union]).into_iter().map(Result::unwrap).collect();
    assert_eq!(totals_of(&read[0]), totals_of(&read[1]));
    assert_eq!(read[0]["recordings"], 20);
    let samples: u64 = totals_of(&read[0]).values().map(|(samples, _)| samples).sum();
    assert_eq!(samples, 20 * 377);
    note!("tables: a union of 20 datasets equals one of 20 recordings: {samples} samples");
}

#[test]
fn converting_a_recording_again_replaces_its_rows() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let dataset = directory.path().join("out");
    let inputs = [fixture("callgraph.data"), fixture("tracepoints.data")];
    let mut seen = Vec::new();
    for args in [&["--append"][..], &["--append"], &["-f"], &["--append", "--symbols", "no"]] {
        succeed(perfconv().args(&inputs).args(["-t", "parquet", "-q", "-o"]).arg(&dataset).args(args));
        let read = read(clients, std::slice::from_ref(&dataset)).remove(0).unwrap();
        seen.push((paths(&dataset), totals_of(&read)));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
    let refused = run(perfconv().args(&inputs).args(["-t", "parquet", "-q", "-o"]).arg(&dataset));
    assert!(refused.failure().unwrap().contains("already exists"), "{refused:?}");
    let other = run(perfconv().arg(&inputs[0]).args(["-t", "parquet", "-q", "-f", "-o"]).arg(directory.path()));
    assert!(other.failure().unwrap().contains("other contents"), "{other:?}");
}

#[test]
fn an_anonymized_dataset_names_neither_processes_nor_the_input() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (input, dataset) = (directory.path().join("of-alice.data"), directory.path().join("out"));
    fs::copy(fixture("forks.data"), &input).unwrap();
    convert(&input, &dataset, &["--anonymize", "--records"]).unwrap();
    const TEXTS: &str = r#"
import glob, sys
import duckdb
for path in sorted(glob.glob(sys.argv[1] + "/**/*.parquet", recursive=True)):
    print(path, duckdb.execute(f"from read_parquet('{path}')").fetchall())
"#;
    let texts = programs::python(clients, TEXTS, &[&dataset]).unwrap();
    assert!(texts.contains("samples") && texts.contains("cpu-clock"), "{texts}");
    for secret in ["forky", "libc.so", "x86_64-linux-gnu", "of-alice"] {
        assert!(!texts.contains(secret), "{secret}: {texts}");
    }
}

#[test]
fn damaged_recordings_give_an_error_or_a_valid_dataset() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus");
    let mut inputs = Vec::new();
    for target in ["open", "stream", "sample", "rewrite", "record"] {
        inputs.extend(fs::read_dir(corpus.join(target)).unwrap().map(|entry| entry.unwrap().path()));
    }
    // Each truncated fixture, and with a byte changed.
    for (number, recording) in fixtures().iter().enumerate().filter(|(_, recording)| recording.path.is_file()) {
        let bytes = fs::read(&recording.path).unwrap();
        for eighth in 1..8 {
            let at = bytes.len() * eighth / 8;
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            for (kind, bytes) in [("truncated", &bytes[..at]), ("changed", &changed[..])] {
                let path = directory.path().join(format!("{number}-{eighth}-{kind}.data"));
                fs::write(&path, bytes).unwrap();
                inputs.push(path);
            }
        }
    }
    let numbers: Vec<_> = (0..inputs.len()).collect();
    let dataset = |number: usize| directory.path().join(format!("ds{number}"));
    let converted = for_each(&numbers, |&number| {
        let output = run(perfconv()
            .arg(&inputs[number])
            .args(["-t", "parquet", "-q", "--symbols", "no", "-o"])
            .arg(dataset(number)));
        assert!([0, 1].contains(&output.status), "{}: {output:?}", inputs[number].display());
        assert_eq!(output.status == 0, dataset(number).exists(), "{}", inputs[number].display());
        output.status == 0
    });
    let written: Vec<_> = numbers.iter().zip(&converted).filter(|(_, ok)| **ok).map(|(&number, _)| number).collect();
    let read = read(clients, &written.iter().map(|&number| dataset(number)).collect::<Vec<_>>());
    for (&number, result) in written.iter().zip(&read) {
        assert!(result.is_ok(), "{}: {result:?}", inputs[number].display());
    }
    let (all, valid) = (inputs.len(), written.len());
    note!("tables: of {all} damaged recordings, {valid} give a valid dataset, {} an error", all - valid);
    assert!(valid >= 100, "only {valid} datasets");
    assert!(
        fs::read_dir(directory.path())
            .unwrap()
            .all(|entry| !is_temporary(&entry.unwrap().file_name().to_string_lossy()))
    );
}

#[test]
fn compacted_tables_have_the_rows_of_the_dataset() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let inputs = recordings(directory.path(), 20);
    let dataset = directory.path().join("dataset");
    succeed(perfconv().args(&inputs).args(["-t", "parquet", "-q", "-J", "2", "--symbols", "no", "-o"]).arg(&dataset));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/spark.md");
    let compact = directory.path().join("compact");
    let result = programs::python(clients, include_str!("compact.py"), &[&page, &dataset, &compact]).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    let rows = result["rows"].as_object().unwrap();
    assert!(rows.len() >= 5 && rows["samples"] == 20 * 377 && rows["recordings"] == 20, "{result}");
    assert_eq!(result["differ"], 0, "{result}");
    let (before, after) = (paths(&dataset).len(), paths(&compact).len());
    assert_eq!((before, after), (20 * TABLES, rows.len()));
    note!("tables: {before} files compacted to {after} with the same rows: {result}");
}

/// The number of tables below a directory. Files may be renamed and removed meanwhile.
fn count_tables(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let count = |entry: fs::DirEntry| match entry.file_name().to_string_lossy() {
        name if is_temporary(&name) => 0,
        name if name.ends_with(".parquet") => 1,
        _ => count_tables(&entry.path()),
    };
    entries.map(count).sum()
}

#[test]
fn a_killed_conversion_leaves_only_whole_files() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let inputs = recordings(directory.path(), 8);
    let dataset = directory.path().join("out");
    let start = || {
        let mut command = perfconv_with_signals();
        command
            .args(&inputs)
            .args(["-t", "parquet", "-q", "--symbols", "no", "--append", "-J", "1", "-o"])
            .arg(&dataset);
        command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program runs")
    };
    assert!(start().wait().unwrap().success());
    let expected = paths(&dataset);
    let existing = || if dataset.exists() { paths(&dataset) } else { Vec::new() };
    let (mut killed, mut partial, mut incomplete) = (0, 0, 0);
    for moment in 0..24 {
        fs::remove_dir_all(&dataset).unwrap();
        let mut child = start();
        // Once a share of the files exists.
        while child.try_wait().unwrap().is_none() && count_tables(&dataset) < expected.len() * moment / 24 {
            thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().signal() == Some(9));
        let existing = existing();
        let complete: Vec<_> = existing.iter().filter_map(|path| path.strip_prefix("recordings/")).collect();
        partial += usize::from(!complete.is_empty() && complete.len() < inputs.len());
        // A recording in the last table is in all others.
        for partition in &complete {
            let tables = existing.iter().filter(|path| path.ends_with(partition)).count();
            assert_eq!(tables, TABLES, "{partition}");
        }
        // The rows of an incomplete recording are no part of the dataset.
        for path in existing.iter().filter(|path| !complete.iter().any(|partition| path.ends_with(partition))) {
            fs::remove_file(dataset.join(path)).unwrap();
            incomplete += 1;
        }
        if !complete.is_empty() {
            let result = &read(clients, std::slice::from_ref(&dataset))[0];
            assert!(result.is_ok(), "{result:?}");
        }
        assert!(start().wait().unwrap().success());
        assert_eq!(paths(&dataset), expected);
    }
    note!(
        "tables: {killed} conversions killed, {partial} with a part of the recordings; \
         {incomplete} files of incomplete recordings ignored"
    );
    // Fewer than 24 on a busy machine: a run may end while its files are counted.
    assert!(killed >= 6 && partial >= 1, "{killed} killed, {partial} with a part of the recordings");
}
