//! Samples and values by thread and event, in a profile and in the outputs of a format.

use crate::common::files::{self, Recording};
use crate::common::program::{self, perfconv, run};
use perfconv::profile::labels::{Label, LabelKey};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Samples and value by `pid/tid` and name of the event.
pub(crate) type Totals = BTreeMap<(String, String), (u64, u64)>;

/// The totals of a recording's profile; an error if it has none.
pub(crate) fn of_recording(path: &Path) -> Result<Totals, String> {
    let recording = perfconv::Recording::open(path).map_err(|error| error.to_string())?;
    let profile = recording.profile().labels([Label::Pid, Label::Tid]).collect();
    let (profile, _) = match profile {
        Ok(profile) => profile,
        // Without threads.
        Err(_) => recording.profile().labels([]).collect().map_err(|error| error.to_string())?,
    };
    let mut totals = Totals::new();
    for row in &profile.rows {
        let labels = profile.tables.labels.labels(row.labels);
        let value = |wanted| {
            labels.iter().find(|label| label.key == LabelKey::Known(wanted)).map(|label| label.value as u32 as i32)
        };
        let thread = match (value(Label::Pid), value(Label::Tid)) {
            (Some(pid), Some(tid)) => format!("{pid}/{tid}"),
            _ => String::new(),
        };
        let (samples, sum) =
            totals.entry((thread, profile.tables.events[row.event as usize].name.clone())).or_default();
        (*samples, *sum) = (*samples + row.samples, *sum + row.value);
    }
    Ok(totals)
}

/// Compares the totals of recordings with those of an output that `convert` writes. Prints what was compared and skipped, and
/// fails if a comparison does, or too few were made.
pub(crate) fn compare(
    format: &str,
    recordings: &[Recording],
    enough: usize,
    convert: impl Fn(&Recording, &Totals) -> Result<(), String> + Sync,
) {
    let compare = |recording: &Recording| {
        let totals = match of_recording(&recording.path) {
            Ok(totals) if totals.is_empty() => return Err("no samples"),
            Err(_) => return Err("no readable record"),
            Ok(totals) => totals,
        };
        let samples: u64 = totals.values().map(|(samples, _)| samples).sum();
        Ok(convert(recording, &totals).map(|()| (totals.len(), samples)))
    };
    let (mut compared, mut tracks, mut samples) = (0, 0, 0);
    let (mut skipped, mut failures) = (BTreeMap::<&str, usize>::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(program::for_each(recordings, compare)) {
        match result {
            Ok(Ok((more, of_them))) => (compared, tracks, samples) = (compared + 1, tracks + more, samples + of_them),
            Ok(Err(error)) => failures.push(format!("{}: {error}", recording.name)),
            Err(reason) => *skipped.entry(reason).or_default() += 1,
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    let equal = "agree with the profile by thread and event";
    writeln!(out, "{format}: {samples} samples, {tracks} threads and events of {compared} recordings {equal}").unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{format}: {count} recordings skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    assert!(compared >= enough, "{format}: compared only {compared} recordings, expected {enough}");
}

/// Compares the totals of an output of fixtures, written with passes, with those of the rewritten recordings. `convert` returns the
/// totals and the text of an output.
pub(crate) fn compare_changed(
    format: &str,
    convert: impl Fn(&Path, &Totals, &[&str]) -> Result<(Totals, String), String>,
) {
    const KEY: &[u8] = b"a key for the tests of outputs";
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (key, changed) = (directory.path().join("key"), directory.path().join("changed.data"));
    fs::write(&key, KEY).expect("a key");
    let key = key.display().to_string();
    let anonymize: &[&str] = &["--anonymize", "--key", &key];
    let passes =
        [anonymize, &["--comm", "worker-1,forky"], &["--head", "20"], &["--cpu", "0"], &["--sample-every", "3"]];
    let (mut compared, mut without, mut failures) = (0, 0, Vec::new());
    for recording in files::fixtures() {
        for args in passes {
            let name = format!("{} {}", recording.name, args[0]);
            let rewrite = run(perfconv()
                .arg("rewrite")
                .arg(&recording.path)
                .arg("-o")
                .arg(&changed)
                .args(args)
                .args(["-f", "-q"]));
            let expected = if rewrite.status == 0 { of_recording(&changed).unwrap_or_default() } else { Totals::new() };
            if expected.is_empty() {
                without += 1;
                continue;
            }
            let result = convert(&recording.path, &expected, &[args, &["--symbols", "no"]].concat());
            let result = result.and_then(|(found, text)| {
                check_equal(&found, &expected)?;
                let mut names =
                    ["forky", "worker-"].into_iter().filter(|name| args == anonymize && text.contains(name));
                names.next().map_or(Ok(()), |name| Err(format!("it contains {name}")))
            });
            match result {
                Ok(()) => compared += 1,
                Err(error) => failures.push(format!("{name}: {error}")),
            }
        }
    }
    let mut out = io::stderr().lock();
    writeln!(
        out,
        "{format}: {compared} outputs with passes agree with rewritten recordings; {without} without samples"
    )
    .unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared >= 40, "{format}: compared only {compared} outputs");
}

/// Totals whose values are numbers of samples.
pub(crate) fn counts(totals: &Totals) -> Totals {
    totals.iter().map(|(key, &(samples, _))| (key.clone(), (samples, samples))).collect()
}

/// The event that a name ends with; without one, the only event.
pub(crate) fn event_of(name: &str, expected: &Totals) -> String {
    let events: Vec<_> = expected.keys().map(|(_, event)| event).collect();
    let in_name = events.iter().filter(|event| name.ends_with(&format!(" {event}"))).max_by_key(|event| event.len());
    in_name.unwrap_or(&events[0]).to_string()
}

/// Totals without threads, if the expected ones have none: a format invents a thread for samples without one.
pub(crate) fn like(found: Totals, expected: &Totals) -> Totals {
    if expected.keys().any(|(thread, _)| !thread.is_empty()) {
        return found;
    }
    let mut sums = Totals::new();
    for ((_, event), (samples, value)) in found {
        let sum = sums.entry((String::new(), event)).or_default();
        (sum.0, sum.1) = (sum.0 + samples, sum.1 + value);
    }
    sums
}

/// The difference of two totals, if any.
pub(crate) fn check_equal(found: &Totals, expected: &Totals) -> Result<(), String> {
    let differs = |(key, value): (&_, &(u64, u64))| {
        (found.get(key) != Some(value)).then(|| format!("{key:?}: {:?}, expected {value:?}", found.get(key)))
    };
    let other =
        found.keys().filter(|key| !expected.contains_key(*key)).map(|key| format!("{key:?} is not in the profile"));
    let differences: Vec<_> = expected.iter().filter_map(differs).chain(other).take(5).collect();
    if differences.is_empty() { Ok(()) } else { Err(differences.join("; ")) }
}
