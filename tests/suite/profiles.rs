//! Options of profiles: labels, events, splitting, lost samples, unaggregated samples.

use crate::common::files::fixture;
use crate::common::pprof::{column_sums, validate};
use crate::common::profiles::{LABELS_BY_FIXTURE, convert};
use crate::common::program::{self, Run, perfconv, run, succeed};
use perfconv::formats::pprof::proto::Profile;
use perfconv::profile::labels::Label;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

fn rejected(input: &str, options: &[&str]) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let run = run(perfconv().arg(fixture(input)).args(options).arg("-o").arg(dir.path().join("out.pb.gz")));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a rejected conversion should leave no files");
    run
}

fn text(profile: &Profile, index: i64) -> &str {
    &profile.string_table[index as usize]
}

/// The values of a label: texts, or numbers with their units.
fn label_values(profile: &Profile, key: &str) -> BTreeSet<String> {
    let labels = profile.sample.iter().flat_map(|sample| &sample.label);
    let of_key = labels.filter(|label| text(profile, label.key) == key);
    let values = of_key.map(|label| match label.str {
        0 => format!("{} {}", label.num, text(profile, label.num_unit)),
        str => text(profile, str).to_owned(),
    });
    values.collect()
}

#[test]
fn every_label_is_written() {
    for (input, labels) in LABELS_BY_FIXTURE {
        for label in *labels {
            let dir = tempfile::tempdir().unwrap();
            let output = dir.path().join("out.pb.gz");
            succeed(perfconv().arg(fixture(input)).args(["--labels", label, "-o"]).arg(&output));
            let profile = program::profile(&output);
            validate(&profile).unwrap();
            assert!(!label_values(&profile, label).is_empty(), "{label} of {input}");
        }
    }
    let covered: BTreeSet<_> = LABELS_BY_FIXTURE.iter().flat_map(|(_, labels)| *labels).copied().collect();
    let all: BTreeSet<_> = Label::ALL.iter().map(|label| label.key()).collect();
    // The rest need more than a fixture: hardware with data sources and traces (tests of Arm SPE), spans (--span), waits (--off-cpu),
    // switches (--weight latency), a file of thread types.
    let others: Vec<_> = all.difference(&covered).collect();
    let expected = [
        "argument",
        "branch_outcome",
        "issue_latency",
        "operation",
        "parallelism",
        "remote",
        "snoop_status",
        "state",
        "thread_type",
        "tlb",
        "translation_latency",
    ];
    assert_eq!(others, expected.iter().collect::<Vec<_>>());
}

#[test]
fn label_values_match_the_recording() {
    let profile = convert("forks.data", &["--labels", "comm,thread_comm,execution_mode"]);
    let comms = label_values(&profile, "comm");
    assert!(comms.contains("forky") && comms.len() > 1, "{comms:?}");
    let modes = label_values(&profile, "execution_mode");
    assert!(modes.iter().all(|mode| mode == "Host Kernel" || mode == "Host User"), "{modes:?}");
    assert_eq!(modes.len(), 2);
    let by_default = convert("forks.data", &[]);
    assert_eq!(label_values(&by_default, "comm"), comms);
    assert!(convert("forks.data", &["--labels", "none"]).sample.iter().all(|sample| sample.label.is_empty()));
    let pages = label_values(&convert("page-sizes.data", &["--labels", "code_page_size"]), "code_page_size");
    assert!(pages.contains("4096 bytes"), "{pages:?}");

    let cgroups = label_values(&convert("cgroup.data", &["--labels", "cgroup"]), "cgroup");
    assert_eq!(Vec::from_iter(cgroups), ["/", "/demo"]);

    let dir = tempfile::tempdir().unwrap();
    let types = dir.path().join("types");
    let tid = label_values(&convert("plain.data", &["--labels", "tid"]), "tid").pop_first().unwrap();
    let tid = tid.split(' ').next().unwrap();
    fs::write(&types, format!("{tid} the one that loops\n")).unwrap();
    let types = types.to_str().unwrap();
    let named = convert("plain.data", &["--labels", "thread_type", "--thread-types", types]);
    assert_eq!(Vec::from_iter(label_values(&named, "thread_type")), ["the one that loops"]);
}

/// No fixture is of hardware with data sources, so the test inserts them.
#[test]
fn data_source_and_snoop_labels_match_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let (lines, edited) = (dir.path().join("out.jsonl"), dir.path().join("edited.jsonl"));
    succeed(perfconv().arg(fixture("weight.data")).arg("-o").arg(&lines));
    // PERF_MEM_SNOOP_HIT and PERF_MEM_SNOOP_HITM.
    let mut snooped = [4, 16].iter().cycle();
    let mut count = 0;
    let edit = |line: &str| {
        let mut object: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(source) = object.pointer_mut("/body/data_src") {
            *source = serde_json::json!({ "MEM_OP": 2, "MEM_LVL": 10, "MEM_SNOOP": snooped.next() });
            count += 1;
        }
        object.to_string() + "\n"
    };
    let text: String = fs::read_to_string(&lines).unwrap().lines().map(edit).collect();
    assert!(count > 300, "{count}");
    fs::write(&edited, text).unwrap();
    let output = dir.path().join("out.pb.gz");
    let result = program::run(perfconv().arg(&edited).args(["--labels", "data_src,snoop_status", "-o"]).arg(&output));
    assert_eq!(result.status, 0, "{}", result.stderr);
    let profile = program::profile(&output);
    assert_eq!(Vec::from_iter(label_values(&profile, "data_src")), ["L1"]);
    assert_eq!(Vec::from_iter(label_values(&profile, "snoop_status")), ["Hit", "HitM"]);
}

#[test]
fn unaggregated_samples_have_the_same_sums() {
    for input in ["plain.data", "two-events.data", "group-read.data", "pipe.data", "threads.dir", "compressed2.data"] {
        let folded = convert(input, &["--labels", "pid"]);
        let single = convert(input, &["--labels", "pid,timestamp_ns"]);
        assert_eq!(column_sums(&folded), column_sums(&single), "{input}");
        let times = label_values(&single, "timestamp_ns").len();
        assert!(times >= single.sample.len() / 2 && times > folded.sample.len() / 2, "{input}: {times} times");
    }
    // Also from a pipe, which can be read only once.
    let bytes = fs::read(fixture("pipe.data")).unwrap();
    let mut command = perfconv();
    command.args(["-", "--labels", "timestamp_ns", "-t", "pprof", "-o", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let piped = program::decode(&output.stdout);
    assert_eq!(column_sums(&piped), column_sums(&convert("pipe.data", &[])));
}

#[test]
fn parts_of_a_split_sum_up_to_the_whole() {
    for (input, what) in [("forks.data", "comm"), ("forks.data", "pid"), ("two-events.data", "event")] {
        let dir = tempfile::tempdir().unwrap();
        let parts = dir.path().join("parts");
        let arguments = ["--split-by", what, "-o"];
        let split = |options: &[&str]| run(perfconv().arg(fixture(input)).args(options).args(arguments).arg(&parts));
        let first = split(&[]);
        assert_eq!(first.status, 0, "{}", first.stderr);
        let files: Vec<_> = fs::read_dir(&parts).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() > 1, "{input} by {what}: {files:?}");
        let total: i64 = column_sums(&convert(input, &[])).iter().sum();
        let mut sum = 0;
        for file in &files {
            assert!(file.to_string_lossy().ends_with(".pb.gz"), "{file:?}");
            let part = program::profile(file);
            validate(&part).unwrap_or_else(|error| panic!("{file:?}: {error}"));
            sum += column_sums(&part).iter().sum::<i64>();
        }
        assert_eq!(sum, total, "{input} by {what}");
        assert_eq!((split(&[]).status, split(&["-f"]).status), (1, 0), "only -f should replace an existing split");
        fs::write(parts.join("notes.txt"), "mine").unwrap();
        assert_eq!(split(&["-f"]).status, 1, "a directory with other files should never be replaced");
    }
}

#[test]
fn event_option_selects_events_and_bad_options_are_rejected() {
    let all = convert("two-events.data", &[]);
    let one = convert("two-events.data", &["--event", "task-clock"]);
    assert_eq!((all.sample_type.len(), one.sample_type.len()), (4, 2));
    let refusal = rejected("two-events.data", &["--event", "cycles"]);
    assert_eq!(refusal.status, 1);
    assert!(
        refusal.stderr.contains("unknown event 'cycles'; expected one of: cpu-clock, task-clock"),
        "{}",
        refusal.stderr
    );
    let refusal = rejected("plain.data", &["--labels", "pid,cgroup"]);
    assert_eq!(refusal.status, 1);
    assert!(
        refusal.stderr.contains("samples have no label 'cgroup'; available labels: pid, tid, comm"),
        "{}",
        refusal.stderr
    );
    assert_eq!(rejected("plain.data", &["--labels", "colour"]).status, 2);
    assert_eq!(rejected("plain.data", &["--labels", "pid", "-t", "perf.data"]).status, 2);
    assert_eq!(rejected("plain.data", &["--compress"]).status, 2);
    assert_eq!(rejected("plain.data", &["--level", "22"]).status, 2, "too high for gzip");
    let bare = run(perfconv().arg(fixture("plain.data")).args(["--level", "5", "-o", "bare.pb"]));
    assert_eq!((bare.status, bare.stderr.contains("ends in .gz or .zst")), (2, true), "{}", bare.stderr);
    assert_eq!(rejected("plain.data", &["--labels", "thread_type"]).status, 2);
    assert_eq!(rejected("plain.data", &["--event", ""]).status, 2);
    assert_eq!(rejected("plain.data", &["--quipper", "strict"]).status, 2, "not for pprof");
}

#[test]
fn lost_as_samples_adds_lost_samples() {
    let (without, counted) = (convert("lost.data", &[]), convert("lost.data", &["--lost", "as-samples"]));
    let is_lost = |profile: &Profile, id: u64| {
        let mapping = profile.location[id as usize - 1].mapping_id;
        mapping > 0 && text(profile, profile.mapping[mapping as usize - 1].filename) == "[lost]"
    };
    let lost = |profile: &Profile| -> i64 {
        let of = profile.sample.iter().filter(|sample| sample.location_id.iter().any(|&id| is_lost(profile, id)));
        of.map(|sample| sample.value[0]).sum()
    };
    assert_eq!(lost(&without), 0);
    assert!(lost(&counted) > 0);
    let run = run(perfconv().arg(fixture("lost.data")).args(["-t", "pprof", "-o", "/dev/null"]));
    let (_, samples) = run.ledger().unwrap().lost.expect("a nonzero count of lost records");
    assert_eq!(lost(&counted) as u64, samples);
    assert_eq!(column_sums(&counted)[0], column_sums(&without)[0] + samples as i64);
}

#[test]
fn a_recording_without_samples_gives_an_empty_profile_with_columns() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.pb.gz");
    let mut bytes = fs::read(fixture("plain.data")).unwrap();
    // Change every sample to a record of an unknown type.
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (mut at, end) = (word(&bytes, 40), word(&bytes, 40) + word(&bytes, 48));
    while at < end {
        if bytes[at] == 9 {
            bytes[at] = 50;
        }
        at += usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
    }
    let input = dir.path().join("in.data");
    fs::write(&input, bytes).unwrap();
    let run = program::convert(&input, &output);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("the recording has no samples"), "{}", run.stderr);
    let profile = program::profile(&output);
    validate(&profile).unwrap();
    assert_eq!((profile.sample.len(), profile.sample_type.len()), (0, 2));
    assert!(Path::new(&output).exists());
}
