//! `report --sched` has the times of `perf sched timehist` and the delays of `perf sched latency`.

use crate::common::files;
use crate::common::oracle::has_program;
use crate::common::program::{perfconv, run, run_other, succeed, with_time_limit};
use crate::common::scenarios::{scenario, synth};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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

/// Recordings of all CPUs with these events of the scheduler: that of a scenario, and those of the corpus.
fn traced(directory: &Path) -> Vec<PathBuf> {
    let own = directory.join("scheduler.data");
    synth(&scenario("scheduler.toml"), &own, &["-q"]);
    let is_traced =
        |path: &Path| path.file_name().is_some_and(|name| name == "sched.data" || name == "inj-sched-src.data");
    let recordings = files::recordings().into_iter().map(|recording| recording.path);
    let traced = recordings.filter(|path| is_traced(path)).enumerate().map(|(number, recording)| {
        // Without statistics of the scheduler, from which perf derives delays that began before the recording.
        let path = directory.join(format!("{number}.data"));
        let mut command = perfconv();
        command.arg(recording).args(["--event", "sched:sched_switch,sched:sched_waking", "-q", "-o"]);
        (run(command.arg(&path)).status == 0).then_some(path)
    });
    [own].into_iter().chain(traced.flatten()).collect()
}

/// The recording as JSON Lines.
fn json_lines(path: &Path) -> String {
    let text = succeed(perfconv().arg(path).args(["-t", "jsonl", "-q", "-o", "-"])).stdout;
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Writes a recording of JSON Lines.
fn write_lines(directory: &Path, name: &str, lines: &str) -> PathBuf {
    let (text, path) = (directory.join(name).with_extension("jsonl"), directory.join(name));
    fs::write(&text, lines).expect("a file");
    succeed(perfconv().arg(text).args(["-q", "-f", "-o"]).arg(&path));
    path
}

/// Delays of a thread: how often, the sum in milliseconds, the longest, and when that ended, in microseconds.
#[derive(Debug)]
struct Delays {
    count: u64,
    average: f64,
    longest: u64,
    end: u64,
}

/// By thread, from `comm:tid | runtime | count | avg: ms | max: ms | max start: s | max end: s`.
fn delays_of_perf(path: &Path) -> BTreeMap<u64, Delays> {
    let args = ["sched", "latency", "-p", "-i"];
    let run = run_other(with_time_limit("perf").args(args).arg(path).env("LC_ALL", "C"));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let thread = |line: &str| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [task, _, count, average, longest, _, end, ..] = columns[..] else { return None };
        let number = |text: &str| text.split(':').nth(1)?.split_ascii_whitespace().next()?.parse::<f64>().ok();
        let delays = Delays {
            count: count.parse().ok()?,
            average: number(average)?,
            longest: (number(longest)? * 1000.0).round() as u64,
            end: (number(end)? * 1e6).round() as u64,
        };
        Some((task.rsplit_once(':')?.1.parse().ok()?, delays))
    };
    text.lines().filter_map(thread).collect()
}

/// perf 6.1 only knows wakeups as `sched_wakeup`; later versions also `sched_waking`. Both have the same fields.
#[test]
fn delays_equal_those_of_perf_sched_latency() {
    if !has_program("perf") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut recordings, mut equal, mut less) = (0, 0, 0);
    for (number, path) in traced(directory.path()).into_iter().enumerate() {
        let renamed = json_lines(&path).replace("sched_waking", "sched_wakeup");
        let path = write_lines(directory.path(), &format!("{number}-renamed.data"), &renamed);
        let perf = delays_of_perf(&path);
        let csv = run(perfconv().arg("report").arg(&path).args(["--sched", "--csv", "--symbols", "no", "-q"])).stdout;
        let mut table = csv::Reader::from_reader(&*csv);
        for row in table.deserialize::<BTreeMap<String, String>>() {
            let row = row.expect("a row");
            let number = |column: &str| row[column].parse::<u64>().unwrap_or(0);
            let Some(delays) = perf.get(&number("tid")).filter(|delays| delays.longest > 0) else { continue };
            // perf rounds averages and the longest to microseconds, and counts preemptions as delays.
            let is_sum = |nanoseconds: u64| {
                let sum = delays.average * delays.count as f64;
                (sum - nanoseconds as f64 / 1e6).abs() <= 0.0005 * delays.count as f64 + 1e-9
            };
            let (delayed, preempted) = (number("delayed_ns"), number("preempted_ns"));
            let own = (number("worst_delay_ns").div_ceil(1000), number("worst_delay_end_ns") / 1000);
            let is_longest = own.0.abs_diff(delays.longest) <= 1 && own.1.abs_diff(delays.end) <= 1;
            if (is_sum(delayed + preempted) || is_sum(delayed)) && is_longest {
                equal += 1;
                continue;
            }
            // perf 6.1 omits preemptions of threads that it has not seen before.
            let is_less = delays.average * delays.count as f64 <= (delayed + preempted) as f64 / 1e6 + 0.001;
            assert!(preempted > 0 && is_less, "{}: {row:?} {delays:?}", path.display());
            less += 1;
        }
        recordings += usize::from(!perf.is_empty());
    }
    note!("perf sched latency: {recordings} recordings, {equal} threads equal, {less} of which perf omits preemptions");
    assert!(equal >= if files::has_corpus("delays") { 15 } else { 2 } && 4 * less <= equal, "{equal} {less}");
}

/// perf guesses what happened at lost switches: that a thread ran since the one before on its CPU, or waited until the next one to it.
/// Complete intervals are never longer.
#[test]
fn lost_switches_add_no_time() {
    if !has_program("perf") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut recordings, mut threads, mut equal) = (0, 0, 0);
    for (number, path) in traced(directory.path()).into_iter().enumerate() {
        let (mut kept, mut samples) = (String::new(), 0);
        for line in json_lines(&path).lines() {
            samples += usize::from(line.starts_with("{\"record\":\"SAMPLE\""));
            if line.starts_with("{\"record\":\"SAMPLE\"") && samples.is_multiple_of(11) {
                let number = |key: &str| {
                    let (_, rest) = line.split_once(&format!("\"{key}\":")).expect("a field");
                    rest.split_once(',').expect("another field").0
                };
                let (time, id) = (number("time"), number("identifier"));
                kept += &format!(
                    "{{\"record\":\"LOST\",\"body\":{{\"id\":1,\"lost\":1}},\"sample_id\":{{\"task\":{{\"pid\":0,\"tid\":0}},\
                     \"time\":{time},\"cpu\":{{\"cpu\":0,\"res\":0}},\"identifier\":{id}}}}}\n"
                );
                continue;
            }
            kept += line;
            kept.push('\n');
        }
        if samples < 22 {
            continue;
        }
        let path = write_lines(directory.path(), &format!("{number}-lost.data"), &kept);
        let time = |line: &str| line.split_once("\"time\":")?.1.split_once(',')?.0.parse::<u64>().ok();
        let times: Vec<u64> = kept.lines().filter(|line| line.contains("\"SAMPLE\"")).filter_map(time).collect();
        let passed = times.iter().max().zip(times.iter().min()).map_or(0, |(last, first)| last - first);
        let (perf, own) = (times_of_perf(&path), own_times(&path));
        for (tid, times) in &perf {
            let own = own.get(tid).unwrap_or_else(|| panic!("{}: no thread {tid}", path.display()));
            assert_eq!(own.switches, times.switches, "{}: {tid}", path.display());
            assert!(own.running <= times.running, "{tid}: {own:?} {times:?}");
            assert!(own.running + own.waits <= passed / 1000, "{tid}: {own:?} in {passed} ns");
            equal += usize::from(own.running == times.running);
        }
        recordings += usize::from(!perf.is_empty());
        threads += perf.len();
    }
    note!(
        "perf sched timehist with lost events: {recordings} recordings, {equal} of {threads} threads ran as long as with perf"
    );
    assert!(recordings >= if files::has_corpus("lost switches") { 2 } else { 1 }, "{recordings}");
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
