//! Programs that load perf script text show the threads and samples of the recording.

use super::programs::{self, FirefoxSession};
use crate::common::files;
use crate::common::program::{for_each, perfconv, succeed};
use crate::common::totals;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Numbers of samples by TID: these programs ignore the event.
type ByThread = BTreeMap<u64, u64>;

/// Compares what a program shows of fixtures with their samples. `differs` returns what is wrong; `None` if the program shows
/// nothing to compare.
fn compare(program: &str, enough: usize, differs: impl Fn(&Path, &ByThread) -> Option<Result<(), String>> + Sync) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let results = for_each(&files::fixtures(), |recording| {
        let text = directory.path().join(format!("{}.perf.txt", recording.name.replace('.', "-")));
        let mut command = perfconv();
        command.arg(&recording.path).args(["-q", "--symbols", "no", "-t", "perf-script", "-o"]).arg(&text);
        succeed(&mut command);
        if !fs::read_to_string(&text).expect("text").contains("\n\t") {
            return Err("no call chains: not recognized as text of perf script");
        }
        let mut expected = ByThread::new();
        for ((thread, _), (samples, _)) in totals::of_recording(&recording.path).expect("samples") {
            let tid = thread.rsplit('/').next().and_then(|tid| tid.parse().ok()).expect("a TID");
            *expected.entry(tid).or_default() += samples;
        }
        let result = differs(&text, &expected).ok_or("a single thread, which is not listed")?;
        Ok((recording.name.clone(), expected.values().sum::<u64>(), result))
    });
    let (mut compared, mut samples, mut failures) = (0, 0, Vec::new());
    let mut skipped = BTreeMap::<&str, usize>::new();
    for result in results {
        match result {
            Ok((_, more, Ok(()))) => (compared, samples) = (compared + 1, samples + more),
            Ok((name, _, Err(error))) => failures.push(format!("{name}: {error}")),
            Err(reason) => *skipped.entry(reason).or_default() += 1,
        }
    }
    note!("{program}: {samples} samples of {compared} recordings; skipped: {skipped:?}");
    assert!(failures.is_empty(), "{program}:\n{}", failures.join("\n"));
    assert!(compared >= enough, "{program}: compared only {compared} recordings");
}

#[test]
fn the_firefox_profiler_loads_perf_script_text() {
    let Some(clients) = programs::directory() else { return };
    let show = |text: &Path| -> Result<ByThread, String> {
        let session = FirefoxSession::load(clients, text)?;
        let listed = session.query(&["thread", "list", "--limit", "1000"])?;
        let mut found = ByThread::new();
        for thread in listed["threads"].as_array().ok_or("no threads")? {
            let handle = thread["threadHandle"].as_str().ok_or("no handle")?;
            let info = session.query(&["thread", "info", "--thread", handle])?;
            let samples = info["sampleCount"].as_u64().ok_or("no number of samples")?;
            *found.entry(thread["tid"].as_u64().ok_or("no TID")?).or_default() += samples;
        }
        Ok(found)
    };
    compare("the Firefox Profiler (profiler-cli 0.10)", 12, |text, expected| {
        let equal = |found| if found == *expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}")) };
        Some(show(text).and_then(equal))
    });
}

#[test]
fn speedscope_loads_perf_script_text() {
    let Some(clients) = programs::directory().filter(|_| programs::has_browser()) else { return };
    compare("speedscope 1.25", 5, |text, expected| {
        if expected.len() < 2 {
            return None;
        }
        // It shows times instead of numbers of samples. Idle threads have no TID in their name.
        let profiles = programs::speedscope(clients, text).profiles;
        let tid = |name: &str| name.split_once(" tid: ").map_or(0, |(_, tid)| tid.parse().unwrap_or(u64::MAX));
        let mut tids: Vec<_> = profiles.iter().map(|(name, _)| tid(name)).collect();
        tids.sort_unstable();
        tids.dedup();
        let equal = tids.iter().eq(expected.keys());
        Some(if equal { Ok(()) } else { Err(format!("{profiles:?}, not {expected:?}")) })
    });
}
