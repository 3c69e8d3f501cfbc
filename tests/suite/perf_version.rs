//! Recordings of newer perfs, written for perf 6.1: it shows all of them that the newest perf shows.

use crate::suite::files::{Recording, corpus, fixture, has_corpus};
use crate::suite::program::{for_each, perfconv, run, run_other, with_time_limit};
use perfconv::abi::attr_flags::AttrFlags;
use perfconv::abi::record::RecordType;
use perfconv::abi::sample_type::SampleType;
use perfconv::container::read::{Container, ReadOptions, input::Input};
use perfconv::rewrite::passes::Passes;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A sample as perf prints it: thread, time, event, and how many frames its stack has.
type Printed = (String, String, String, usize);

/// The samples in what `perf script` prints with the fields that it has by default.
fn samples(text: &str) -> Vec<Printed> {
    let mut samples: Vec<Printed> = Vec::new();
    for line in text.lines() {
        if line.starts_with('\t') {
            // Newer perfs tell inlined calls unasked, and the cookie of user frames that never came.
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

fn is_number((whole, part): (&str, &str)) -> bool {
    [whole, part].iter().all(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn perf(arguments: &[&str], path: &Path) -> String {
    let mut perf = with_time_limit("perf");
    perf.args(arguments).arg("-i").arg(path).env("LC_ALL", "C");
    String::from_utf8_lossy(&run_other(&mut perf).stdout).into_owned()
}

struct Known {
    meta: Meta,
    types: BTreeMap<RecordType, u64>,
}

/// Counts records by type.
#[derive(Default)]
struct Types(BTreeMap<RecordType, u64>);

impl Sink for Types {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        *self.0.entry(raw.header().kind).or_default() += 1;
        Ok(())
    }
}

fn known(path: &Path) -> perfconv::Result<Known> {
    let mut types = Types::default();
    let (meta, _) = Passes::default().run(Input::Path(path.to_owned()), &ReadOptions::default(), &mut types)?;
    Ok(Known { meta, types: types.0 })
}

/// Recordings of perf 7, with what is known of them.
fn of_newer_perfs() -> Vec<(Recording, Known)> {
    let all = corpus().into_iter().filter_map(|recording| {
        let known = known(&recording.path).ok()?;
        Some((recording, known))
    });
    all.filter(|(_, known)| known.meta.perf_version() >= Some((7, 0))).collect()
}

fn golden(recording: &Recording, kind: &str) -> Option<String> {
    let name = recording.name.strip_prefix("own/")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/own/golden");
    let packed = fs::read(root.join(format!("{name}.{kind}.zst"))).ok()?;
    Some(String::from_utf8_lossy(&zstd::decode_all(&packed[..]).expect("a golden is zstd")).into_owned())
}

enum Verdict {
    Same { samples: usize, forms: usize },
    Skipped(&'static str),
    Differs(String),
}

fn written_for(version: &str, recording: &Recording, folder: &Path, more: &[&str]) -> Result<PathBuf, String> {
    let path = folder.join(format!("{version}.data"));
    let args = ["-f", "-q", "--perf-version", version, "-o"];
    let run = run(perfconv().arg("rewrite").arg(&recording.path).args(args).arg(&path).args(more));
    if run.status == 0 { Ok(path) } else { Err(run.stderr) }
}

/// In what forms recordings are written for perf 6.1. perf 6.1 does not read every pipe of what it reads as a file, and of those
/// with AUX areas none.
const FORMS: [&[&str]; 5] = [
    &["--container", "file"],
    &["--container", "file", "--compress"],
    &["--container", "dir"],
    &["--container", "file", "--sort"],
    &["--container", "pipe"],
];

fn judge((recording, known): &(Recording, Known)) -> Verdict {
    let Some(golden) = golden(recording, "script") else { return Verdict::Skipped("it has no golden") };
    let golden = samples(&golden);
    if golden.is_empty() {
        return Verdict::Skipped("perf prints no sample");
    }
    let has_stacks = |fields| known.meta.events.list().iter().any(|event| event.attr.sample_type.contains(fields));
    // How far perf unwinds a user stack depends on which files it finds; of code that was compiled as the program ran it
    // prints some frames twice.
    let depths_differ = has_stacks(SampleType::STACK_USER) || recording.name.contains("/jit-java");
    // Newer perfs print a sample when its user frames have come.
    let told = |mut samples: Vec<Printed>| {
        samples.iter_mut().filter(|_| depths_differ).for_each(|(.., depth)| *depth = 0);
        samples.sort();
        samples
    };
    let golden = told(golden);
    let mut forms = 0;
    for form in FORMS {
        let is_pipe = form.contains(&"pipe");
        // Of foreign pipes perf 6.1 misreads pairs of numbers.
        if is_pipe && known.meta.endian == perfconv::abi::Endian::Big {
            continue;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = match written_for("6.1", recording, folder.path(), form) {
            Ok(path) => path,
            Err(error) => return Verdict::Differs(error),
        };
        let printed = perf(&["script", "--force", "--no-inline"], &path);
        if is_pipe && printed.is_empty() {
            continue;
        }
        // Of a pipe perf 6.1 makes the names out of the attrs, with what they exclude.
        let printed = if is_pipe { printed.replace(":HG:", ":") } else { printed };
        let found = told(samples(&printed));
        if golden != found {
            let at = golden.iter().zip(&found).position(|(a, b)| a != b).unwrap_or(golden.len().min(found.len()));
            let (a, b) = (golden.get(at), found.get(at));
            let counts = format!("{} samples, not {}", found.len(), golden.len());
            return Verdict::Differs(format!("{form:?}: {counts}; at {at} {b:?}, not {a:?}"));
        }
        forms += 1;
    }
    Verdict::Same { samples: golden.len(), forms }
}

#[test]
fn perf_6_1_prints_all_samples_of_newer_perfs() {
    if !has_corpus("recordings of newer perfs") || !has_perf_6_1() {
        return;
    }
    let recordings = of_newer_perfs();
    let (mut same, mut printed, mut written, mut differing) = (0, 0, 0, Vec::new());
    let mut skipped: BTreeMap<_, usize> = BTreeMap::new();
    for ((recording, _), verdict) in recordings.iter().zip(for_each(&recordings, judge)) {
        match verdict {
            Verdict::Same { samples, forms } => {
                (same, printed, written) = (same + 1, printed + samples, written + forms)
            }
            Verdict::Skipped(reason) => *skipped.entry(reason).or_default() += 1,
            Verdict::Differs(what) => differing.push(format!("{}: {what}", recording.name)),
        }
    }
    say(format_args!(
        "{same} of {} recordings of perf 7 written for 6.1, in {written} forms: {printed} samples with thread, time, event and \
         depth of the stack are those that the newest perf prints of the original; skipped {skipped:?}",
        recordings.len()
    ));
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    assert!(same >= 57 && printed > 8500, "only {same} recordings with {printed} samples were compared");
    assert!(written >= 4 * same && written > 250, "only {written} forms");
}

#[test]
fn perf_6_1_tells_the_header_of_newer_perfs() {
    if !has_corpus("recordings of newer perfs") || !has_perf_6_1() {
        return;
    }
    let recordings = of_newer_perfs();
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
    for (recording, _) in recordings.iter().filter(|(_, known)| known.meta.endian == perfconv::abi::Endian::Little) {
        let Some(golden) = golden(recording, "header") else { continue };
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Of a killed one there is no header to be told.
        let Ok(path) = written_for("6.1", recording, folder.path(), &["--container", "file"]) else { continue };
        let found = perf(&["report", "--header-only", "-I", "--force"], &path);
        let told = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| starts.iter().any(|start| line.starts_with(start)));
            lines.map(str::to_owned).collect()
        };
        let golden = told(&golden);
        assert_eq!(golden, told(&found), "{}", recording.name);
        (compared, lines) = (compared + usize::from(!golden.is_empty()), lines + golden.len());
    }
    say(format_args!("{compared} headers, {lines} lines that perf 6.1 and the newest perf tell alike"));
    assert!(compared >= 40 && lines > 500, "only {compared} headers with {lines} lines were compared");
}

#[test]
fn nothing_is_left_that_the_version_does_not_know() {
    if !has_corpus("recordings of newer perfs") {
        return;
    }
    let (mut looked_at, mut left_out, mut nothing_left) = (0, 0, 0);
    for (recording, before) in of_newer_perfs() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let Ok(path) = written_for("6.1", &recording, folder.path(), &[]) else { continue };
        let is_known = |kind: &RecordType| kind.0 <= 21 || (64..=82).contains(&kind.0);
        if !before.types.keys().any(is_known) {
            nothing_left += 1;
            continue;
        }
        let after = known(&path).unwrap_or_else(|e| panic!("{}: {e}", recording.name));
        assert_eq!(after.meta.container, before.meta.container, "{}", recording.name);
        for event in after.meta.events.list() {
            assert!(event.attr.size <= 128 && event.attr.stored_size() <= 128, "{}", recording.name);
            assert!(!event.attr.flags.intersects(AttrFlags::DEFER_CALLCHAIN | AttrFlags::DEFER_OUTPUT));
        }
        assert!(after.meta.features.keys().all(|id| id.0 < 32), "{}", recording.name);
        assert!(after.types.keys().all(is_known), "{}", recording.name);
        let [old, new] = [&before, &after].map(|known| known.types.get(&RecordType::SAMPLE).copied());
        let is_pipe = before.meta.container == Container::Pipe;
        assert!(old == new, "{}: {new:?} samples, not {old:?}{}", recording.name, if is_pipe { " (pipe)" } else { "" });
        looked_at += 1;
        left_out += usize::from(!before.types.keys().all(is_known));
    }
    say(format_args!(
        "{looked_at} recordings of perf 7 written for 6.1; {left_out} had records that it does not know, {nothing_left} no others"
    ));
    assert!(looked_at >= 60 && left_out >= 5, "only {looked_at} were looked at, {left_out} with unknown records");
}

#[test]
fn a_version_that_cannot_be_named_is_refused() {
    let fixture = crate::suite::files::fixture("plain.data");
    for version in ["4.19", "six", "6"] {
        let run = run(perfconv().arg(&fixture).args(["-o", "unused.data", "--perf-version", version]));
        assert_eq!(run.status, 2, "{}", run.stderr);
    }
}

fn has_perf_6_1() -> bool {
    let version = run_other(with_time_limit("perf").arg("--version"));
    let is_there = String::from_utf8_lossy(&version.stdout).starts_with("perf version 6.1");
    if !is_there {
        say(format_args!("there is no perf 6.1 to be shown what is written for it"));
    }
    is_there
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}

#[test]
fn a_version_without_compressed_records_gets_none() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    let rewritten = |version: &str| {
        let args = ["-f", "-q", "--compress", "--perf-version", version, "-o"];
        run(perfconv().arg("rewrite").arg(fixture("plain.data")).args(args).arg(&output))
    };
    let refused = rewritten("5.1");
    assert_eq!((refused.status, output.exists()), (2, false), "{}", refused.stderr);
    assert!(refused.stderr.contains("perf 5.1 reads no compressed records"), "{}", refused.stderr);
    assert_eq!(rewritten("5.2").status, 0);
}
