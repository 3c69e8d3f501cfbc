//! `--endian`: converting to the other byte order and back preserves all bytes, or is rejected.

use crate::common::files::{fixture, has_corpus, recordings};
use crate::common::program::rewrite;
use crate::common::program::{for_each, perfconv, succeed};
use perf_data::abi::Endian;
use perf_data::container::read::{Container, ReadOptions, input::Input};
use perf_data::stream::source::Source;
use std::fs;
use std::path::Path;

enum Outcome {
    Same(Container),
    /// The recording has recorder-defined bytes, or a record that the conversion would not preserve.
    Rejected,
    Differs(String),
}

/// Converts a recording to the other byte order and back, in its own container.
fn outcome(input: &Path) -> Option<Outcome> {
    let source = Source::open(Input::Path(input.to_owned()), ReadOptions::default()).ok()?;
    let (endian, container) = (source.meta().endian, source.meta().container);
    let (own, other) = if endian == Endian::Little { ("little", "big") } else { ("big", "little") };
    // Skip recordings without records, and corrupt ones, whose corrupt parts are dropped.
    let ledger = source.run(&mut Nothing).ok()?.1;
    if !ledger.messages().is_empty() {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let [swapped, back, once, plain] = ["swapped", "back", "once", "plain"].map(|name| dir.path().join(name));
    if let Err(error) = rewrite(input, &swapped, &["--endian", other]) {
        let is_rejected =
            error.contains("byte order of these contents is unknown") || error.contains("cannot be converted");
        return Some(if is_rejected { Outcome::Rejected } else { Outcome::Differs(error) });
    }
    let done = rewrite(&swapped, &back, &["--endian", own])
        .and_then(|()| rewrite(input, &once, &["--decompress"]))
        // Rewrite twice, so that perfconv chose the layout of both inputs.
        .and_then(|()| rewrite(&once, &plain, &["--decompress"]));
    if let Err(error) = done {
        return Some(Outcome::Differs(error));
    }
    let bytes = |path: &Path| -> Vec<Vec<u8>> {
        let files = ["data", "data.0"].map(|name| path.join(name));
        let files = if path.is_dir() { files.to_vec() } else { vec![path.to_owned()] };
        files.iter().map(|file| fs::read(file).unwrap_or_default()).collect()
    };
    let is_same = bytes(&back) == bytes(&plain);
    Some(if is_same { Outcome::Same(container) } else { Outcome::Differs("other bytes".to_owned()) })
}

struct Nothing;

impl perf_data::stream::Sink for Nothing {
    fn record(
        &mut self,
        _: &perf_data::stream::meta::Meta,
        _: &perf_data::stream::raw::Raw<'_>,
    ) -> perfconv::Result<()> {
        Ok(())
    }
}

#[test]
fn byte_order_conversion_is_reversible_or_rejected() {
    let all = recordings();
    let (mut same, mut rejected, mut skipped, mut differing) = ([0; 3], 0, 0, Vec::new());
    for (recording, outcome) in all.iter().zip(for_each(&all, |recording| outcome(&recording.path))) {
        match outcome {
            Some(Outcome::Same(container)) => same[container as usize] += 1,
            Some(Outcome::Rejected) => rejected += 1,
            Some(Outcome::Differs(what)) => differing.push(format!("{}: {what}", recording.name)),
            None => skipped += 1,
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let [files, pipes, dirs] = same;
    let line = format!(
        "{files} files, {pipes} pipes, {dirs} directories converted to the other byte order and back; rejected for \
         recorder-defined bytes: {rejected}; unreadable or corrupt: {skipped}"
    );
    note!("{line}");
    assert!(differing.is_empty(), "{} of {}:\n{}", differing.len(), all.len(), differing.join("\n"));
    let enough = if has_corpus("byte orders") { (250, 80) } else { (12, 2) };
    assert!(same.iter().sum::<usize>() >= enough.0 && rejected >= enough.1, "too few: {line}");
}

#[test]
fn allow_mixed_keeps_recorder_defined_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let error = rewrite(&fixture("tracepoints.data"), &output, &["--endian", "big"]).unwrap_err();
    assert!(error.contains("raw data of samples (") && error.contains("--allow-mixed"), "{error}");
    assert!(!output.exists());
    let run = succeed(
        perfconv().arg(fixture("tracepoints.data")).args(["--endian", "big", "--allow-mixed", "-o"]).arg(&output),
    );
    assert!(run.warnings().iter().any(|line| line.contains("kept in the recorder's byte order")), "{}", run.stderr);
    // Converting to the current byte order changes nothing.
    rewrite(&fixture("tracepoints.data"), &output, &["--endian", "little"]).unwrap();
    assert!(fs::read(&output).unwrap() == fs::read(fixture("tracepoints.data")).unwrap());
}
