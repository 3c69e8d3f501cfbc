//! Recordings of `perf stat`: counters match `perf script` and `perf stat report`.

use crate::common::files;
use crate::common::oracle::has_program;
use crate::common::program::{perfconv, run_other, succeed, with_time_limit};
use perf_data::abi::Endian;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::source::Source;
use perfconv::inspect::info::counters::Counters;
use perfconv::inspect::info::{Info, Parts, read_info};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::tempdir;

/// A count: time of the round, event, CPU, thread; value, time enabled, time running.
type Count = (u64, String, i64, i64, [u64; 3]);

fn info(path: &Path) -> Option<Info> {
    let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).ok()?;
    read_info(source, Parts { stats: true, ..Parts::default() }).ok()
}

fn counters(info: &Info) -> Option<&Counters> {
    info.stats.as_ref()?.counters.as_ref()
}

fn perf(args: &[&str], path: &Path) -> Option<String> {
    let run = run_other(with_time_limit("perf").args(args).arg("-i").arg(path).env("LC_ALL", "C"));
    // perf stat report writes to standard error.
    (run.status == 0).then(|| String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr)
}

/// The counts printed by `perf script`.
fn counts_of_perf(path: &Path) -> Vec<Count> {
    let text = perf(&["script"], path).unwrap_or_default();
    let count = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let target = |at: usize| words.get(at)?.parse::<i64>().ok();
        let event = words.get(6..)?.join(" ");
        Some((number(5)?, event, target(0)?, target(1)?, [number(2)?, number(3)?, number(4)?]))
    };
    let mut counts: Vec<Count> = text.lines().filter_map(count).collect();
    counts.sort();
    counts
}

/// The counts in `counters.csv` that belong to a round. `perf stat record -I` writes the final counts after the last round,
/// where perf does not print them.
fn counts_of_table(path: &Path) -> Vec<Count> {
    let dir = tempdir().unwrap();
    let tables = dir.path().join("tables");
    succeed(perfconv().arg(path).args(["-t", "csv", "-q", "-o"]).arg(&tables));
    let mut table = csv::Reader::from_path(tables.join("counters.csv")).unwrap();
    let mut counts = Vec::new();
    for row in table.deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
        let number = |column: &str| row[column].parse::<u64>().unwrap();
        let target = |column: &str| if row[column].is_empty() { -1 } else { row[column].parse().unwrap() };
        let values = ["value", "enabled", "running"].map(number);
        if !row["time"].is_empty() {
            counts.push((number("time"), row["event"].clone(), target("cpu"), target("thread"), values));
        }
    }
    counts.sort();
    counts
}

/// The recordings of perf stat in the corpus.
fn recordings() -> Vec<(String, PathBuf, Info)> {
    let own = files::corpus().into_iter().filter(|recording| recording.name.contains("/stat"));
    let with_counters = own.filter_map(|recording| {
        let info = info(&recording.path).filter(|info| counters(info).is_some())?;
        Some((recording.name, recording.path, info))
    });
    with_counters.collect()
}

#[test]
fn counters_match_perf() {
    if !files::has_corpus("perf stat") || !has_program("perf") {
        return;
    }
    let dir = tempdir().unwrap();
    let (mut recordings_compared, mut counts_compared, mut totals_compared) = (0, 0, 0);
    let mut skipped = Vec::new();
    for (name, path, info) in recordings() {
        let readable = dir.path().join(name.replace('/', "-"));
        let mut rewrite = perfconv();
        rewrite.arg("rewrite").arg(&path).args(["--perf-version", "6.1", "-q", "-o"]).arg(&readable);
        succeed(&mut rewrite);
        let (theirs, ours) = (counts_of_perf(&readable), counts_of_table(&path));
        if theirs.is_empty() {
            skipped.push(name);
            continue;
        }
        assert_eq!(ours, theirs, "{name}");
        recordings_compared += 1;
        counts_compared += ours.len();
        let counters = counters(&info).unwrap();
        let rounds: BTreeSet<u64> = ours.iter().map(|count| count.0).collect();
        assert_eq!((counters.rounds, counters.time), (rounds.len() as u64, rounds.last().copied()), "{name}");
        // perf prints differences for intervals and counts per CPU, and does not swap the scale.
        let is_sum = counters.interval == Some(0) && counters.aggregation.as_deref() == Some("global");
        if is_sum && info.meta.endian == Endian::Little {
            let report = perf(&["stat", "report"], &readable).expect("perf stat report should read it");
            let lines: Vec<String> =
                report.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>().join(" ")).collect();
            for total in counters.totals() {
                assert!(lines.iter().any(|line| line.starts_with(&total)), "{name}: {total} is not in {report}");
                totals_compared += 1;
            }
        }
    }
    let mut out = io::stderr().lock();
    writeln!(
        out,
        "perf stat: {counts_compared} counts of {recordings_compared} recordings and {totals_compared} totals match perf"
    )
    .unwrap();
    writeln!(out, "perf stat: skipped {skipped:?}: perf 6.1 prints no counts").unwrap();
    assert!(recordings_compared >= 20 && totals_compared >= 15, "compared too few counts");
}
