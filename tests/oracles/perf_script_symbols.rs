//! Functions in perf script text, compared with those that perf prints.

use super::perf_programs::{Perf, installed};
use crate::common::program::{for_each, perfconv, run_other, with_time_limit};
use crate::common::symbol_outputs::plain;
use perf_data::abi::sample::{Callchain, Sample};
use perf_data::abi::sample_type::SampleType;
use perf_symbols::symbol::object::Object;
use perfconv::synth::{Event, Map, RecordingBuilder};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kind of difference between the stacks or frames of the two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    EmptyStack,
    FewerFrames,
    InvalidAddress,
    AppendedFrames,
    Trampoline,
    ReturnAddress,
    PltEntry,
    NoSymbol,
    BetweenFunctions,
    Clone,
    Demangling,
    Alias,
    Other,
}

impl Difference {
    /// What perf does, and how many stacks or frames may differ like this in each set of recordings: with perf 6.1, and with later
    /// versions. The numbers may only become smaller.
    fn describe(self) -> (&'static str, [[usize; SETS.len()]; 2]) {
        match self {
            Self::EmptyStack => ("perf discards a chain with an invalid address, or cannot unwind", [[267, 0, 6]; 2]),
            Self::FewerFrames => ("perf unwinds fewer frames", [[673, 244, 0]; 2]),
            Self::InvalidAddress => ("perf ends a stack with an invalid address", [[0, 39, 0]; 2]),
            Self::AppendedFrames => ("perf appends unwound frames to a recorded call chain", [[244, 0, 0]; 2]),
            Self::Trampoline => ("perf prints the address before a signal trampoline", [[20, 39, 0]; 2]),
            Self::ReturnAddress => ("perf names a caller by its return address, in the next function", [[0, 71, 0]; 2]),
            Self::PltEntry => {
                ("perf names an entry of a procedure linkage table differently, or not", [[2, 0, 200], [0, 0, 200]])
            }
            Self::NoSymbol => ("perf finds no symbol", [[1315, 8103, 0]; 2]),
            Self::BetweenFunctions => ("perf names bytes after the function before them", [[0, 0, 200]; 2]),
            Self::Clone => ("perf prints the suffix of a cloned function", [[0, 0, 200], [0, 1826, 200]]),
            Self::Demangling => ("perf demangles the name differently, or not", [[0, 1, 0], [0, 6177, 0]]),
            Self::Alias => ("perf prints another name of the function", [[0, 0, 200]; 2]),
            Self::Other => ("other", [[0, 0, 0]; 2]),
        }
    }
}

/// Sets of recordings, each with the number of samples that must be compared.
const SETS: [(&str, usize); 3] =
    [("of the repository", 4000), ("beside the repository", 25_000), ("of libraries of this machine", 2000)];

/// A recording, and the arguments with which both programs find its files.
pub(super) struct RecordingWithFiles {
    pub path: PathBuf,
    pub files: Vec<String>,
}

/// The recordings of each set.
pub(super) fn sets(directory: &Path) -> [Vec<RecordingWithFiles>; SETS.len()] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (own, corpus) = (root.join("roundtrip/symbols"), root.join("../shared/symbols"));
    let kallsyms = directory.join("kallsyms");
    fs::write(&kallsyms, "").unwrap();
    let libraries = libraries();
    let synthesized = libraries.iter().enumerate().filter_map(|(number, library)| {
        let path = directory.join(format!("{number}.data"));
        fs::write(&path, recording_of(library)?).unwrap();
        Some(path)
    });
    let synthesized = synthesized.map(|path| RecordingWithFiles { path, files: files(None, &kallsyms) }).collect();
    let with_debug_files = |name: &str, symfs: PathBuf| {
        let both = directory.join(name);
        link_all(&both.join("usr/lib/debug"), Path::new("/usr/lib/debug"));
        link_all(&both, &symfs);
        link_libraries(&both);
        both
    };
    let (of_own, of_corpus) =
        (with_debug_files("own", own.join("files")), with_debug_files("corpus", corpus.join("symfs")));
    [
        recordings(&own, &files(Some(&of_own), &kallsyms)),
        recordings(&corpus.join("rec"), &files(Some(&of_corpus), &of_corpus.join("proc/kallsyms"))),
        synthesized,
    ]
}

/// Links all files below a directory into another: perf searches `/usr/lib/debug` only below `--symfs`.
fn link_all(to: &Path, from: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().unwrap().is_dir() {
            link_all(&to, &from);
        } else {
            symlink(from, to).unwrap();
        }
    }
}

/// Links the libraries below a directory whose debug files are often installed. perf takes the offsets in the segments of a debug file,
/// which `objcopy` moved, for those of its program, if that is missing, and then prints names of other functions. Both programs use
/// a library only if its build ID is the recorded one.
fn link_libraries(symfs: &Path) {
    let libraries = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let (from, to) = (Path::new("/").join(&libraries), symfs.join(&libraries));
    fs::create_dir_all(&to).unwrap();
    for name in ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"] {
        if from.join(name).exists() && !to.join(name).exists() {
            symlink(from.join(name), to.join(name)).unwrap();
        }
    }
}

pub(super) fn files(symfs: Option<&Path>, kallsyms: &Path) -> Vec<String> {
    let symfs = symfs.map(|path| ["--symfs".to_owned(), path.display().to_string()]);
    symfs.into_iter().flatten().chain(["--kallsyms".to_owned(), kallsyms.display().to_string()]).collect()
}

/// The recordings in a directory.
fn recordings(directory: &Path, files: &[String]) -> Vec<RecordingWithFiles> {
    let entries = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "data")).collect();
    paths.sort();
    paths.into_iter().map(|path| RecordingWithFiles { path, files: files.to_vec() }).collect()
}

/// Libraries of this machine.
fn libraries() -> Vec<PathBuf> {
    const NAMES: [&str; 6] =
        ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libcrypto.so.3", "libpthread.so.0", "libz.so.1"];
    let directory = PathBuf::from(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    NAMES.iter().filter_map(|name| directory.join(name).canonicalize().ok()).collect()
}

/// A recording with samples at addresses all over the code of a library.
fn recording_of(library: &Path) -> Option<Vec<u8>> {
    /// Number of samples.
    const SAMPLES: u64 = 1000;
    /// Where the library is mapped.
    const START: u64 = 0x7f00_0000_0000;
    let object = Object::open(library).ok()??;
    let segment = object.segments().iter().find(|segment| segment.is_executable)?;
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cpu-clock:u").unwrap().period(1000).with(SampleType::CALLCHAIN));
    let map = Map::new(library.display().to_string(), START + segment.offset, segment.file_size).pgoff(segment.offset);
    recording.process(7, "app").map(7, map.build_id(object.build_id()?.bytes()));
    for number in 0..SAMPLES {
        let ip = START + segment.offset + segment.file_size * number / SAMPLES;
        let callchain = Some(Callchain { ips: vec![ip] });
        let (task, time) = (Some((7, 7)), Some(1000 * (1 + number)));
        recording.sample(event, Sample { ip: Some(ip), task, time, callchain, ..Sample::default() });
    }
    // perf prints no frame of a chain with an address in the range of context markers.
    let (callchain, time) =
        (Some(Callchain { ips: vec![START + segment.offset, u64::MAX] }), Some(1000 * (2 + SAMPLES)));
    recording.sample(event, Sample { ip: Some(START), task: Some((7, 7)), time, callchain, ..Sample::default() });
    recording.to_bytes().ok()
}

/// A sample: its first line, and its frames.
#[derive(Debug, PartialEq, Eq)]
struct Stack<'a> {
    head: &'a str,
    frames: Vec<Frame<'a>>,
}

/// A frame: address, function, offset in it, and file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Frame<'a> {
    address: u64,
    name: &'a str,
    offset: Option<u64>,
    file: &'a str,
}

impl<'a> Frame<'a> {
    fn parse(line: &'a str) -> Self {
        let (address, rest) = line.trim().split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let (name, file) = rest.rsplit_once(" (").unwrap_or_else(|| panic!("{line}"));
        let (name, offset) = match name.rsplit_once("+0x") {
            Some((name, offset)) => (name, u64::from_str_radix(offset, 16).ok()),
            None => (name, None),
        };
        Self { address: u64::from_str_radix(address, 16).unwrap(), name, offset, file: file.trim_end_matches(')') }
    }

    fn is_named(&self) -> bool {
        self.name != "[unknown]"
    }

    /// How ours differs from perf's.
    fn difference(ours: &Self, perfs: &Self, is_caller: bool) -> Option<Difference> {
        if ours == perfs {
            return None;
        }
        let is_same_place = (ours.address, ours.file) == (perfs.address, perfs.file);
        let is_clone = perfs.name.strip_prefix(ours.name).is_some_and(|rest| rest.starts_with(['.', ' ']));
        let is_mangled = perfs.name.starts_with("_R") || perfs.name.starts_with("_Z") || perfs.name.contains('$');
        Some(match () {
            () if ours.address == perfs.address + 1 && ours.offset == Some(0) => Difference::Trampoline,
            () if !is_same_place => Difference::Other,
            () if [ours, perfs].iter().any(|frame| frame.name.ends_with("plt")) => Difference::PltEntry,
            () if is_caller && perfs.offset == Some(0) => Difference::ReturnAddress,
            () if !perfs.is_named() => Difference::NoSymbol,
            () if !ours.is_named() && !is_caller => Difference::BetweenFunctions,
            () if ours.offset != perfs.offset => Difference::Other,
            () if is_clone => Difference::Clone,
            () if is_mangled || plain(ours.name) == plain(without_hash(perfs.name)) => Difference::Demangling,
            () => Difference::Alias,
        })
    }
}

/// A name of Rust without the hash at its end.
fn without_hash(name: &str) -> &str {
    let hash = name.rsplit_once("::h").filter(|(_, hash)| hash.len() == 16);
    hash.map_or(name, |(name, _)| name)
}

impl<'a> Stack<'a> {
    /// The samples of a text.
    fn parse(text: &'a str) -> Vec<Self> {
        let mut stacks: Vec<Self> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match line.strip_prefix('\t') {
                Some(frame) => stacks.last_mut().expect("a sample").frames.push(Frame::parse(frame)),
                None => {
                    // `comm tid time: period event: `, and the frame if there is no call chain.
                    let ends = line.match_indices(": ").map(|(at, end)| at + end.len());
                    let (head, frame) = line.split_at(ends.take(2).last().unwrap_or(line.len()));
                    let frames = Some(frame).filter(|frame| !frame.is_empty()).map(Frame::parse);
                    stacks.push(Self { head, frames: frames.into_iter().collect() });
                }
            }
        }
        stacks
    }

    /// How ours differs from perf's: by a kind of the sample, or of some of its frames.
    fn differences(ours: &Self, perfs: &Self) -> Vec<Difference> {
        if ours.head != perfs.head {
            return vec![Difference::Other];
        }
        let (count, others) = (ours.frames.len(), perfs.frames.len());
        let is_invalid = perfs.frames.last().is_some_and(|frame| frame.file == "[unknown]" && frame.address >> 47 != 0);
        if perfs.frames.is_empty() && count > 0 {
            return vec![Difference::EmptyStack];
        }
        let repeats_leaf = |(leaf, callers): (&Frame<'_>, &[Frame<'_>])| callers.iter().any(|frame| frame == leaf);
        if ours != perfs && perfs.frames.split_first().is_some_and(repeats_leaf) {
            return vec![Difference::AppendedFrames];
        }
        let mut kinds: Vec<_> = (ours.frames.iter().zip(&perfs.frames).enumerate())
            .filter_map(|(index, (ours, perfs))| Frame::difference(ours, perfs, index > 0))
            .collect();
        kinds.extend(match () {
            () if count == others => None,
            () if count > others => Some(Difference::FewerFrames),
            () if count + 1 == others && is_invalid => Some(Difference::InvalidAddress),
            () => Some(Difference::Other),
        });
        kinds
    }
}

/// Numbers of a comparison.
#[derive(Default)]
struct Counts {
    equal_files: usize,
    files: usize,
    equal_samples: usize,
    samples: usize,
    equal_frames: usize,
    frames: usize,
    /// Differences by kind, each with an example.
    kinds: BTreeMap<Difference, (usize, String)>,
}

impl Counts {
    fn add(&mut self, ours: &[Stack<'_>], perfs: &[Stack<'_>], name: &str) {
        let mut is_equal = true;
        for (ours, perfs) in ours.iter().zip(perfs) {
            let kinds = Stack::differences(ours, perfs);
            is_equal &= kinds.is_empty();
            self.samples += 1;
            self.equal_samples += usize::from(kinds.is_empty());
            self.frames += perfs.frames.len();
            self.equal_frames += ours.frames.iter().zip(&perfs.frames).filter(|(ours, perfs)| ours == perfs).count();
            for kind in kinds {
                let example = || (0, format!("{name}:\n  perf {perfs:x?}\n  ours {ours:x?}"));
                self.kinds.entry(kind).or_insert_with(example).0 += 1;
            }
        }
        self.files += 1;
        self.equal_files += usize::from(is_equal);
    }
}

/// What both programs print; why perf's text is not compared.
fn texts(perf: &Perf, recording: &RecordingWithFiles) -> Result<[String; 2], String> {
    let mut theirs = with_time_limit(&perf.program);
    theirs.args(["script", "--force", "--no-inline", "-i"]).arg(&recording.path);
    let mut ours = perfconv();
    ours.arg(&recording.path).args(["-t", "perf-script", "--no-inline", "-q", "--perf-style", perf.style]);
    let finish = |command: &mut Command| {
        let run = run_other(command.args(&recording.files).env("LC_ALL", "C").env("HOME", "/nonexistent"));
        (run.status, String::from_utf8_lossy(&run.stdout).into_owned(), run.stderr)
    };
    let (status, perfs, _) = finish(&mut theirs);
    if status != 0 || perfs.trim().is_empty() {
        return Err(format!("perf fails with status {status}"));
    }
    let (status, ours, messages) = finish(&mut ours);
    assert_eq!(status, 0, "{}: {messages}", recording.path.display());
    Ok([ours, perfs])
}

#[test]
fn functions_equal_those_of_perf() {
    let directory = tempfile::tempdir().unwrap();
    let sets = sets(directory.path());
    for perf in installed("functions in perf script text") {
        for (number, ((set, enough), recordings)) in SETS.iter().zip(&sets).enumerate() {
            if recordings.is_empty() {
                note!("perf {}: skipped: no recordings {set}", perf.style);
                continue;
            }
            compare(&perf, number, recordings, set, *enough);
        }
    }
}

fn compare(perf: &Perf, number: usize, recordings: &[RecordingWithFiles], set: &str, enough: usize) {
    let mut counts = Counts::default();
    for (recording, texts) in recordings.iter().zip(for_each(recordings, |recording| texts(perf, recording))) {
        let name = recording.path.display().to_string();
        match &texts {
            Ok(both) => {
                let [ours, perfs] = both.each_ref().map(|text| Stack::parse(text));
                assert_eq!(ours.len(), perfs.len(), "{name}: samples");
                counts.add(&ours, &perfs, &name);
            }
            Err(why) => note!("perf {}: {name}: skipped: {why}", perf.style),
        }
    }
    let Counts { equal_files, files, equal_samples, samples, equal_frames, frames, kinds } = &counts;
    note!(
        "perf {}: recordings {set}: equal are {equal_files} of {files} files, {equal_samples} of {samples} samples, \
         {equal_frames} of {frames} frames",
        perf.style
    );
    for (kind, (count, _)) in kinds {
        note!("{count:8} {}", kind.describe().0);
    }
    for (kind, (count, example)) in kinds {
        let (text, allowed) = kind.describe();
        let allowed = allowed[usize::from(perf.style != "6.1")][number];
        assert!(*count <= allowed, "{count} differ, {allowed} allowed: {text}: {example}");
    }
    assert!(*samples >= enough, "compared only {samples} samples, expected {enough}");
}
