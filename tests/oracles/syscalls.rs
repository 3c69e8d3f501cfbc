//! `report --syscalls` has the calls, errors and times of `perf trace -s`.

use crate::common::files;
use crate::common::oracle::has_program;
use crate::common::program::{perfconv, run, run_other, succeed, with_time_limit};
use memchr::memmem;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A system call of a thread: name, calls, errors, then total, shortest, mean and longest time in milliseconds, and the standard error.
type Row = (String, u64, u64, [String; 5]);

/// Tables by thread: a line `comm PID/TID: ...` or ` comm (TID), ...`, then rows.
fn tables(
    text: &str,
    tid: impl Fn(&str) -> Option<u64>,
    row: impl Fn(&[&str]) -> Option<Row>,
) -> BTreeMap<u64, Vec<Row>> {
    let mut tables: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(tid) = tid(line) {
            current = Some(tid);
        } else if let (Some(tid), Some(row)) = (current, row(&line.split_ascii_whitespace().collect::<Vec<_>>())) {
            tables.entry(tid).or_default().push(row);
        }
    }
    tables.values_mut().for_each(|rows| rows.sort());
    tables
}

/// perf cannot read the attrs of newer versions.
fn perf_tables(recording: &Path, directory: &Path) -> BTreeMap<u64, Vec<Row>> {
    let path = directory.join("old.data");
    succeed(perfconv().arg("rewrite").arg(recording).arg("-o").arg(&path).args(["--perf-version", "6.1", "-f", "-q"]));
    let run = run_other(with_time_limit("perf").args(["trace", "-s", "-i"]).arg(&path).env("LC_ALL", "C"));
    let text = [run.stdout, run.stderr.into_bytes()].concat();
    let tid = |line: &str| line.split_once(" (")?.1.split_once("), ")?.0.parse().ok();
    let row = |cells: &[&str]| {
        let [name, calls, errors, total, min, mean, max, error] = cells else { return None };
        let times = [total, min, mean, max, &error.strip_suffix('%')?].map(|cell| (*cell).to_owned());
        Some(((*name).to_owned(), calls.parse().ok()?, errors.parse().ok()?, times))
    };
    tables(&String::from_utf8_lossy(&text), tid, row)
}

fn own_tables(text: &str) -> BTreeMap<u64, Vec<Row>> {
    let tid = |line: &str| line.split_once(": ")?.0.rsplit_once('/')?.1.parse().ok();
    let row = |cells: &[&str]| {
        let [calls, errors, total, min, mean, max, error, name] = cells else { return None };
        let milliseconds = |cell: &&str| format!("{:.3}", cell.parse::<f64>().unwrap_or(0.0) / 1000.0);
        let [total, min, mean, max] = [total, min, mean, max].map(milliseconds);
        let times = [total, min, mean, max, (*error).to_owned()];
        Some(((*name).to_owned(), calls.parse().ok()?, errors.parse().ok()?, times))
    };
    tables(text, tid, row)
}

#[test]
fn calls_and_times_equal_those_of_perf_trace() {
    if !has_program("perf") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut recordings, mut threads, mut rows, mut named) = (0, 0, 0, 0);
    // The format of the event is in all of its recordings, uncompressed.
    let has_exits = |path: &Path| fs::read(path).is_ok_and(|bytes| memmem::find(&bytes, b"name: sys_exit\n").is_some());
    for recording in files::recordings().into_iter().filter(|recording| has_exits(&recording.path)) {
        let args = ["--syscalls", "--limit", "10000", "--symbols", "no", "-q"];
        let run = run(perfconv().arg("report").arg(&recording.path).args(args));
        let own = own_tables(&String::from_utf8_lossy(&run.stdout));
        if run.status != 0 || own.is_empty() {
            continue;
        }
        let perf = perf_tables(&recording.path, directory.path());
        // It reads raw_syscalls only, of all attributes of a recording.
        if perf.is_empty() {
            continue;
        }
        assert_eq!(own.len(), perf.len(), "{}", recording.name);
        // perf's names are those of its own machine.
        let is_foreign = ["arm", "s390x", "ppc64", "riscv"].iter().any(|arch| recording.name.contains(arch));
        for (tid, perf) in perf {
            let own = &own[&tid];
            if is_foreign {
                // It omits those whose number is none of its own machine.
                let is_own = |row: &Row| {
                    own.iter().any(|(_, calls, errors, times)| (calls, errors, times) == (&row.1, &row.2, &row.3))
                };
                assert!(perf.iter().all(is_own), "{}: {tid}: {own:?} {perf:?}", recording.name);
            } else {
                assert_eq!(*own, perf, "{}: {tid}", recording.name);
                named += perf.len();
            }
            (threads, rows) = (threads + 1, rows + perf.len());
        }
        recordings += 1;
    }
    note!("{recordings} recordings, {threads} threads, {rows} rows equal perf trace's, {named} with their names");
    assert!(
        !files::has_corpus("system calls") || recordings >= 6 && rows > 100 && named > 80,
        "{recordings} {rows} {named}"
    );
}
