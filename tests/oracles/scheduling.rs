//! `report --sched` has the times of `perf sched timehist`.

use crate::common::files;
use crate::common::oracle::has_program;
use crate::common::program::{perfconv, run, run_other, with_time_limit};
use std::collections::BTreeMap;
use std::path::Path;

/// Times of a thread in microseconds: how often it ran, how long, its waits, and how long it was delayed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Times {
    switches: u64,
    running: u64,
    waits: u64,
    delayed: u64,
}

/// Threads by ID, from the table `comm[tid]  parent  sched-in  run-time  sleep  iowait  preempt  delay`.
fn times_of_perf(path: &Path) -> BTreeMap<u64, Times> {
    let args = ["sched", "timehist", "-s", "--state", "-i"];
    let run = run_other(with_time_limit("perf").args(args).arg(path).env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let thread = |line: &str| {
        let (task, columns) = line.rsplit_once(']')?;
        let task = task.rsplit_once('[')?.1.split('/').next()?.parse().ok()?;
        let columns: Vec<&str> = columns.split_ascii_whitespace().collect();
        // "0.338" milliseconds.
        let time = |column: usize| columns.get(column)?.replace('.', "").parse::<u64>().ok();
        let times = Times {
            switches: columns.get(1)?.parse().ok()?,
            running: time(2)?,
            waits: time(3)? + time(4)? + time(5)?,
            delayed: time(6)?,
        };
        Some((task, times))
    };
    text.lines().filter_map(thread).collect()
}

fn own_times(path: &Path) -> BTreeMap<u64, Times> {
    let run = run(perfconv().arg("report").arg(path).args(["--sched", "--csv", "--symbols", "no", "-q"]));
    let mut table = csv::Reader::from_reader(&*run.stdout);
    let thread = |row: BTreeMap<String, String>| {
        let number = |column: &str| row[column].parse::<u64>().unwrap();
        let microseconds = |column: &str| number(column) / 1000;
        let waits = ["blocked_ns", "uninterruptible_ns", "preempted_ns"].map(microseconds).iter().sum();
        let (running, delayed) = (microseconds("running_ns"), microseconds("delayed_ns"));
        (number("tid"), Times { switches: number("switches"), running, waits, delayed })
    };
    table.deserialize().map(|row| thread(row.unwrap())).collect()
}

#[test]
fn times_equal_those_of_perf_sched_timehist() {
    if !has_program("perf") {
        return;
    }
    let (mut recordings, mut threads, mut unfinished) = (0, 0, 0);
    // Those of all CPUs: others show no thread that begins to run.
    let is_traced = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sched."));
    for recording in files::recordings() {
        let is_source = recording.name.ends_with("inj-sched-src.data");
        if !is_traced(&recording.path) && !is_source {
            continue;
        }
        let (perf, own) = (times_of_perf(&recording.path), own_times(&recording.path));
        for (tid, times) in &perf {
            let own = own.get(tid).unwrap_or_else(|| panic!("{}: no thread {tid}", recording.name));
            assert_eq!((own.switches, own.running), (times.switches, times.running), "{}: {tid}", recording.name);
            // perf adds a wait when the thread stops again, which not all threads do before the end.
            let is_equal = own.waits == times.waits && own.delayed == times.delayed;
            assert!(is_equal || own.waits >= times.waits && own.delayed >= times.delayed, "{own:?} {times:?}");
            unfinished += usize::from(!is_equal);
        }
        recordings += usize::from(!perf.is_empty());
        threads += perf.len();
    }
    note!("{recordings} recordings, {threads} threads equal perf's, {unfinished} of them with a wait that perf omits");
    assert!(
        !files::has_corpus("scheduling") || recordings >= 4 && 4 * unfinished < threads,
        "{recordings} {unfinished}"
    );
}
