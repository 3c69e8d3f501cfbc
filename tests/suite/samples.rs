//! Every recording is read, and every sample in it is accounted for.

use crate::common::files;
use crate::common::independent_scan::Scan;
use crate::common::samples::account_for_every_sample;

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
