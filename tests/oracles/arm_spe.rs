//! Samples of Arm SPE in recordings that perf reads, and traces of the generator in `../shared/traces`.

use crate::common::oracle::has_program;
use crate::common::program::{for_each, perfconv, run_other, succeed, with_time_limit};
use crate::common::spe::{Trace, compare_with_truth};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The directory of the data set; says so if there is none.
fn data_set() -> Option<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    if directory.exists() {
        return Some(directory);
    }
    note!("skipped: no {}", directory.display());
    None
}

/// Recordings of traces: generated ones, and those of the data set.
fn recordings(directory: &Path) -> Vec<PathBuf> {
    let mut list = Vec::new();
    for seed in 0..12 {
        let (scenario, path) = (directory.join(format!("{seed}.toml")), directory.join(format!("{seed}.data")));
        fs::write(&scenario, Trace::random(seed, 100).scenario(&[])).expect("a scenario");
        succeed(perfconv().arg("synth").arg(scenario).args(["-q", "-o"]).arg(&path));
        list.push(path);
    }
    if let Some(traces) = data_set() {
        let entries = fs::read_dir(traces.join("spe")).expect("a directory").map(|entry| entry.expect("a file").path());
        list.extend(entries.filter(|path| path.extension().is_some_and(|end| end == "data")));
    }
    list
}

/// Fields that the samples of all recordings have, without symbols, for which perf reads files of this machine.
const FIELDS: &str = "comm,tid,event,ip";

/// perf 6.1 shows nothing of most of these traces, but the samples that are decoded from them, with the names of their events.
#[test]
fn perf_prints_the_samples_of_rewritten_traces() {
    if !has_program("perf") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let list = recordings(directory.path());
    let results = for_each(&list, |path| {
        let home = tempfile::tempdir().expect("a temporary directory");
        let mut events = BTreeMap::<String, usize>::new();
        for letters in ["--itrace", "--itrace=fmtbaMil"] {
            let output = home.path().join("out.data");
            let name = format!("{} {letters}", path.display());
            succeed(perfconv().arg("rewrite").arg(path).args([letters, "--strip", "-f", "-q", "-o"]).arg(&output));
            let mut perf = with_time_limit("perf");
            perf.env("HOME", home.path()).args(["script", "-F", FIELDS, "-i"]).arg(&output);
            let theirs = run_other(&mut perf);
            assert_eq!(theirs.status, 0, "{name}: {}", theirs.stderr);
            let ours = ["-t", "perf-script", "--fields", FIELDS, "--symbols", "no", "-q", "-o", "-"];
            let ours = succeed(perfconv().arg(&output).args(ours)).stdout;
            let [theirs, ours] = [theirs.stdout, ours].map(|text| String::from_utf8(text).expect("UTF-8"));
            assert!(theirs == ours, "{name}: perf:\n{}\nperfconv:\n{}", start(&theirs), start(&ours));
            for event in theirs.split_whitespace().filter_map(|word| word.strip_suffix(':')) {
                if event.bytes().any(|byte| byte.is_ascii_lowercase()) {
                    *events.entry(event.to_owned()).or_default() += 1;
                }
            }
        }
        events
    });
    let mut events = BTreeMap::<_, usize>::new();
    results.into_iter().flatten().for_each(|(event, count)| *events.entry(event).or_default() += count);
    note!("samples of {} recordings: {events:?}", list.len());
    assert!(events.len() == 11 && events.values().sum::<usize>() >= 10_000, "{events:?}");
}

fn start(text: &str) -> &str {
    text.char_indices().nth(600).map_or(text, |(end, _)| &text[..end])
}

/// Options of the generator of the data set.
const VARIANTS: [&[&str]; 10] = [
    &["--meta", "1"],
    &["--meta", "2"],
    &["--meta", "1", "--context", "--pbt"],
    &["--meta", "2", "--context", "--pbt", "--sve"],
    &["--per-thread"],
    &["--per-thread", "--meta", "1", "--pbt"],
    &["--no-time"],
    &["--cpus", "4", "--context"],
    &["--midr", "480fd061", "--context"],
    &["--midr", "c00fac41", "--pbt"],
];

#[test]
fn samples_equal_the_truth_of_random_seeds() {
    let Some(traces) = data_set() else { return };
    if !has_program("python3") {
        return;
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut records = 0;
    for (seed, options) in (100..).zip(VARIANTS.iter().cycle().take(2 * VARIANTS.len())) {
        let path = directory.path().join(format!("{seed}.data"));
        let seed = seed.to_string();
        let mut python = with_time_limit("python3");
        python
            .arg(traces.join("tools/spegen.py"))
            .arg(&path)
            .args(["--seed", &seed, "--records", "400"])
            .args(*options);
        let generated = run_other(&mut python);
        assert_eq!(generated.status, 0, "{options:?}: {}", generated.stderr);
        records += compare_with_truth(&path);
    }
    note!("{records} records of {} seeds equal the truth", 2 * VARIANTS.len());
    assert!(records >= 7900, "{records}");
}
