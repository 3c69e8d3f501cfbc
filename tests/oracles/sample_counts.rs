//! Sample counts and period sums by event match `perf script`.

use crate::common::files::{self, Recording};
use crate::common::oracle::has_program;
use crate::common::program;
use perfconv::formats::pprof::proto::Profile;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::Stdio;

/// The minimum numbers of compared recordings, and of those with counter values of groups.
const MINIMUM: (usize, usize) = (220, 12);

const MINIMUM_OF_FIXTURES: (usize, usize) = (10, 1);

#[derive(Default)]
struct Comparison {
    samples: u64,
    has_period: bool,
    has_group: bool,
}

#[test]
fn sample_counts_and_periods_match_perf() {
    if !has_program("perf") {
        return;
    }
    let recordings = files::recordings();
    let results = program::for_each(&recordings, compare);
    let (mut compared, mut groups, mut with_period, mut samples) = (0, 0, 0, 0);
    let (mut skipped, mut failures) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(&results) {
        match result {
            Ok(Ok(found)) => {
                (compared, samples) = (compared + 1, samples + found.samples);
                groups += usize::from(found.has_group);
                with_period += usize::from(found.has_period);
            }
            Ok(Err(reason)) => *skipped.entry(reason).or_default() += 1,
            Err(error) => failures.push(format!("{}: {error}", recording.name)),
        }
    }
    let mut out = io::stderr().lock();
    let what = format!("{with_period} also with periods, {groups} with counter values of groups");
    writeln!(out, "values: {samples} samples of {compared} recordings compared with perf script, {what}").unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    let enough = if files::has_corpus("values") { MINIMUM } else { MINIMUM_OF_FIXTURES };
    assert!(
        compared >= enough.0 && groups >= enough.1,
        "compared {compared} recordings and {groups} with groups, expected {enough:?}"
    );
}

/// The number of samples and the sum of their periods, by event.
type Values = BTreeMap<String, (u64, u64)>;

fn compare(recording: &Recording) -> Result<Result<Comparison, &'static str>, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("out.pb.gz");
    if program::convert(&recording.path, &output).status != 0 {
        return Ok(Err("unreadable"));
    }
    let (by_perf, has_period) = match values_by_perf(recording) {
        Ok(values) => values,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut ours = values(&program::profile(&output), &by_perf);
    if !has_period {
        ours.values_mut().for_each(|value| value.1 = 0);
    }
    // Recordings of simpleperf have no event names, and perf derives others.
    let is_unnamed = recording.name.contains("simpleperf/");
    let is_same = if is_unnamed { sorted(&ours) == sorted(&by_perf) } else { ours == by_perf };
    if !is_same {
        return Err(format!("{ours:?}, perf {by_perf:?}"));
    }
    let samples = by_perf.values().map(|(samples, _)| samples).sum();
    let has_group = crate::common::independent_scan::Scan::read(&recording.path).group_reads;
    Ok(Ok(Comparison { samples, has_period, has_group }))
}

fn sorted(values: &Values) -> Vec<(u64, u64)> {
    let mut values: Vec<_> = values.values().copied().collect();
    values.sort_unstable();
    values
}

/// The sums of a profile, by perf's event names.
fn values(profile: &Profile, by_perf: &Values) -> Values {
    let mut values = Values::new();
    for pair in (0..profile.sample_type.len()).step_by(2) {
        let sum = |column: usize| profile.sample.iter().map(|sample| sample.value[column] as u64).sum::<u64>();
        let (name, _) = program::column(profile, &profile.sample_type[pair + 1]);
        // A single event's columns may have other names; a number distinguishes events of the same name.
        let name = match by_perf.keys().next() {
            Some(only) if profile.sample_type.len() == 2 => only,
            _ => name.split('#').next().unwrap_or(name),
        };
        let value: &mut (u64, u64) = values.entry(name.to_owned()).or_default();
        *value = (value.0 + sum(pair), value.1 + sum(pair + 1));
    }
    values.retain(|_, (samples, _)| *samples > 0);
    values
}

/// The sums of what perf prints, and whether periods are included.
fn values_by_perf(recording: &Recording) -> Result<(Values, bool), &'static str> {
    let mut reason = "perf cannot read it";
    for fields in ["event,period", "event"] {
        let mut perf = program::with_time_limit("perf");
        perf.args(["script", "--force", "--no-itrace", "-F", fields, "-i"]).arg(&recording.path);
        perf.env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C").stdin(Stdio::null());
        let output = perf.output().expect("timeout(1) should run");
        match output.status.code() {
            Some(0) => {}
            Some(127) => return Err("perf is not installed"),
            _ => continue,
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut values = Values::new();
        // For pipes, perf also prints frames.
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('\t')) {
            let line = line.trim();
            let (period, name) = if fields == "event" { ("0", line) } else { line.split_once(' ').unwrap_or(("", "")) };
            let (Ok(period), Some(name)) = (period.parse::<u64>(), name.trim().strip_suffix(':')) else {
                reason = "perf prints other fields";
                values.clear();
                break;
            };
            let value = values.entry(name.to_owned()).or_default();
            *value = (value.0 + 1, value.1 + period);
        }
        if !values.is_empty() {
            return Ok((values, fields != "event"));
        }
    }
    Err(reason)
}
