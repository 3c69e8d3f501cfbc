//! Every recording is read, and every sample in it is accounted for.

use crate::common::files::{self, fixtures};
use crate::common::independent_scan::Scan;
use crate::common::program::{perfconv, succeed};
use crate::common::samples::account_for_every_sample;
use perfconv::recording::Recording;
use serde_json::Value;
use std::collections::BTreeMap;

#[test]
fn every_sample_is_accounted_for() {
    account_for_every_sample(None);
}

#[test]
fn scan_counts_the_listed_samples() {
    let mut compared = 0;
    for recording in files::recordings() {
        let scan = Scan::read(&recording.path);
        if let Some(listed) = recording.listed_samples {
            assert_eq!(scan.samples, listed, "{}: {scan:?}", recording.name);
            compared += 1;
        }
    }
    let enough = if files::has_corpus("scans") { 450 } else { 20 };
    assert!(compared >= enough, "compared only {compared} recordings");
    note!("{compared} recordings have the number of samples that their tables list");
}

/// Groups count for several events.
#[test]
fn samples_of_the_library_count_as_in_reports() {
    let mut groups = 0;
    for fixture in fixtures() {
        let mut samples = Recording::open(&fixture.path).expect("a recording").samples().expect("samples");
        let mut sums: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        while let Some(sample) = samples.next().expect("a sample") {
            let thread = sample.thread_name().expect("a thread").into_owned();
            groups += usize::from(sample.counts().count() > 1);
            for (event, value) in sample.counts() {
                let (count, sum) = sums.entry((event.to_owned(), thread.clone())).or_default();
                (*count, *sum) = (*count + 1, *sum + value);
            }
        }
        let args = ["--sort", "comm", "--symbols", "no", "--json", "-q"];
        let report = succeed(perfconv().arg("report").arg(&fixture.path).args(args)).stdout;
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        let text = |entry: &Value, key: &str| entry[key].as_str().expect("a name").to_owned();
        let counts = |entry: &Value| {
            let number = |key: &str| entry["self"][key].as_u64().expect("a number");
            (number("samples"), number("value"))
        };
        let entries = report["entries"].as_array().expect("entries").iter();
        let reported: BTreeMap<_, _> =
            entries.map(|entry| ((text(entry, "event"), text(entry, "comm")), counts(entry))).collect();
        assert_eq!(sums, reported, "{}", fixture.name);
    }
    assert!(groups >= 4, "{groups} samples of groups");
}
