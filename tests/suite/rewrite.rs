//! `perfconv rewrite`, `perfconv inject`, `--sort`, and the ledger of rewrite passes.

use crate::common::files::{fixture, has_corpus, recordings};
use crate::common::program::{for_each, perfconv, run, succeed};
use crate::common::rewrite::{SortResult, sort};
use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

#[test]
fn sort_puts_records_in_time_order() {
    let all = recordings();
    let (mut compared, mut unsorted, mut count, mut differing) = (0, 0, 0, Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| sort(&recording.path, None))) {
        match outcome {
            Some(SortResult::Same { records, was_sorted, .. }) => {
                (compared, unsorted) = (compared + 1, unsorted + usize::from(!was_sorted));
                count += records;
            }
            Some(SortResult::Differs(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => {}
        }
    }
    note!("sorted {compared} recordings with {count} records, {unsorted} of them unsorted before");
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), all.len(), differing.join("\n"));
    let enough = if has_corpus("sorting") { (500, 60) } else { (18, 3) };
    assert!(
        compared >= enough.0 && unsorted >= enough.1,
        "sorted only {compared} recordings, {unsorted} of them unsorted before"
    );
}

#[test]
fn rewrite_without_passes_preserves_all_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.pb");
    for name in ["callgraph.data", "pipe-compressed.data", "killed.data", "truncated.data", "big-endian.data"] {
        succeed(perfconv().arg("rewrite").arg(fixture(name)).args(["-f", "-o"]).arg(&output));
        assert!(fs::read(&output).unwrap() == fs::read(fixture(name)).unwrap(), "{name}: other bytes");
    }
    let other = run(perfconv().arg("rewrite").arg(fixture("plain.data")).args(["-t", "pprof", "-o", "unused"]));
    assert_eq!(
        (other.status, other.stderr.contains("this command writes only perf.data")),
        (2, true),
        "{}",
        other.stderr
    );
}

#[test]
fn inject_accepts_the_inputs_and_outputs_of_perf_inject() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    fs::write(&output, "something that is overwritten").unwrap();
    // A pipe written to a named file becomes a file, and standard output is a pipe.
    succeed(perfconv().args(["inject", "-i"]).arg(fixture("pipe.data")).arg("-o").arg(&output));
    assert_eq!(fs::read(&output).unwrap()[8], 104);
    let input = fs::File::open(fixture("callgraph.data")).unwrap();
    let piped = run(perfconv().arg("inject").stdin(Stdio::from(input)));
    assert_eq!((piped.status, piped.stdout.get(8)), (0, Some(&16)), "{}", piped.stderr);
}

#[test]
fn passes_run_in_command_line_order() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let rewrite = |args: &[&str]| {
        let run = run(perfconv().arg(fixture("plain.data")).args(["-f", "-q", "-o"]).arg(&output).args(args));
        (run.status, run.stderr)
    };
    assert_eq!(rewrite(&["--drop-feature", "hostname", "--add-feature", "hostname=x"]).0, 0);
    let (status, said) = rewrite(&["--add-feature", "hostname=x", "--drop-feature", "hostname"]);
    assert_eq!((status, said.contains("--add-feature: the recording already has HOSTNAME")), (1, true), "{said}");
}

#[test]
fn ledger_counts_records_dropped_by_passes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let args = ["--pass", "discard-unused", "--sort", "-v", "-o"];
    let run = succeed(perfconv().arg(fixture("callgraph.data")).args(args).arg(&output));
    let mut rows = BTreeMap::new();
    for line in run.stderr.lines() {
        let cells: Vec<_> = line.split_whitespace().collect();
        if let [kind, numbers @ ..] = &cells[..]
            && let Ok(numbers) = numbers.iter().map(|cell| cell.parse::<u64>()).collect::<Result<Vec<_>, _>>()
        {
            rows.insert((*kind).to_owned(), numbers);
        }
    }
    // Read, added, out, used, not applicable, left out, dropped.
    assert_eq!(rows["FINISHED_ROUND"], [2, 0, 0, 0, 0, 2, 0]);
    assert_eq!(rows["SAMPLE"], [377, 0, 377, 0, 0, 0, 0]);
    for (kind, row) in &rows {
        assert_eq!(row[0] + row[1], row[2..].iter().sum::<u64>(), "{kind}");
    }
}
