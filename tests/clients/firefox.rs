//! Profiles of the Firefox Profiler, read by its command line.

use super::programs::{self, FirefoxSession};
use crate::common::files::{self};
use crate::common::firefox::{convert, key};
use crate::common::totals::{self, Totals};
use std::collections::BTreeSet;

#[test]
fn the_firefox_profiler_loads_profiles() {
    const ONE_OF: usize = 64;
    const MAX_THREADS: usize = 100;
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let enough = files::enough("profiler-cli", ONE_OF, 500, 20);
    totals::compare("Firefox Profiler (profiler-cli 0.10)", &files::share(ONE_OF), enough, |recording, expected| {
        let output = directory.path().join(format!("{}.fx.json.gz", recording.name.replace(['.', '/'], "-")));
        convert(&recording.path, &output, &["--weight", "samples", "--symbols", "no"])?;
        let session = FirefoxSession::load(clients, &output)?;
        let mut totals = Totals::new();
        let listed = session.query(&["thread", "list"])?;
        let threads = listed["threads"].as_array().ok_or("no threads")?;
        let mut counts = totals::counts(expected);
        if threads.len() > MAX_THREADS {
            // Each takes two queries, so that thousands take an hour.
            let keys: BTreeSet<_> = threads.iter().take(MAX_THREADS).map(|thread| key(thread, expected)).collect();
            if threads.len() != counts.len() {
                return Err(format!("{} threads, expected {}", threads.len(), counts.len()));
            }
            counts.retain(|key, _| keys.contains(key));
        }
        for thread in threads.iter().take(MAX_THREADS) {
            let handle = thread["threadHandle"].as_str().ok_or("no handle")?;
            let info = session.query(&["thread", "info", "--thread", handle])?;
            let samples = session.query(&["thread", "samples", "--thread", handle, "--include-idle"])?;
            let count = info["sampleCount"].as_u64().ok_or("no sampleCount")?;
            let total = samples["categoryBreakdown"]["totalSamples"].as_f64().unwrap_or(count as f64);
            if count > 0 {
                let sums = totals.entry(key(thread, expected)).or_default();
                *sums = (sums.0 + count, sums.1 + total as u64);
            }
        }
        totals::check_equal(&totals, &counts)
    });
}

#[test]
fn the_firefox_profiler_draws_other_events_as_counters() {
    let Some(clients) = programs::directory() else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.fx.json.gz");
    convert(&files::fixture("two-events.data"), &output, &["--symbols", "no"]).expect("a profile");
    let session = FirefoxSession::load(clients, &output).expect("a session");
    let listed = session.query(&["counter", "list"]).expect("counters");
    let counters = listed["counters"].as_array().cloned().unwrap_or_default();
    let tracks: Vec<_> = counters
        .iter()
        .map(|counter| {
            let [label, pid, graph] =
                ["label", "pid", "graphType"].map(|name| counter[name].as_str().unwrap_or_default());
            (label, pid, graph, counter["rangeSampleCount"].as_u64())
        })
        .collect();
    let track = |pid, samples| ("task-clock (ms)", pid, "line-rate", Some(samples));
    assert_eq!(tracks, [track("203", 8), track("210", 3), track("211", 1)]);
    // 7 of its samples stand for 10101010 ns.
    let info = session.query(&["counter", "info", "c-0"]).expect("a counter");
    let sum = &info["stats"][0];
    assert_eq!(sum["label"], "in the shown range");
    assert!(sum["value"].as_f64().is_some_and(|sum| (sum - 70.70707).abs() < 1e-4), "{sum}");
}
