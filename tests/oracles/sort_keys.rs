//! `perf report --sort` by time, socket, cgroup, weight and the text of tracepoints, compared with perf 6.1.

use super::perf_commands::{ReportDirectory, UNREADABLE, has_perf};
use crate::common::files::{Recording, share};
use crate::common::program::{for_each, perfconv, run, run_other, succeed, with_time_limit};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Options to compare. perf truncates texts of tracepoints to a width that it determines before it knows all of them, unless one is given.
const KEYS: [&[&str]; 10] = [
    &["--sort", "time"],
    &["--sort", "time,comm", "--ns"],
    &["--sort", "comm,time", "--time-quantum", "10ms"],
    &["--sort", "socket,cpu"],
    &["--sort", "cpu,socket", "-w", "0,4,8"],
    &["--sort", "cgroup"],
    &["--sort", "weight,comm"],
    &["--sort", "local_weight,weight"],
    &["--sort", "trace", "-w", "0,1000"],
    &["--sort", "trace,pid", "-w", "0,1000,30"],
];

/// One recording of so many of the corpus is compared.
const ONE_OF: usize = 12;

/// Size of the largest recording that is compared.
const MAX_SIZE: u64 = 1_000_000;

/// Threads on CPUs of two sockets, with weights.
const SOCKETS: &str = r#"
about = "Threads on CPUs of two sockets"
seed = 3
duration = "1s"
[machine]
cpus = 4
[feature.CPU_TOPOLOGY]
cores = { strings = ["0-1", "2-3"] }
threads = { strings = ["0", "1", "2", "3"] }
cpus = [{ core_id = 0, socket_id = 0 }, { core_id = 1, socket_id = 0 }, { core_id = 0, socket_id = 1 }, { core_id = 1, socket_id = 1 }]
[[event]]
name = "cpu-clock"
rate = 100
fields = ["CPU", "WEIGHT"]
[[program]]
path = "/usr/bin/app"
functions = ["main"]
[[process]]
pid = 7
comm = "app"
programs = ["/usr/bin/app"]
[[process.thread]]
cpu = 0
stack = [
    { percent = 60, frames = ["main"], sample = { weight = { VAR1_DW = 4 } } },
    { percent = 40, frames = ["main"], sample = { weight = { VAR1_DW = 9 } } },
]
[[process.thread]]
tid = 8
cpu = 3
busy = 50
stack = [{ percent = 100, frames = ["main"] }]
"#;

/// The rows of a report with their numbers, in any order, without the tip at its end.
fn rows(text: &[u8]) -> BTreeMap<String, usize> {
    let mut rows = BTreeMap::new();
    let text = String::from_utf8_lossy(text);
    let lines = text.lines().filter(|line| !line.starts_with("# (Tip: ") && !line.trim().is_empty());
    lines.for_each(|line| *rows.entry(line.trim_end().to_owned()).or_default() += 1);
    rows
}

#[test]
fn rows_by_further_keys_equal_those_of_perf() {
    if !has_perf() {
        return;
    }
    let directory = ReportDirectory::new();
    let (scenario, sockets) = (directory.path().join("sockets.toml"), directory.path().join("sockets.data"));
    fs::write(&scenario, SOCKETS).unwrap();
    succeed(perfconv().arg("synth").arg(&scenario).args(["-q", "-o"]).arg(&sockets));
    let mut list: Vec<_> = share(ONE_OF)
        .into_iter()
        .filter(|recording| fs::metadata(&recording.path).is_ok_and(|file| file.is_file() && file.len() <= MAX_SIZE))
        .collect();
    list.push(Recording { name: "sockets".to_owned(), path: sockets, listed_samples: None });
    let (mut compared, mut unread, mut refused, mut different) = (0, 0, 0, Vec::new());
    let mut distinct = BTreeSet::new();
    for keys in KEYS {
        let results = for_each(&list, |recording| {
            let arguments = ["--stdio", "--no-inline", "-g", "none", "--no-children", "--no-itrace", "--force", "-i"];
            let mut theirs = with_time_limit("perf");
            theirs.env("HOME", directory.path()).arg("report").args(keys).args(arguments).arg(&recording.path);
            let theirs = run_other(&mut theirs);
            let mut ours = perfconv();
            ours.env("HOME", directory.path()).args(["perf", "report"]).args(keys).args(arguments).arg(&recording.path);
            let ours = run(&mut ours);
            (theirs, ours)
        });
        for ((theirs, ours), recording) in results.into_iter().zip(&list) {
            let is_unreadable = UNREADABLE.iter().any(|problem| theirs.stderr.contains(problem));
            if theirs.status != 0 || theirs.stdout.is_empty() || is_unreadable {
                unread += 1;
            } else if ours.status != 0 {
                refused += 1;
            } else {
                let [theirs, ours] = [rows(&theirs.stdout), rows(&ours.stdout)];
                compared += 1;
                if theirs != ours {
                    let row = theirs.iter().find(|row| ours.get(row.0) != Some(row.1)).map(|row| row.0.clone());
                    different.push(format!("{keys:?} {}: {row:?}", recording.name));
                }
                distinct.extend(theirs.into_keys());
            }
        }
    }
    println!(
        "{compared} reports with {} different rows, {unread} that perf cannot read, {refused} refused",
        distinct.len()
    );
    println!("different: {different:#?}");
    assert!(compared >= 100 && distinct.len() >= 500, "{compared} {}", distinct.len());
    // Names are truncated between characters, not within one.
    assert!(different.len() * 100 <= compared * 2, "{} of {compared} differ", different.len());
}
