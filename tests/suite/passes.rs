//! Passes of quipper: the same output as perf_converter, and from any container and format.

use crate::suite::files::{Recording, corpus, fixture, fixtures, has_corpus};
use crate::suite::program::{for_each, perfconv, run};
use crate::suite::quipper::{STALE, golden, masked, scratch, strict};
use perfconv::formats::quipper::proto::PerfDataProto;
use prost::Message;
use std::fs;
use std::path::Path;

/// Every pass there is.
const ALL: &str = "sort,huge-pages,combine,remap,discard-unused";

fn convert(input: &Path, output: &Path, args: &[&str]) -> Result<Vec<u8>, String> {
    let run = run(perfconv().arg(input).args(["-f", "-q", "-o"]).arg(output).args(args));
    match run.status {
        0 => Ok(fs::read(output).unwrap_or_default()),
        _ => Err(run.stderr),
    }
}

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
    println!(
        "{} recordings compared with perf_converter; {same} byte for byte; failures {failures:?}",
        with_golden.len()
    );
    assert!(failures.is_empty(), "{failures:?}");
    assert!(with_golden.len() >= 340, "only {} recordings have a golden", with_golden.len());
}

/// The recordings of quipper's tests with a golden of a kind, and the number of outdated goldens.
fn with_quipper_golden(kind: &str) -> (Vec<(Recording, Vec<u8>)>, usize) {
    let (mut found, mut stale) = (Vec::new(), 0);
    for recording in corpus() {
        let Ok(packed) = fs::read(format!("{}.{kind}.zst", recording.path.display())) else { continue };
        if STALE.iter().any(|name| recording.path.ends_with(name)) {
            stale += 1;
            continue;
        }
        found.push((recording, zstd::decode_all(&packed[..]).expect("a golden should be zstd")));
    }
    (found, stale)
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
    println!(
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
    println!(
        "{} recordings equal goldens .parse.remap.out.pb_data; {stale} goldens skipped: they lack fields of the schema",
        goldens.len()
    );
    assert!(goldens.len() >= 15, "compared only {} recordings", goldens.len());
}

/// The addresses of all samples.
fn addresses(message: &PerfDataProto) -> Vec<(u64, Vec<u64>)> {
    let samples = message.events.iter().filter_map(|event| event.sample_event.as_ref());
    samples.map(|sample| (sample.ip(), sample.callchain.clone())).collect()
}

#[test]
fn discard_unused_keeps_the_mapping_of_every_address() {
    let (mut compared, mut before, mut after) = (0, 0, 0);
    let all: Vec<_> = fixtures().into_iter().chain(corpus()).collect();
    let outcomes = for_each(&all, |recording| {
        let name = &recording.name;
        let args = ["-t", "quipper", "--quipper", "perf-converter"];
        let all = convert(&recording.path, &scratch(&format!("{name}.all")), &args).ok()?;
        let args = [&args[..], &["--pass", "discard-unused"]].concat();
        let used = scratch(&format!("{name}.used.pb_data"));
        let used_bytes = convert(&recording.path, &used, &args).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (all, used) =
            [all, used_bytes].map(|bytes| PerfDataProto::decode(&bytes[..]).expect("a PerfDataProto")).into();
        let (all_stats, used_stats) = (all.stats.expect("counts"), used.stats.expect("counts"));
        assert_eq!(used_stats.num_sample_events_mapped, all_stats.num_sample_events_mapped, "{name}");
        assert!(addresses(&used) == addresses(&all), "{name}: other samples");
        for event in &used.events {
            let Some(map) = &event.mmap_event else {
                assert_ne!(event.header.expect("a header").r#type(), 68, "{name}: a FINISHED_ROUND is left");
                continue;
            };
            let contains = |address: u64| address >= map.start() && address - map.start() < map.len();
            let samples = used.events.iter().filter_map(|event| event.sample_event.as_ref());
            let mut addresses = samples.flat_map(|sample| {
                let branches = sample.branch_stack.iter().flat_map(|branch| [branch.from_ip(), branch.to_ip()]);
                sample.ip.into_iter().chain(sample.callchain.iter().copied()).chain(branches)
            });
            assert!(addresses.any(contains), "{name}: no sample is in {:x}", map.start());
        }
        Some((all_stats.num_mmap_events(), used_stats.num_mmap_events()))
    });
    for (all, used) in outcomes.into_iter().flatten() {
        (compared, before, after) = (compared + 1, before + all, after + used);
    }
    println!("{compared} recordings with {before} mappings, {after} of them used");
    assert!(after > 0 && after < before);
    let enough = if has_corpus("unused mappings") { 340 } else { 15 };
    assert!(compared >= enough, "compared only {compared} recordings");
}

#[test]
fn passes_work_in_every_container_and_format() {
    let names = [
        "callgraph.data",
        "compressed.data",
        "big-endian.data",
        "pipe.data",
        "pipe-compressed.data",
        "tracepoints.data",
        "threads.dir",
        "system-wide.data",
    ];
    let mut changed = 0;
    for name in names {
        let convert_to = |ending: &str, args: &[&str]| {
            let output = scratch(&format!("{name}.passed.{ending}"));
            let args = [&["--pass", ALL][..], args].concat();
            convert(&fixture(name), &output, &args).unwrap_or_else(|e| panic!("{name} to {ending}: {e}"));
            let strict = strict(&output, &scratch(&format!("{name}.passed.{ending}.strict")));
            strict.unwrap_or_else(|e| panic!("{name} via {ending}: {e}"))
        };
        let data = convert_to("data", &["--container", "file"]);
        for (ending, args) in [("pb_data", &[][..]), ("jsonl", &[]), ("pipe.data", &["--container", "pipe"])] {
            let (data, other) = (masked(&data), masked(&convert_to(ending, args)));
            assert!(data.events == other.events, "{name} via {ending}: other records");
            assert_eq!(data.stats, other.stats, "{name} via {ending}");
        }
        let before = strict(&fixture(name), &scratch(&format!("{name}.before"))).expect("it should be readable");
        changed += usize::from(masked(&before).events != masked(&data).events);
    }
    println!("{} recordings in four formats each; passes change {changed} of them", names.len());
    assert_eq!(changed, names.len());
}

#[test]
fn passes_apply_to_perf_json_and_csv() {
    for name in
        ["plain.data", "callgraph.data", "compressed.data", "pipe-tracepoints.data", "weight.data", "threads.dir"]
    {
        let passed = scratch(&format!("{name}.passed.data"));
        convert(&fixture(name), &passed, &["--pass", ALL, "--container", "file"])
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let perf_json = |input: &Path, args: &[&str]| {
            let output = scratch(&format!("{name}.passed.json"));
            let json = convert(input, &output, &[&["-t", "perf-json", "--symbols", "no"][..], args].concat());
            let json: serde_json::Value =
                serde_json::from_slice(&json.unwrap_or_else(|e| panic!("{name}: {e}"))).unwrap();
            json["samples"].clone()
        };
        let samples = perf_json(&passed, &[]);
        assert!(samples.as_array().is_some_and(|samples| samples.len() > 10), "{name}");
        assert!(perf_json(&fixture(name), &["--pass", ALL]) == samples, "{name}: other samples");
        let tables = |input: &Path, args: &[&str]| {
            let dir = tempfile::tempdir().unwrap();
            let tables = dir.path().join("tables");
            let run = run(perfconv().arg(input).args(["-t", "csv", "--symbols", "no", "-o"]).arg(&tables).args(args));
            assert_eq!(run.status, 0, "{name}: {}", run.stderr);
            fs::read_to_string(tables.join("results.csv")).unwrap()
        };
        assert_eq!(tables(&fixture(name), &["--pass", ALL]), tables(&passed, &[]), "{name}");
    }
}

#[test]
fn an_input_directory_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.dir");
    let copied = run(perfconv().arg(fixture("threads.dir")).args(["-t", "perf.data", "-o"]).arg(&input));
    assert_eq!(copied.status, 0, "{}", copied.stderr);
    let before = fs::read(input.join("data")).unwrap();
    for more in [&["--pass", "remap"][..], &[]] {
        let run = run(perfconv().arg(&input).args(["-t", "perf.data", "-f", "-o"]).arg(&input).args(more));
        assert_eq!((run.status, run.stderr.contains("cannot overwrite the input")), (1, true), "{}", run.stderr);
    }
    assert!(fs::read(input.join("data")).unwrap() == before);
    let tables = dir.path().join("tables");
    assert_eq!(
        run(perfconv().arg(fixture("plain.data")).args(["-t", "csv", "--symbols", "no", "-o"]).arg(&tables)).status,
        0
    );
    fs::copy(fixture("plain.data"), tables.join("stat.csv")).unwrap();
    let run = run(perfconv().arg(tables.join("stat.csv")).args(["-t", "csv", "-f", "-o"]).arg(&tables));
    assert_eq!((run.status, run.stderr.contains("cannot overwrite the input")), (1, true), "{}", run.stderr);
}

#[test]
fn rejects_passes_for_profiles() {
    let run = run(perfconv().arg(fixture("callgraph.data")).args(["-o", "unused.pb.gz", "--pass", "remap"]));
    assert_eq!(
        (run.status, run.stderr.contains("--pass cannot be used with format pprof")),
        (2, true),
        "{}",
        run.stderr
    );
}
