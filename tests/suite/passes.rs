//! Passes of quipper: the same output from any container and format.

use crate::common::files::{corpus, fixture, fixtures, has_corpus};
use crate::common::passes::{addresses, convert};
use crate::common::program::{for_each, perfconv, run, succeed};
use crate::common::quipper::{masked, scratch, strict};
use perfconv::formats::quipper::proto::PerfDataProto;
use prost::Message;
use std::fs;
use std::path::Path;

/// Every pass there is.
const ALL: &str = "sort,huge-pages,combine,remap,discard-unused";

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
    note!("{compared} recordings with {before} mappings, {after} of them used");
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
    note!("{} recordings in four formats each; passes change {changed} of them", names.len());
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
            succeed(perfconv().arg(input).args(["-t", "csv", "--symbols", "no", "-o"]).arg(&tables).args(args));
            fs::read_to_string(tables.join("results.csv")).unwrap()
        };
        assert_eq!(tables(&fixture(name), &["--pass", ALL]), tables(&passed, &[]), "{name}");
    }
}

#[test]
fn an_input_directory_is_never_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.dir");
    succeed(perfconv().arg(fixture("threads.dir")).args(["-t", "perf.data", "-o"]).arg(&input));
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
