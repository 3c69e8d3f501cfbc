//! Unwound stack dumps compared with those of perf: version 6.1 and 6.12 with libunwind, 7.2 with libdw.

use crate::common::program::{perfconv, run};
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Frames of a sample: address and object.
pub(super) type Frames = Vec<(u64, String)>;

/// The frames of each sample in perf script text, leaf first. An inlined function is not a frame, unless perf prints nothing else at
/// its address.
pub(super) fn frames(text: &str) -> Vec<Frames> {
    let mut samples: Vec<Frames> = Vec::new();
    let mut inlined = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(frame) = line.strip_prefix('\t') else {
            samples.push(Vec::new());
            inlined = None;
            continue;
        };
        let (address, rest) = frame.trim().split_once(' ').unwrap_or((frame.trim(), ""));
        let object = rest.rsplit_once('(').map_or("", |(_, object)| object.trim_end_matches(')'));
        let address = u64::from_str_radix(address, 16).unwrap_or_else(|_| panic!("{line}"));
        let sample = samples.last_mut().unwrap();
        if inlined == Some(address) {
            sample.pop();
        }
        inlined = (object == "inlined").then_some(address);
        sample.push((address, object.to_owned()));
    }
    samples
}

/// The directory of recordings with the goldens of perf; `None` if it is missing.
fn corpus() -> Option<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/symbols");
    if !corpus.is_dir() {
        note!("no recordings beside the repository: nothing is compared");
    }
    corpus.is_dir().then_some(corpus)
}

/// The recordings with stack dumps.
fn recordings(corpus: &Path) -> Vec<String> {
    let files = fs::read_dir(corpus.join("rec")).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.retain(|name| name.starts_with("d-dw"));
    names.sort();
    names
}

/// The frames that a version of perf printed.
fn golden(corpus: &Path, recording: &str, kind: &str) -> Option<Vec<Frames>> {
    let text = fs::read(corpus.join("golden").join(format!("{recording}.{kind}.txt.zst"))).ok()?;
    Some(frames(&String::from_utf8(zstd::decode_all(&text[..]).unwrap()).unwrap()))
}

/// How a stack compares with perf's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Comparison {
    Equal,
    /// Equal, except for perf's last frame, which is none: an address outside user space.
    WithoutInvalidLast,
    /// Begins with perf's stack.
    Longer,
    /// perf's stack begins with it.
    Shorter,
    Differing,
}

impl Comparison {
    fn new(
        ours: &[(u64, String)],
        theirs: &[(u64, String)],
        is_same: impl Fn(&(u64, String), &(u64, String)) -> bool,
    ) -> Self {
        let is_invalid = theirs.last().is_some_and(|frame| frame.1 == "[unknown]" && frame.0 > 1 << 47);
        let valid = &theirs[..theirs.len() - usize::from(is_invalid)];
        let is_prefix = ours.iter().zip(valid).all(|(ours, theirs)| is_same(ours, theirs));
        match ours.len().cmp(&valid.len()) {
            _ if !is_prefix => Self::Differing,
            std::cmp::Ordering::Equal if is_invalid => Self::WithoutInvalidLast,
            std::cmp::Ordering::Equal => Self::Equal,
            std::cmp::Ordering::Greater => Self::Longer,
            std::cmp::Ordering::Less => Self::Shorter,
        }
    }
}

/// Numbers of stacks by comparison.
type Counts = BTreeMap<Comparison, usize>;

/// Compares the stacks of a recording; returns their counts, and those that are shorter or differ.
fn compare(
    name: &str,
    ours: &[Frames],
    theirs: &[Frames],
    is_same: impl Fn(&(u64, String), &(u64, String)) -> bool + Copy,
) -> (Counts, Vec<String>) {
    assert_eq!(ours.len(), theirs.len(), "{name}");
    let (mut counts, mut worse) = (Counts::new(), Vec::new());
    for (ours, theirs) in ours.iter().zip(theirs) {
        let comparison = Comparison::new(ours, theirs, is_same);
        *counts.entry(comparison).or_default() += 1;
        if matches!(comparison, Comparison::Shorter | Comparison::Differing) {
            worse.push(format!("{name}: {ours:x?} instead of {theirs:x?}"));
        }
    }
    note!("{name}: {counts:?}");
    (counts, worse)
}

#[test]
fn stacks_equal_those_of_perf_with_libunwind_or_are_longer() {
    let Some(corpus) = corpus() else { return };
    let (names, mut files, mut worse, mut totals) = (recordings(&corpus), 0, Vec::new(), Counts::new());
    for name in &names {
        let Some(theirs) = golden(&corpus, name, "p61.noinline") else { continue };
        let run = run(perfconv()
            .arg(corpus.join("rec").join(name).with_extension("data"))
            .arg("--symfs")
            .arg(corpus.join("symfs"))
            .args(["-t", "perf-script", "--no-inline", "-q"])
            .env("HOME", "/nonexistent"));
        let ours = frames(&String::from_utf8(run.stdout).unwrap());
        // perf prints signal trampolines one byte before their start.
        let is_same = |ours: &(u64, String), theirs: &(u64, String)| {
            ours.1 == theirs.1 && (ours.0 == theirs.0 || ours.0 == theirs.0 + 1)
        };
        let (counts, others) = compare(name, &ours, &theirs, is_same);
        files += 1;
        worse.extend(others);
        counts.into_iter().for_each(|(comparison, count)| *totals.entry(comparison).or_default() += count);
    }
    note!("{files} of {} recordings: {totals:?}", names.len());
    assert!(files > 20 && totals[&Comparison::Equal] > 2900, "compared too few: {files} recordings, {totals:?}");
    assert!(worse.is_empty(), "{}", worse.join("\n"));
}

/// Recordings of programs that LLD linked, in which libdw computes wrong frame addresses, and the number of their stacks that it
/// continues at values that are not frames.
const WRONG_WITH_LIBDW: [(&str, usize); 4] =
    [("d-dw-foundry-lld", 1), ("d-dw-harbor-d1", 29), ("d-dw-harbor-d2v0", 22), ("d-dw-harbor-pipe", 10)];

#[test]
fn stacks_equal_those_of_perf_with_libdw() {
    let Some(corpus) = corpus() else { return };
    let (names, mut files, mut worse) = (recordings(&corpus), 0, Vec::new());
    let (mut totals, mut wrong, mut repeated) = (Counts::new(), Counts::new(), 0);
    for name in &names {
        let Some(mut theirs) = golden(&corpus, name, "p72.inline") else { continue };
        let options = SymbolOptions::default().symfs(corpus.join("symfs")).without_inlined();
        let recording = Recording::open(corpus.join("rec").join(name).with_extension("data")).unwrap();
        let (mut samples, mut ours) = (recording.with_symbols(options).samples().unwrap(), Vec::new());
        while let Some(sample) = samples.next().unwrap() {
            ours.push(sample.frames().map(|frame| (frame.address(), String::new())).collect());
        }
        if name == "d-dw-z" {
            // perf prints a function with inlined ones twice, once.
            for stack in &mut theirs {
                let len = stack.len();
                stack.dedup();
                repeated += len - stack.len();
            }
        }
        let is_same = |ours: &(u64, String), theirs: &(u64, String)| ours.0.abs_diff(theirs.0) <= 1;
        let (counts, others) = compare(name, &ours, &theirs, is_same);
        let sums = match WRONG_WITH_LIBDW.iter().find(|(known, _)| known == name) {
            Some(&(_, differing)) if others.len() <= differing => &mut wrong,
            _ => {
                worse.extend(others);
                &mut totals
            }
        };
        files += 1;
        counts.into_iter().for_each(|(comparison, count)| *sums.entry(comparison).or_default() += count);
    }
    note!("{files} of {} recordings: {totals:?}; linked by LLD: {wrong:?}", names.len());
    assert!(files > 20 && totals[&Comparison::Equal] > 2900, "compared too few: {files} recordings, {totals:?}");
    assert!(worse.is_empty() && repeated <= 1, "{repeated} frames repeated; {}", worse.join("\n"));
}
