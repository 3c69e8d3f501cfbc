//! `perfconv repair`: interrupted, truncated and corrupt recordings become intact, and keep all samples.

use crate::common::files::{fixture, has_corpus, recordings};
use crate::common::program::{for_each, perfconv, succeed};
use crate::common::repair::{read, repair};

#[test]
fn repaired_recordings_are_intact_and_keep_all_samples() {
    let all = recordings();
    let (mut count, mut samples, mut failures, mut others) = (0, 0, Vec::new(), Vec::new());
    for (recording, result) in all.iter().zip(for_each(&all, |recording| repair(&recording.path, None))) {
        let Some(result) = result else { continue };
        count += 1;
        samples += result.samples;
        if result.samples == 0 {
            others.push(recording.name.as_str());
        }
        failures.extend(result.failure.map(|what| format!("{}: {what}", recording.name)));
    }
    let with_samples = count - others.len();
    note!("repaired {count} corrupt recordings with {samples} samples; without samples: {others:?}");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
    let enough = if has_corpus("repairs") { 24 } else { 2 };
    assert!(with_samples >= enough, "repaired only {with_samples} recordings with samples, expected {enough}");
}

#[test]
fn restores_features_from_records() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("repaired.data");
    let run = succeed(perfconv().arg("repair").arg(fixture("killed.data")).arg("-o").arg(&output));
    let warnings = run.warnings();
    let reconstructed = "perfconv: reconstructed from records: EVENT_DESC";
    assert!(run.stderr.lines().any(|line| line.starts_with(reconstructed)), "{}", run.stderr);
    assert!(warnings.iter().any(|line| line.contains(": offset 0x")), "{warnings:?}");
    let (meta, ledger) = read(&output).unwrap();
    assert!(ledger.messages().is_empty() && meta.events.list().iter().all(|event| event.name.is_some()));
}
