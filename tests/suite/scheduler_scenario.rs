//! Time off the CPU, delays, latency and spans of a recording of the scheduler whose answers follow from its scenario.

use crate::common::program::{perfconv, succeed};
use crate::common::scenarios::{scenario, synth};
use std::fs;
use std::path::{Path, PathBuf};

/// Thread 100 runs for 5 ms of every 10 ms, thread 101 for 2 ms, each 50 us after it is woken; the recording takes 100 ms.
fn recording(directory: &Path, change: impl Fn(String) -> String) -> PathBuf {
    let (file, path) = (directory.join("scenario.toml"), directory.join("in.data"));
    fs::write(&file, change(fs::read_to_string(scenario("scheduler.toml")).unwrap())).unwrap();
    synth(&file, &path, &["-q", "--force"]);
    path
}

fn output(path: &Path, args: &[&str]) -> (String, String) {
    let run = succeed(perfconv().args(args).arg(path).args(["--symbols", "no"]));
    (String::from_utf8(run.stdout).unwrap(), run.stderr)
}

#[test]
fn waits_delays_latency_and_spans_are_those_of_the_scenario() {
    let directory = tempfile::tempdir().unwrap();
    let path = recording(directory.path(), |text| text);
    let (text, messages) = output(&path, &["--off-cpu", "-t", "folded", "--labels", "tid,state", "-o", "-"]);
    let sum = |text: &str, part: &str| {
        let lines = text.lines().filter(|line| line.contains(part));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum::<u64>()
    };
    // 9 waits of each: those at the end do not end.
    assert_eq!((sum(&text, "/100;state blocked"), sum(&text, "/101;state blocked")), (9 * 5_000_000, 9 * 8_000_000));
    assert!(messages.contains("0.117000 s in 18 waits"), "{messages}");
    let (csv, _) = output(&path, &["report", "--sched", "--csv", "-q"]);
    let mut table = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<std::collections::BTreeMap<String, String>> = table.deserialize().map(Result::unwrap).collect();
    let row = |tid: &str| {
        let row = rows.iter().find(|row| row["tid"] == tid).unwrap_or_else(|| panic!("{csv}"));
        ["running_ns", "blocked_ns", "preempted_ns", "delayed_ns", "switches"]
            .map(|name| row[name].parse::<u64>().unwrap())
    };
    assert_eq!(row("100"), [10 * 5_000_000, 9 * 5_000_000, 0, 9 * 50_000 + 50_000, 10]);
    assert_eq!(row("101"), [10 * 2_000_000, 9 * 8_000_000, 0, 9 * 50_000 + 50_000, 10]);
    // Both run for 2 ms of every 10 ms, thread 100 alone for 3 ms: something ran for 50 ms.
    let (text, _) = output(&path, &["--weight", "latency", "--event", "cpu-clock", "-t", "folded", "-o", "-"]);
    assert_eq!(sum(&text, ""), 50_000_000, "{text}");
    let (csv, messages) =
        output(&path, &["report", "--span", "app:request..app:reply,by=id,arg=id", "--sort", "argument", "--csv"]);
    let lines: Vec<_> = csv
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().to_owned() + " " + line.split(',').next_back().unwrap())
        .collect();
    assert_eq!(lines, ["2 4000000", "1 2000000", "3 2000000"]);
    assert!(messages.contains("in no span: 2 begins without an end, 1 ends without a begin"), "{messages}");
}

#[test]
fn preempted_threads_are_those_that_could_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = recording(directory.path(), |text| text.replace("delay = \"50us\"", "state = 0"));
    let (text, _) = output(&path, &["--off-cpu", "-t", "folded", "--labels", "state", "-o", "-", "-q"]);
    assert!(text.lines().all(|line| line.starts_with("state preempted")) && !text.is_empty(), "{text}");
}

/// Of a switch that is lost, one of another order, and a loss of events: what is counted is said, and no sum exceeds the time that
/// passed times the CPUs.
#[test]
fn lost_and_reordered_switches_are_counted_and_never_add_time() {
    let directory = tempfile::tempdir().unwrap();
    let switch = |at: &str, rest: &str, prev: u32, next: u32| {
        format!(
            "[[sample]]\nevent = \"sched:sched_switch\"\nat = \"{at}\"\n{rest}pid = 100\ntid = {prev}\n\
             stack = {{ frames = [\"main\"], raw = {{ prev_pid = {prev}, prev_state = 1, next_pid = {next} }} }}\n"
        )
    };
    let extra = [
        // Thread 100 stops twice, and begins to run when it has not stopped.
        switch("57ms", "", 100, 0),
        switch("93ms", "", 101, 100),
        // Its own time is before that of the switch to it.
        switch("66ms", "time = \"64ms\"\n", 100, 101),
        "[[record]]\ntype = \"LOST\"\nat = \"36ms\"\nbody = { id = 1, lost = 7 }\n".to_owned(),
    ];
    let path = recording(directory.path(), |text| text.replace("[expect]", &format!("{}\n[expect]", extra.concat())));
    let (text, messages) = output(&path, &["--off-cpu", "-t", "folded", "--labels", "tid", "-o", "-"]);
    for message in ["lack a switch", "waits during which events were lost"] {
        assert!(messages.contains(message), "{message}: {messages}");
    }
    let mut total = 0;
    for tid in [100, 101] {
        let lines = text.lines().filter(|line| line.contains(&format!("/{tid}")));
        let sum: u64 = lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
        assert!(sum > 0 && sum <= 100_000_000, "{tid}: {sum}");
        total += sum;
    }
    let (csv, _) = output(&path, &["report", "--sched", "--csv", "-q"]);
    let mut table = csv::Reader::from_reader(csv.as_bytes());
    let rows: Vec<std::collections::BTreeMap<String, String>> = table.deserialize().map(Result::unwrap).collect();
    let running: u64 = rows.iter().map(|row| row["running_ns"].parse::<u64>().unwrap()).sum();
    assert!(running <= 2 * 100_000_000 && total <= 2 * 100_000_000, "{running} {total}");
}
