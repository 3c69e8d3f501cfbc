//! The sums of `report --ratio` are those of `perf script`, added up by awk.

use crate::common::files;
use crate::common::oracle::has_program;
use crate::common::program::{perfconv, run, run_other, with_time_limit};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// Values and samples of the numerator and the denominator, by thread.
type Sums = BTreeMap<i64, [[u64; 2]; 2]>;

/// Prints thread, event, sum and number of the lines `tid period event:`.
const ADD: &str = r#"{ key = $1 " " substr($3, 1, length($3) - 1); sum[key] += $2; count[key]++ }
    END { for (key in sum) printf "%s %.0f %d\n", key, sum[key], count[key] }"#;

fn sums_of_perf(path: &Path, events: &[String; 2]) -> Sums {
    let args = ["script", "--no-itrace", "-F", "tid,period,event", "-i"];
    let text = run_other(with_time_limit("perf").args(args).arg(path).env("LC_ALL", "C")).stdout;
    let mut awk = with_time_limit("awk");
    let mut awk = awk.arg(ADD).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("awk");
    let mut input = awk.stdin.take().expect("standard input");
    let writer = std::thread::spawn(move || input.write_all(&text));
    let added = awk.wait_with_output().expect("an output").stdout;
    writer.join().expect("a thread").expect("standard input of awk");
    let mut sums = Sums::new();
    for line in String::from_utf8_lossy(&added).lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [tid, event, sum, count] = words[..] else { continue };
        let Some(side) = events.iter().position(|name| name == event) else { continue };
        let numbers = [sum, count].map(|number| number.parse().expect("a number"));
        sums.entry(tid.parse().expect("a thread")).or_default()[side] = numbers;
    }
    sums
}

fn own_sums(path: &Path, events: &[String; 2]) -> Option<Sums> {
    let ratio = events.join("/");
    let args = ["--ratio", &ratio, "--sort", "tid", "--no-children", "--csv", "--symbols", "no", "-q"];
    let run = run(perfconv().arg("report").arg(path).args(args));
    let mut table = csv::Reader::from_reader(&*run.stdout);
    let row = |row: BTreeMap<String, String>| {
        let numbers = |side: &str| ["value", "samples"].map(|kind| row[&format!("{side}_{kind}")].parse().unwrap_or(0));
        (row["tid"].parse().unwrap_or(-1), ["numerator", "denominator"].map(numbers))
    };
    (run.status == 0).then(|| table.deserialize().map(|read| row(read.expect("a row"))).collect())
}

/// The first two events of a recording with samples, unless perf's text does not distinguish their names.
fn events(path: &Path) -> Option<[String; 2]> {
    let run = run(perfconv().arg("report").arg(path).args(["--json", "--limit", "1", "--symbols", "no", "-q"]));
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).ok()?;
    let names = report["events"].as_array()?.iter().map(|event| event["event"].as_str().map(str::to_owned));
    let names: Vec<String> = names.collect::<Option<_>>()?;
    let is_plain =
        |name: &String| !name.contains(['/', ' ', ',']) && names.iter().filter(|other| *other == name).count() == 1;
    let plain: Vec<&String> = names.iter().filter(|name| is_plain(name)).collect();
    Some([(*plain.first()?).clone(), (*plain.get(1)?).clone()])
}

#[test]
fn sums_of_ratios_equal_those_of_perf_script() {
    if !has_program("perf") || !has_program("awk") {
        return;
    }
    let (mut recordings, mut threads, mut skipped) = (0, 0, 0);
    for recording in files::share(4) {
        let Some(events) = events(&recording.path) else { continue };
        let (Some(own), perf) = (own_sums(&recording.path, &events), sums_of_perf(&recording.path, &events)) else {
            continue;
        };
        // perf reads fewer recordings, and prints no threads or periods of some.
        if perf.is_empty() || perf.keys().any(|tid| !own.contains_key(tid)) {
            skipped += 1;
            continue;
        }
        for (tid, sums) in &perf {
            assert_eq!(own[tid], *sums, "{}: {tid} {events:?}", recording.name);
        }
        recordings += 1;
        threads += perf.len();
    }
    note!(
        "ratios: sums of {recordings} recordings, {threads} threads equal awk over perf script; {skipped} not printed by perf"
    );
    assert!(recordings >= if files::has_corpus("ratios") { 10 } else { 1 }, "{recordings}");
}
