//! Passes of quipper: the same output as perf_converter.

use crate::common::files::{Recording, corpus, has_corpus};
use crate::common::passes::{addresses, convert};
use crate::common::program::for_each;
use crate::common::quipper::{STALE, golden, masked, scratch, strict};
use perfconv::formats::quipper::proto::PerfDataProto;
use prost::Message;
use std::fs;

/// Decodes a message and sorts BPF metadata, which perf_converter writes in random order.
fn decode_sorted(bytes: &[u8]) -> PerfDataProto {
    let mut message = PerfDataProto::decode(bytes).expect("a PerfDataProto");
    for event in &mut message.events {
        event.bpf_metadata_event.iter_mut().for_each(|event| event.metadata.sort_by(|a, b| a.key.cmp(&b.key)));
    }
    message
}

#[test]
fn all_passes_match_perf_converter() {
    if !has_corpus("goldens of perf_converter") {
        return;
    }
    let mut with_golden: Vec<_> =
        corpus().into_iter().filter_map(|recording| Some((golden(&recording, "converter")?, recording))).collect();
    with_golden.dedup_by(|(_, a), (_, b)| a.path == b.path);
    let outcomes = for_each(&with_golden, |(golden, recording)| {
        let output = scratch(&format!("{}.converted", recording.name));
        let ours = convert(&recording.path, &output, &["-t", "quipper", "--quipper", "perf-converter"]);
        match ours {
            Ok(ours) if ours == *golden => (true, None),
            Ok(ours) if decode_sorted(&ours) == decode_sorted(golden) => (false, None),
            Ok(ours) => (false, Some(format!("{}: {} bytes, expected {}", recording.name, ours.len(), golden.len()))),
            Err(e) => (false, Some(format!("{}: {e}", recording.name))),
        }
    });
    let same = outcomes.iter().filter(|(is_same, _)| *is_same).count();
    let failures: Vec<_> = outcomes.into_iter().filter_map(|(_, failures)| failures).collect();
    note!("{} recordings compared with perf_converter; {same} byte for byte; failures {failures:?}", with_golden.len());
    assert!(failures.is_empty(), "{failures:?}");
    assert!(with_golden.len() >= 340, "only {} recordings have a golden", with_golden.len());
}

/// The recordings of quipper's tests with a golden of a kind, and the number of outdated goldens.
fn with_quipper_golden(kind: &str) -> (Vec<(Recording, Vec<u8>)>, usize) {
    let (mut goldens, mut stale) = (Vec::new(), 0);
    for recording in corpus() {
        let Ok(packed) = fs::read(format!("{}.{kind}.zst", recording.path.display())) else { continue };
        if STALE.iter().any(|name| recording.path.ends_with(name)) {
            stale += 1;
            continue;
        }
        goldens.push((recording, zstd::decode_all(&packed[..]).expect("a golden should be zstd")));
    }
    (goldens, stale)
}

#[test]
fn all_passes_match_goldens_of_quipper() {
    if !has_corpus("goldens of quipper") {
        return;
    }
    let (goldens, stale) = with_quipper_golden("pb_data");
    for (recording, golden) in &goldens {
        let output = scratch(&format!("{}.pb", recording.name));
        let ours = convert(&recording.path, &output, &["-t", "quipper", "--quipper", "perf-converter"]);
        assert!(masked(&ours.expect("it should be readable")) == masked(golden), "{}", recording.name);
    }
    note!(
        "{} recordings equal goldens .pb_data; {stale} goldens skipped: they lack fields of the schema",
        goldens.len()
    );
    assert!(goldens.len() >= 15, "compared only {} recordings", goldens.len());
}

#[test]
fn remap_pass_matches_goldens_of_quipper() {
    if !has_corpus("goldens of quipper") {
        return;
    }
    let (goldens, stale) = with_quipper_golden("parse.remap.out.pb_data");
    for (recording, golden) in &goldens {
        let name = &recording.name;
        let data = scratch(&format!("{name}.remapped.data"));
        convert(&recording.path, &data, &["--pass", "sort,huge-pages,combine,remap"]).expect("it should be readable");
        let ours = strict(&data, &scratch(&format!("{name}.remapped"))).expect("it should be a recording");
        assert!(masked(&ours) == masked(golden), "{name}");
        let at_once = ["-t", "quipper", "--quipper", "perf-converter", "--pass", "remap"];
        let at_once = convert(&recording.path, &scratch(&format!("{name}.at-once")), &at_once)
            .expect("converting should succeed");
        let (mut at_once, mut golden) = (masked(&at_once), masked(golden));
        let did_remap = |message: &mut PerfDataProto| message.stats.as_mut().and_then(|stats| stats.did_remap.take());
        assert_eq!((did_remap(&mut at_once), did_remap(&mut golden)), (Some(true), Some(false)), "{name}");
        assert!(at_once == golden, "{name}: passes at once differ");
        let repeated = scratch(&format!("{name}.remapped-twice.data"));
        convert(&data, &repeated, &["--pass", "remap"]).expect("it should be a recording");
        let repeated = strict(&repeated, &scratch(&format!("{name}.repeated"))).expect("it should be a recording");
        assert!(addresses(&masked(&repeated)) == addresses(&golden), "{name}: remapping twice should change nothing");
    }
    note!(
        "{} recordings equal goldens .parse.remap.out.pb_data; {stale} goldens skipped: they lack fields of the schema",
        goldens.len()
    );
    assert!(goldens.len() >= 15, "compared only {} recordings", goldens.len());
}
