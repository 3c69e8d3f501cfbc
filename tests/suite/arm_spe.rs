//! Samples that are decoded from traces of Arm SPE, compared with the records that were traced.

use crate::common::json::to_json;
use crate::common::program::{perfconv, profile, run, succeed};
use crate::common::spe::{self, Decoded, Record, Trace};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Number of random recordings, half of them with each version of the metadata.
const SEEDS: u64 = 40;

/// The recording of a generated trace.
fn recording(directory: &TempDir, trace: &Trace) -> PathBuf {
    recording_without(directory, trace, &[])
}

/// The recording of a generated trace, without these features.
fn recording_without(directory: &TempDir, trace: &Trace, features: &[&str]) -> PathBuf {
    let path = directory.path().join(format!("spe{}.data", features.len()));
    let scenario = directory.path().join("spe.toml");
    fs::write(&scenario, trace.scenario(features)).expect("a scenario");
    succeed(perfconv().arg("synth").arg(scenario).args(["-f", "-q", "-o"]).arg(&path));
    path
}

#[test]
fn samples_have_all_fields_of_the_records() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut records, mut kinds) = (0, BTreeMap::<String, usize>::new());
    for seed in 0..SEEDS {
        let trace = Trace::random(seed, 150);
        let path = recording(&directory, &trace);
        let decoded = spe::decoded(&path, "--itrace");
        let mut expected: Vec<_> = trace.records().map(|record| record.decoded(&trace)).collect();
        expected.sort();
        assert_eq!(decoded.len(), expected.len(), "seed {seed}");
        for (decoded, expected) in decoded.iter().zip(&expected) {
            assert_eq!(decoded, expected, "seed {seed}");
            *kinds.entry(decoded.event.clone()).or_default() += 1;
        }
        records += decoded.len();
    }
    note!("{records} records of {SEEDS} recordings: {kinds:?}");
    assert!(records >= 10_000 && kinds.len() == 3 && kinds.values().all(|&count| count >= 1000), "{kinds:?}");
}

/// The recordings of `../shared/traces` have the truth as a list of records.
#[test]
fn samples_equal_the_truth() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/spe");
    if !directory.exists() {
        note!("skipped: no {}", directory.display());
        return;
    }
    let entries = fs::read_dir(&directory).expect("a directory").map(|entry| entry.expect("a file").path());
    let recordings: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "data")).collect();
    let mut compared = 0;
    for path in &recordings {
        compared += spe::compare_with_truth(path);
    }
    note!("{compared} records of {} recordings equal the truth", recordings.len());
    assert!(recordings.len() >= 8 && compared >= 3100, "{compared} of {}", recordings.len());
}

/// Samples of perf 7.2, of which some are of damaged records, and some of none.
#[test]
fn samples_equal_those_of_perf() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    if !directory.exists() {
        note!("skipped: no {}", directory.display());
        return;
    }
    let mut compared = 0;
    // Lines that perf prints for damaged records, and before the first one of recordings without times.
    let excess =
        [("n1", 0), ("v1", 0), ("ctx", 0), ("sve", 0), ("hip12", 0), ("ampere", 0), ("notime", 1), ("bad", 22)];
    for (name, excess) in excess {
        let golden = directory.join(format!("golden/spe-{name}.data.perf72.zst"));
        let golden = zstd::decode_all(fs::File::open(golden).expect("a file")).expect("zstd");
        let golden = spe::normalized_lines(&String::from_utf8(golden).expect("UTF-8"));
        let samples = spe::script_lines(&directory.join(format!("spe/{name}.data")));
        let (mut missing, mut further) = (Vec::new(), 0);
        for (line, &count) in &samples {
            let theirs = golden.get(line).copied().unwrap_or(0);
            if theirs < count {
                missing.push(line);
            }
            compared += count;
        }
        for (line, &count) in &golden {
            further += count.saturating_sub(samples.get(line).copied().unwrap_or(0));
        }
        assert!(missing.is_empty(), "{name}: {} lines: {:#?}", missing.len(), &missing[..missing.len().min(5)]);
        assert_eq!(further, excess, "{name}");
    }
    note!("{compared} samples equal those of perf 7.2");
    assert!(compared >= 12_000, "only {compared}");
}

/// Of each record, the events of perf's letters.
#[test]
fn letters_select_events() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(7, 200);
    let path = recording(&directory, &trace);
    let count = |predicate: &dyn Fn(&Record) -> bool| trace.records().filter(|record| predicate(record)).count();
    let has = |bits: u64| move |record: &Record| record.events & bits != 0;
    let expected = [
        ("f", "l1d-miss", count(&has(1 << 3))),
        ("f", "l1d-access", count(&has(1 << 2 | 1 << 3))),
        ("m", "llc-miss", count(&has(1 << 9))),
        ("m", "llc-access", count(&has(1 << 8 | 1 << 9))),
        ("t", "tlb-miss", count(&has(1 << 5))),
        ("t", "tlb-access", count(&has(1 << 4 | 1 << 5))),
        ("a", "remote-access", count(&has(1 << 10))),
        ("b", "branch", count(&|record| record.class == 2)),
        ("M", "memory", count(&|record| record.class == 1)),
        ("i1i", "instructions", trace.records().count()),
        ("i10i", "instructions", trace.records().count() / 10),
    ];
    for (letters, event, expected) in expected {
        let decoded = spe::decoded(&path, &format!("--itrace={letters}"));
        let samples = decoded.iter().filter(|sample| sample.event == event).count();
        assert_eq!(samples, expected, "{letters}: {event}");
        assert!(samples > 0, "{letters}: {event}");
    }
}

#[test]
fn traces_are_decoded_by_default_where_samples_are_shown() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(3, 100);
    let path = recording(&directory, &trace);
    let converted = |format: &str, arguments: &[&str]| {
        let output = directory.path().join(format!("out-{format}"));
        run(perfconv().arg(&path).args(["-f", "--strict", "-t", format, "-o"]).arg(output).args(arguments))
    };
    let records = trace.records().count() as u64;
    for format in ["pprof", "perf-script", "html", "firefox", "speedscope", "csv", "report"] {
        let decoded = converted(format, &[]);
        let ledger = decoded.ledger().expect("a ledger");
        assert_eq!((decoded.status, ledger.samples_out), (0, records), "{format}: {}", decoded.stderr);
        let message = format!("hardware trace (Arm SPE): {records} records are decoded to samples");
        assert!(decoded.stderr.contains(&message), "{format}: {}", decoded.stderr);
        let left = converted(format, &["--no-itrace"]);
        assert_eq!((left.status, left.ledger().expect("a ledger").samples_out), (3, 0), "{format}: {}", left.stderr);
        assert!(left.stderr.contains("bytes are not decoded"), "{format}: {}", left.stderr);
    }
    for format in ["perf.data", "json", "quipper"] {
        let kept = converted(format, &[]);
        assert_eq!((kept.status, kept.ledger().expect("a ledger").samples_out), (0, 0), "{format}: {}", kept.stderr);
    }
    let report = succeed(perfconv().arg("report").arg(&path).args(["--mem", "--sort", "mem", "-q"]));
    assert!(String::from_utf8_lossy(&report.stdout).contains("hit"), "{report:?}");
}

/// The labels of a profile, counted by key and text.
fn labels(path: &Path, keys: &str) -> BTreeMap<(String, String), i64> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.pb.gz");
    succeed(perfconv().arg(path).args(["--labels", keys, "--symbols", "no", "-q", "-o"]).arg(&output));
    let profile = profile(&output);
    let text = |index: i64| profile.string_table[index as usize].clone();
    let mut counts = BTreeMap::new();
    for sample in &profile.sample {
        for label in &sample.label {
            let value = if label.str == 0 { label.num.to_string() } else { text(label.str) };
            *counts.entry((text(label.key), value)).or_default() += sample.value.iter().sum::<i64>();
        }
    }
    counts
}

#[test]
fn labels_have_what_the_hardware_recorded() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(9, 300);
    let path = recording(&directory, &trace);
    let of = |keys: &str, key: &str, value: &str| {
        let counts = labels(&path, keys);
        let count = counts.get(&(key.to_owned(), value.to_owned())).copied().unwrap_or(0);
        // Each event has a value for its number of samples, and one for its sum.
        usize::try_from(count).expect("a count")
    };
    let count = |predicate: &dyn Fn(&Record) -> bool| trace.records().filter(|record| predicate(record)).count();
    let is =
        |class: u8, bits: u64, set: u64| move |record: &Record| record.class == class && record.events & bits == set;
    let all = "operation,tlb,remote,branch_outcome";
    let unit = of(all, "tlb", "miss") / count(&|record| record.class == 1 && record.events & 1 << 5 != 0).max(1);
    assert!(unit > 0);
    let expected = [
        ("branch_outcome", "mispredicted", count(&is(2, 1 << 7, 1 << 7))),
        ("branch_outcome", "not_taken", count(&is(2, 1 << 6 | 1 << 7, 1 << 6))),
        ("branch_outcome", "taken", count(&is(2, 1 << 6 | 1 << 7, 0))),
        ("tlb", "hit", count(&is(1, 1 << 4 | 1 << 5, 1 << 4))),
        ("remote", "no", count(&|record| record.class == 1 && !record.is_remote(&trace))),
        ("remote", "yes", count(&|record| record.class == 1 && record.is_remote(&trace))),
    ];
    for (key, value, expected) in expected {
        assert_eq!(of(all, key, value), expected * unit, "{key} {value}");
        assert!(expected > 0, "{key} {value}");
    }
    let latencies = labels(&path, "total_latency,issue_latency,translation_latency");
    for (index, key) in ["total_latency", "issue_latency", "translation_latency"].into_iter().enumerate() {
        let sum = |(label, value): &(String, String), count: i64| match label == key {
            true => value.parse::<i64>().expect("a number") * count,
            false => 0,
        };
        let total: i64 = latencies.iter().map(|(label, &count)| sum(label, count)).sum();
        let expected: u64 = trace.records().map(|record| record.decoded(&trace).latencies[index]).sum();
        assert_eq!(total, expected as i64 * unit as i64, "{key}");
    }
}

/// A filter selects among the samples of the trace, wherever its option is.
#[test]
fn filters_apply_to_the_samples_of_traces() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(4, 100);
    let path = recording(&directory, &trace);
    let expected = trace.records().filter(|record| record.cpu == 1).count();
    for arguments in [&["--cpu", "1"][..], &["--cpu", "1", "--itrace"], &["--itrace", "--cpu", "1"]] {
        let output = directory.path().join("out.script");
        let run = succeed(perfconv().arg(&path).args(["-f", "-o"]).arg(output).args(arguments));
        assert!(run.stderr.contains(&format!(": 0 samples in, {expected} out")), "{arguments:?}: {}", run.stderr);
    }
    assert!(expected > 0 && expected < trace.records().count());
}

/// Each container has the same samples.
#[test]
fn pipes_have_the_samples_of_files() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(5, 300);
    let path = recording(&directory, &trace);
    let pipe = directory.path().join("pipe.data");
    succeed(perfconv().arg("rewrite").arg(&path).args(["--container", "pipe", "-q", "-o"]).arg(&pipe));
    let without_index = recording_without(&directory, &trace, &["AUXTRACE"]);
    let big_endian = directory.path().join("big.data");
    succeed(
        perfconv().arg("rewrite").arg(&path).args(["--endian", "big", "--allow-mixed", "-q", "-o"]).arg(&big_endian),
    );
    let text =
        |command: &mut Command| succeed(command.args(["-t", "perf-script", "--symbols", "no", "-q", "-o", "-"])).stdout;
    let expected = text(perfconv().arg(&path));
    assert_eq!(expected.split(|&byte| byte == b'\n').count(), trace.records().count() + 1);
    let files = directory.path().join("dir.data");
    succeed(perfconv().arg("rewrite").arg(&path).args(["--container", "dir", "-q", "-o"]).arg(&files));
    for other in [&pipe, &without_index, &big_endian, &files] {
        assert!(text(perfconv().arg(other)) == expected, "{}", other.display());
    }
    let mut piped = perfconv();
    piped.arg("-").stdin(fs::File::open(&pipe).expect("a file"));
    assert!(text(&mut piped) == expected);
    let mut cat = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().expect("cat");
    let mut piped = perfconv();
    piped.arg("-").stdin(cat.stdout.take().expect("an output"));
    assert!(text(&mut piped) == expected);
    cat.wait().expect("cat should end");
}

/// The recording with changed AUXTRACE records: their fields, and the bytes after them in base64.
fn changed(path: &Path, change: impl Fn(usize, &mut Value)) -> PathBuf {
    changed_records(path, "AUXTRACE", change)
}

/// The recording with changed records of a type.
fn changed_records(path: &Path, kind: &str, change: impl Fn(usize, &mut Value)) -> PathBuf {
    let (mut lines, mut number) = (String::new(), 0);
    for line in to_json(path, &[]).lines() {
        let mut value: Value = serde_json::from_str(line).expect("JSON");
        if value["record"] == kind {
            change(number, &mut value);
            number += 1;
        }
        lines.push_str(&format!("{value}\n"));
    }
    let (json, changed) = (path.with_extension("jsonl"), path.with_extension("changed.data"));
    fs::write(&json, lines).expect("a file");
    succeed(perfconv().arg("rewrite").arg(&json).args(["-f", "-q", "-o"]).arg(&changed));
    changed
}

/// Buffers that begin before the end of the one before, as those of snapshots, have records in common.
#[test]
fn records_of_overlapping_snapshots_are_decoded_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::snapshots(11, 200);
    let path = recording(&directory, &trace);
    let expected: Vec<_> = trace.records().map(|record| record.decoded(&trace)).collect();
    let all = spe::decoded(&path, "--itrace");
    assert!(all.len() > expected.len(), "the buffers should repeat records");
    let overlapping = changed(&path, |number, record| {
        record["body"]["offset"] = (number as u64 * trace.second_start()).into();
        record["body"]["idx"] = 0.into();
    });
    let mut expected = expected;
    expected.sort();
    assert_eq!(spe::decoded(&overlapping, "--itrace"), expected);
    // Other bytes at the same offset are of another trace.
    let unrelated =
        changed(&path, |_, record| (record["body"]["offset"], record["body"]["idx"]) = (0.into(), 0.into()));
    assert_eq!(spe::decoded(&unrelated, "--itrace"), all);
}

/// Buffers of threads have no CPU.
#[test]
fn buffers_of_threads_have_their_thread() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // A seed without contexts.
    let trace = (0..).map(|seed| Trace::random(seed, 100)).find(|trace| !trace.has_context()).expect("a trace");
    let path = recording(&directory, &trace);
    let of_threads = changed(&path, |_, record| {
        (record["body"]["cpu"], record["body"]["tid"]) = ((-1).into(), 200.into());
    });
    let mut expected: Vec<_> = trace.records().map(|record| record.decoded(&trace)).collect();
    expected.iter_mut().for_each(|sample| (sample.cpu, sample.task) = (0, (200, 200)));
    expected.sort();
    assert_eq!(spe::decoded(&of_threads, "--itrace"), expected);
}

/// Damaged records are dropped and counted, and every byte is accounted for.
#[test]
fn bytes_of_damaged_traces_add_up() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut damaged, mut records) = (0, 0);
    for seed in 0..SEEDS {
        let mut trace = Trace::random(seed, 100);
        trace.damage(seed);
        let path = recording(&directory, &trace);
        let output = directory.path().join("out.pb");
        let arguments = ["-f", "--report", "json", "--symbols", "no", "-o"];
        let report = succeed(perfconv().arg(&path).args(arguments).arg(&output)).stderr;
        let report: Value = serde_json::from_str(&report).expect("a report");
        let count = |name: &str| report["traces"][0][name].as_u64().unwrap_or_else(|| panic!("{name}: {report}"));
        assert_eq!(count("bytes"), trace.size(), "seed {seed}");
        let sum = count("decoded") + count("padding") + count("damaged") + count("repeated") + count("not_decoded");
        assert_eq!((sum, count("not_decoded")), (trace.size(), 0), "seed {seed}: {report}");
        assert_eq!(count("records"), report["samples"]["out"].as_u64().expect("samples"), "seed {seed}");
        assert_eq!(report["complete"].as_bool(), Some(count("damaged") == 0), "seed {seed}");
        let findings = run(perfconv().arg("check").arg(&path)).stdout;
        let is_found = String::from_utf8_lossy(&findings).contains("[trace-damage]");
        assert_eq!(is_found, count("damaged") > 0, "seed {seed}: {findings:?}");
        (damaged, records) = (damaged + count("damaged_records"), records + count("records"));
    }
    note!("{records} records, {damaged} damaged");
    assert!(damaged >= 40 && records >= 4000, "{records} records, {damaged} damaged");
}

#[test]
fn samples_are_equal_after_a_rewrite() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(6, 200);
    let path = recording(&directory, &trace);
    let decoded = directory.path().join("decoded.data");
    succeed(perfconv().arg("rewrite").arg(&path).args(["--itrace", "-q", "-o"]).arg(&decoded));
    succeed(perfconv().arg("check").arg(&decoded));
    let samples: Vec<Decoded> = spe::samples(&decoded);
    assert_eq!(samples, spe::decoded(&path, "--itrace"));
    // Its samples are not decoded again.
    let output = directory.path().join("out.script");
    let again = succeed(perfconv().arg(&decoded).arg("-o").arg(output));
    assert!(again.ledger().expect("a ledger").samples_out == samples.len() as u64 && !again.stderr.contains("trace ("));
}

/// perf's commands decode the events of perf's letters, all of them by default.
#[test]
fn commands_of_perf_decode_traces() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(6, 200);
    let path = recording(&directory, &trace);
    let perf = |arguments: &[&str]| run(perfconv().arg("perf").args(arguments).arg("-i").arg(&path));
    let events = |arguments: &[&str]| {
        let run = perf(&[&["script", "-F", "event"], arguments].concat());
        assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
        let mut counts = BTreeMap::<String, usize>::new();
        for event in String::from_utf8_lossy(&run.stdout).split_whitespace() {
            *counts.entry(event.trim_end_matches(':').to_owned()).or_default() += 1;
        }
        counts
    };
    let all = events(&[]);
    assert_eq!((all.len(), all["instructions"]), (10, trace.records().count()), "{all:?}");
    assert_eq!(events(&["--itrace"]), all);
    let memory = trace.records().filter(|record| record.class == 1).count();
    assert_eq!(events(&["--itrace=M"]), BTreeMap::from([("memory".to_owned(), memory)]));
    assert_eq!(events(&["--no-itrace"]), BTreeMap::new());
    let report = perf(&["report", "--stdio", "--itrace=bM", "-s", "comm"]);
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("of event 'branch'") && text.contains("of event 'memory'"), "{text}{}", report.stderr);
    let branches = perf(&["report", "--stdio", "--itrace=bl", "-F", "overhead,mispredict"]);
    assert!(branches.stderr.contains("branches have types"), "{}", branches.stderr);
    assert_eq!(perf(&["script", "--itrace=z"]).status, 129);
    for letters in ["--itrace", "--itrace=fmtbaMil"] {
        let [injected, rewritten] = ["injected", "rewritten"].map(|name| directory.path().join(name));
        succeed(perfconv().args(["perf", "inject", letters, "--strip", "-i"]).arg(&path).arg("-o").arg(&injected));
        succeed(perfconv().arg("rewrite").arg(&path).args([letters, "--strip", "-f", "-o"]).arg(&rewritten));
        let [injected, rewritten] = [injected, rewritten].map(|path| fs::read(path).expect("a recording"));
        assert!(injected == rewritten, "{letters}");
    }
}

/// A trace that is not decoded is named.
#[test]
fn commands_of_perf_name_traces_that_are_not_decoded() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("pt.data");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/intel-pt.toml");
    succeed(perfconv().arg("synth").arg(scenario).args(["-q", "-o"]).arg(&path));
    let run = run(perfconv().args(["perf", "script", "-i"]).arg(&path));
    assert!(run.status == 255 && run.stderr.contains("traces of Intel PT, which are not decoded"), "{}", run.stderr);
    succeed(perfconv().args(["perf", "script", "--no-itrace", "-i"]).arg(&path));
}

/// Branches by source and target, as offsets in the program, which are `None` outside of it: number of times, and of mispredictions.
type BranchCounts = BTreeMap<(Option<u64>, Option<u64>), (u64, u64)>;

/// The program of [traces](Trace), with all code in it.
const PROGRAM: std::ops::Range<u64> = 0x40_0000..0x42_0000;

/// The recording of a trace whose code is in the program that the processes run.
fn mapped(directory: &TempDir, trace: &Trace) -> PathBuf {
    // All code of the program is in its file.
    let scenario = directory.path().join("mapped.toml");
    let function = format!("functions = [\"main\"]\nfunction_size = {}", PROGRAM.end - PROGRAM.start);
    fs::write(&scenario, trace.scenario(&[]).replace("functions = [\"main\"]", &function)).expect("a scenario");
    let (path, images) = (directory.path().join("mapped.data"), directory.path().join("images"));
    succeed(perfconv().arg("synth").arg(scenario).arg("--images").arg(images).args(["-f", "-q", "-o"]).arg(&path));
    let (start, len) = (PROGRAM.start, PROGRAM.end - PROGRAM.start);
    changed_records(&path, "MMAP2", |_, record| {
        let body = &mut record["body"];
        (body["addr"], body["len"], body["pgoff"]) = (format!("{start:#x}").into(), len.into(), 0.into());
    })
}

/// The branches that were traced.
fn traced_branches(trace: &Trace) -> BranchCounts {
    let offset = |address: u64| PROGRAM.contains(&address).then(|| address - PROGRAM.start);
    let mut counts = BranchCounts::new();
    for record in trace.records() {
        // Without a source.
        if let Some(to) = record.previous.and_then(offset) {
            counts.entry((None, Some(to))).or_default().0 += 1;
        }
        let is_taken = record.events & 1 << 6 == 0;
        if let Some(to) = record.target.filter(|_| is_taken) {
            let (count, mispredicted) = counts.entry((offset(record.pc), offset(to))).or_default();
            *count += 1;
            *mispredicted += record.events >> 7 & 1;
        }
    }
    counts.remove(&(None, None));
    counts
}

#[test]
fn profiles_of_branches_equal_the_truth() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut branches, mut recordings) = (0, 0);
    for seed in 0..20 {
        let trace = Trace::random(seed, 400);
        let path = mapped(&directory, &trace);
        let recording = perfconv::Recording::open(&path).expect("a recording");
        let (counts, _) = recording.branches().expect("branches");
        let mut counted = BranchCounts::new();
        for (trace, sum) in &counts.traces {
            let offset = |location: perfconv::branches::Location| location.object().map(|_| location.offset());
            let (count, mispredicted) = counted.entry((offset(trace.from), offset(trace.to))).or_default();
            *count += sum.count;
            *mispredicted += sum.mispredicted;
        }
        assert_eq!(counted, traced_branches(&trace), "seed {seed}");
        branches += counted.values().map(|(count, _)| count).sum::<u64>();
        recordings += 1;
    }
    note!("{branches} branches in {recordings} recordings equal the truth");
    assert!(branches >= 5000, "{branches}");
}

/// Profiles for BOLT and AutoFDO of a trace are those of a recording with the same branch stacks.
#[test]
fn optimizers_get_the_same_from_a_trace_as_from_branch_stacks() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let trace = Trace::random(1, 400);
    let (path, images) = (mapped(&directory, &trace), directory.path().join("images"));
    let stacks = directory.path().join("stacks.data");
    succeed(perfconv().arg("rewrite").arg(&path).args(["--itrace", "--strip", "-q", "-o"]).arg(&stacks));
    let expected = traced_branches(&trace);
    for format in ["bolt", "autofdo", "profgen"] {
        let profile = |path: &Path| {
            let arguments = ["-t", format, "-q", "-o", "-", "--symfs"];
            succeed(perfconv().arg(path).args(arguments).arg(&images)).stdout
        };
        let text = profile(&path);
        assert!(!text.is_empty() && text == profile(&stacks), "{format}");
        if format == "bolt" {
            // "B FROM TO COUNT MISPREDICTED".
            let text = String::from_utf8(text).expect("UTF-8");
            let lines = text.lines().filter_map(|line| line.strip_prefix("B "));
            let count =
                |line: &str| line.split(' ').nth(2).and_then(|count| count.parse::<u64>().ok()).expect("a count");
            let sum: u64 = lines.map(count).sum();
            assert_eq!(sum, expected.values().map(|(count, _)| count).sum::<u64>());
        }
    }
}
