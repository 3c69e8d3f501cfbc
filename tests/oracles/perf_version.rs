//! `--perf-version 6.1`: perf 6.1 prints all samples of recordings of newer perf versions, like the newest perf.

use crate::common::files::{Recording, has_corpus};
use crate::common::perf_version::{Inspected, recordings_of_perf_7, rewrite_for};
use crate::common::program::{for_each, run_other, with_time_limit};
use perf_data::abi::sample_type::SampleType;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A sample as perf prints it: thread, time, event, and number of frames.
type Printed = (String, String, String, usize);

/// Parses the samples that `perf script` prints by default.
fn samples(text: &str) -> Vec<Printed> {
    let mut samples: Vec<Printed> = Vec::new();
    for line in text.lines() {
        if line.starts_with('\t') {
            // Newer versions print inlined functions by default, and the cookie of missing deferred user frames.
            if line.ends_with("(inlined)") || line.contains(" (cookie) ") {
                continue;
            }
            samples.iter_mut().last().into_iter().for_each(|sample| sample.3 += 1);
            continue;
        }
        let words: Vec<_> = line.split_whitespace().collect();
        let is_time =
            |word: &&str| word.ends_with(':') && word[..word.len() - 1].split_once('.').is_some_and(is_number);
        let Some(at) = words.iter().position(is_time) else { continue };
        let thread = words[..at].iter().rfind(|word| !word.starts_with('[')).copied().unwrap_or_default();
        let event = words[at + 1..].iter().find(|word| word.ends_with(':')).copied().unwrap_or_default();
        samples.push((thread.to_owned(), words[at].to_owned(), event.to_owned(), 0));
    }
    samples
}

fn is_number((integer, part): (&str, &str)) -> bool {
    [integer, part].iter().all(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn perf(arguments: &[&str], path: &Path) -> String {
    let mut perf = with_time_limit("perf");
    perf.args(arguments).arg("-i").arg(path).env("LC_ALL", "C");
    String::from_utf8_lossy(&run_other(&mut perf).stdout).into_owned()
}

fn golden(recording: &Recording, kind: &str) -> Option<String> {
    let name = recording.name.strip_prefix("own/")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/own/golden");
    let packed = fs::read(root.join(format!("{name}.{kind}.zst"))).ok()?;
    Some(String::from_utf8_lossy(&zstd::decode_all(&packed[..]).expect("a golden should be zstd")).into_owned())
}

enum Verdict {
    Same { samples: usize, outputs: usize },
    Skipped(&'static str),
    Differs(String),
}

/// Outputs written for perf 6.1. perf 6.1 cannot read some pipes that it can read as files, and no pipes with AUX areas.
const OUTPUTS: [&[&str]; 5] = [
    &["--container", "file"],
    &["--container", "file", "--compress"],
    &["--container", "dir"],
    &["--container", "file", "--sort"],
    &["--container", "pipe"],
];

fn compare((recording, inspected): &(Recording, Inspected)) -> Verdict {
    let Some(golden) = golden(recording, "script") else { return Verdict::Skipped("no golden") };
    let golden = samples(&golden);
    if golden.is_empty() {
        return Verdict::Skipped("perf prints no samples");
    }
    let has_stacks = |fields| inspected.meta.events.list().iter().any(|event| event.attr.sample_type.contains(fields));
    // The number of unwound frames depends on the installed files; perf prints some JIT frames twice.
    let depths_differ = has_stacks(SampleType::STACK_USER) || recording.name.contains("/jit-java");
    // Sort, as newer versions print deferred samples when their user frames arrive.
    let normalize = |mut samples: Vec<Printed>| {
        samples.iter_mut().filter(|_| depths_differ).for_each(|(.., depth)| *depth = 0);
        samples.sort();
        samples
    };
    let golden = normalize(golden);
    let mut outputs = 0;
    for options in OUTPUTS {
        let is_pipe = options.contains(&"pipe");
        // perf 6.1 misreads pid/tid pairs in pipes of the other byte order.
        if is_pipe && inspected.meta.endian == perf_data::abi::Endian::Big {
            continue;
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = match rewrite_for("6.1", recording, dir.path(), options) {
            Ok(path) => path,
            Err(error) => return Verdict::Differs(error),
        };
        let printed = perf(&["script", "--force", "--no-inline"], &path);
        if is_pipe && printed.is_empty() {
            continue;
        }
        // For pipes, perf 6.1 derives event names from attrs, with exclusion modifiers.
        let printed = if is_pipe { printed.replace(":HG:", ":") } else { printed };
        let ours = normalize(samples(&printed));
        if golden != ours {
            let at = golden.iter().zip(&ours).position(|(a, b)| a != b).unwrap_or(golden.len().min(ours.len()));
            let (a, b) = (golden.get(at), ours.get(at));
            let counts = format!("{} samples, expected {}", ours.len(), golden.len());
            return Verdict::Differs(format!("{options:?}: {counts}; at {at} {b:?}, expected {a:?}"));
        }
        outputs += 1;
    }
    Verdict::Same { samples: golden.len(), outputs }
}

#[test]
fn perf_6_1_prints_all_samples_of_newer_recordings() {
    if !has_corpus("recordings of newer perfs") || !has_perf_6_1() {
        return;
    }
    let recordings = recordings_of_perf_7();
    let (mut same, mut printed, mut written, mut differing) = (0, 0, 0, Vec::new());
    let mut skipped: BTreeMap<_, usize> = BTreeMap::new();
    for ((recording, _), verdict) in recordings.iter().zip(for_each(&recordings, compare)) {
        match verdict {
            Verdict::Same { samples, outputs } => {
                (same, printed, written) = (same + 1, printed + samples, written + outputs)
            }
            Verdict::Skipped(reason) => *skipped.entry(reason).or_default() += 1,
            Verdict::Differs(what) => differing.push(format!("{}: {what}", recording.name)),
        }
    }
    note!(
        "{same} of {} recordings of perf 7 written for 6.1, {written} outputs: thread, time, event and stack depth of {printed} \
         samples match the newest perf's output for the original; skipped {skipped:?}",
        recordings.len()
    );
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    assert!(same >= 57 && printed > 8500, "compared only {same} recordings with {printed} samples");
    assert!(written >= 4 * same && written > 250, "only {written} outputs");
}

#[test]
fn perf_6_1_prints_the_header_of_newer_recordings() {
    if !has_corpus("recordings of newer perfs") || !has_perf_6_1() {
        return;
    }
    let recordings = recordings_of_perf_7();
    let (mut compared, mut lines) = (0, 0);
    let starts = [
        "# hostname",
        "# os release",
        "# perf version",
        "# arch",
        "# nrcpus",
        "# cpudesc",
        "# cpuid",
        "# total memory",
        "# cmdline",
        "# sibling",
        "# CPU ",
        "# node",
        "# pmu mappings",
        "#  L",
        "# time of",
        "# sample duration",
        "# memory nodes",
    ];
    for (recording, _) in
        recordings.iter().filter(|(_, inspected)| inspected.meta.endian == perf_data::abi::Endian::Little)
    {
        let Some(golden) = golden(recording, "header") else { continue };
        let dir = tempfile::tempdir().expect("a temporary directory");
        // Interrupted recordings have no header features.
        let Ok(path) = rewrite_for("6.1", recording, dir.path(), &["--container", "file"]) else { continue };
        let header = perf(&["report", "--header-only", "-I", "--force"], &path);
        let normalize = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| starts.iter().any(|start| line.starts_with(start)));
            lines.map(str::to_owned).collect()
        };
        let golden = normalize(&golden);
        assert_eq!(golden, normalize(&header), "{}", recording.name);
        (compared, lines) = (compared + usize::from(!golden.is_empty()), lines + golden.len());
    }
    note!("{compared} headers, {lines} lines equal in perf 6.1 and the newest perf");
    assert!(compared >= 40 && lines > 500, "compared only {compared} headers with {lines} lines");
}

fn has_perf_6_1() -> bool {
    let version = run_other(with_time_limit("perf").arg("--version"));
    let is_installed = String::from_utf8_lossy(&version.stdout).starts_with("perf version 6.1");
    if !is_installed {
        note!("skipped: no perf 6.1");
    }
    is_installed
}
