//! Profiles compared with perf: every frame is in the same file, and every stack has the same depth.

use crate::common::files::{self, Recording};
use crate::common::independent_scan::Scan;
use crate::common::oracle::has_program;
use crate::common::program;
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::abi::sample_type::BranchSampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::source::Source;
use perfconv::formats::pprof::proto::Profile;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::process::Stdio;

/// The minimum number of compared files, if perf is installed: with the corpus, and with the fixtures alone. Close to the
/// actual number, so that reasons to skip do not silently apply to more recordings.
const ENOUGH: (usize, usize) = (188, 9);

/// A frame as perf prints it: its file, and an address in the file or in memory.
type Printed = (String, u64);

/// A frame of a profile: its address, and what perf may print for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Frame {
    file: String,
    address: u64,
    /// The offset in the file. perf prints either one.
    in_file: u64,
}

const PAGE: u64 = 4096;

impl Frame {
    /// Whether perf's frame is this one. perf prints return addresses where a profile has call addresses, and no usable address
    /// for frames in no file.
    fn matches(&self, (file, address): &Printed, is_leaf: bool) -> bool {
        let steps = if is_leaf { 0..=0 } else { 0..=1 };
        let is_at = |own: u64, reduce: fn(u64) -> u64| {
            steps.clone().any(|step| reduce(own.wrapping_add(step)) == reduce(*address))
        };
        self.file == *file
            && match &**file {
                "[unknown]" => true,
                "[kernel]" => is_at(self.address, |address| address),
                // perf prints exact file offsets, and profiles have page granularity.
                _ => [self.address, self.in_file].iter().any(|&own| is_at(own, |address| address % PAGE)),
            }
    }
}

#[test]
fn frames_match_perf_script() {
    if !has_program("perf") {
        return;
    }
    let recordings = files::recordings();
    let results = program::for_each(&recordings, compare);
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut compared, mut stacks, mut failures) = (0, 0, Vec::new());
    for (recording, result) in recordings.iter().zip(&results) {
        match result {
            Ok(Ok(count)) => (compared, stacks) = (compared + 1, stacks + count),
            Ok(Err(reason)) => *skipped.entry(reason).or_default() += 1,
            Err(error) => failures.push(format!("{}: {error}", recording.name)),
        }
    }
    let mut out = io::stderr().lock();
    writeln!(out, "stacks: {stacks} samples of {compared} recordings compared with perf script").unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), recordings.len(), failures.join("\n"));
    let enough = if files::has_corpus("stacks") { ENOUGH.0 } else { ENOUGH.1 };
    assert!(compared >= enough, "compared only {compared} files, expected {enough}");
}

/// Compares a recording. Returns the number of equal samples, or why it was skipped.
fn compare(recording: &Recording) -> Result<Result<u64, &'static str>, String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let output = dir.path().join("out.pb.gz");
    // perf cannot unwind without the recorded files, either.
    let options = ["--no-unwind", "--unmapped", "keep"];
    let run = program::run(program::perfconv().arg(&recording.path).arg("-o").arg(&output).args(options));
    if run.status != 0 {
        let records = Scan::read(&recording.path).records;
        return if records == 0 { Ok(Err("unreadable")) } else { Err(format!("{records} records: {}", run.stderr)) };
    }
    let by_perf = match stacks_by_perf(recording) {
        Ok(stacks) => stacks,
        Err(reason) => return Ok(Err(reason)),
    };
    let profile = program::profile(&output);
    if let Some(reason) = known_difference(recording) {
        return Ok(Err(reason));
    }
    if run.warnings().iter().any(|warning| warning.contains("--call-graph dwarf")) {
        return Ok(Err("user stacks are unwound"));
    }
    let mut ours = stacks_of(&profile);
    let samples: u64 = ours.values().flatten().map(|(_, count)| count).sum();
    if by_perf.len() as u64 != samples {
        return Ok(Err("perf prints no frames of some samples"));
    }
    let mut differing = by_perf.iter().filter(|printed| !remove_match(&mut ours, printed));
    match differing.next() {
        None => Ok(Ok(samples)),
        Some(printed) => {
            let count = 1 + differing.count();
            let unmatched = ours.get(&files(printed));
            Err(format!(
                "{count} of {samples} samples differ: perf prints\n  {printed:x?}; unmatched stacks in these files:\n  {unmatched:x?}"
            ))
        }
    }
}

/// Stacks and their numbers of samples, by the files of their frames.
type Stacks = HashMap<Vec<String>, Vec<(Vec<Frame>, u64)>>;

fn files(stack: &[Printed]) -> Vec<String> {
    stack.iter().map(|(file, _)| file.clone()).collect()
}

/// Removes a sample that matches perf's stack; false if there is none.
fn remove_match(ours: &mut Stacks, printed: &[Printed]) -> bool {
    let is_same = |frames: &[Frame]| {
        frames.iter().zip(printed).enumerate().all(|(depth, (frame, printed))| frame.matches(printed, depth == 0))
    };
    let alike = ours.get_mut(&files(printed)).into_iter().flatten();
    match alike.into_iter().find(|(frames, count)| *count > 0 && is_same(frames)) {
        Some((_, count)) => {
            *count -= 1;
            true
        }
        None => false,
    }
}

/// The reason why perf prints other stacks than those in the samples, if any.
fn known_difference(recording: &Recording) -> Option<&'static str> {
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).ok()?;
    let attrs = || source.meta().events.list().iter().map(|event| &event.attr);
    let half_chains = AttrFlags::EXCLUDE_CALLCHAIN_KERNEL | AttrFlags::EXCLUDE_CALLCHAIN_USER;
    if attrs().any(|attr| attr.branch_sample_type.contains(BranchSampleType::CALL_STACK)) {
        Some("perf reads callers from the branch stack")
    } else if attrs().any(|attr| attr.flags.intersects(half_chains)) {
        Some("perf omits a leaf frame in the excluded address space")
    } else {
        None
    }
}

/// The stacks that perf prints, one per sample.
fn stacks_by_perf(recording: &Recording) -> Result<Vec<Vec<Printed>>, &'static str> {
    let mut perf = program::with_time_limit("perf");
    perf.args(["script", "--force", "--no-inline", "--no-itrace", "--max-stack", "1000", "-F", "ip,sym,dso", "-i"]);
    perf.arg(&recording.path).env_remove("DEBUGINFOD_URLS").env("LC_ALL", "C").stdin(Stdio::null());
    let output = perf.output().expect("timeout(1) should run");
    match output.status.code() {
        Some(0) => {}
        Some(127) => return Err("perf is not installed"),
        _ => return Err("perf cannot read it"),
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut stacks = Vec::new();
    let mut stack = Vec::new();
    for line in text.lines().chain([""]) {
        if let Some(frame) = frame(line) {
            stack.push(frame);
            // A sample without a call chain is a single line.
            if line.starts_with('\t') {
                continue;
            }
        }
        if !stack.is_empty() {
            stacks.push(std::mem::take(&mut stack));
        }
    }
    Ok(stacks)
}

/// Parses `    55d6af8ae297 main+0x10 (/tmp/loop-pie)`.
fn frame(line: &str) -> Option<Printed> {
    let (address, rest) = line.trim_start().split_once(' ')?;
    let dso = &rest[rest.rfind(" (").map_or(rest.find('(')?, |at| at + 1) + 1..];
    Some((file(dso.strip_suffix(')')?), u64::from_str_radix(address, 16).ok()?))
}

/// Maps the names that perf and recordings use for a file to one.
fn file(name: &str) -> String {
    let base = name.rsplit('/').next().unwrap_or(name);
    let module = base.split(".ko").next().filter(|_| base.contains(".ko"));
    match module {
        Some(module) => format!("[{}]", module.replace('-', "_")),
        // perf's name for JIT code.
        None if name.starts_with("/tmp/perf-") && name.ends_with(".map") => "//anon".into(),
        None if name.starts_with("[kernel.kallsyms]") || name.starts_with("[kernel.vmlinux]") => "[kernel]".into(),
        None => name.into(),
    }
}

fn stacks_of(profile: &Profile) -> Stacks {
    let frame = |&id: &u64| {
        let location = &profile.location[id as usize - 1];
        let address = location.address;
        match (location.mapping_id as usize).checked_sub(1).map(|index| &profile.mapping[index]) {
            None => Frame { file: "[unknown]".into(), address, in_file: address },
            Some(mapping) => {
                let in_file = address.wrapping_sub(mapping.memory_start).wrapping_add(mapping.file_offset);
                Frame { file: file(&profile.string_table[mapping.filename as usize]), address, in_file }
            }
        }
    };
    let mut stacks = Stacks::new();
    for sample in &profile.sample {
        let frames: Vec<Frame> = sample.location_id.iter().map(frame).collect();
        let files = frames.iter().map(|frame| frame.file.clone()).collect();
        let samples: i64 = sample.value.iter().step_by(2).sum();
        stacks.entry(files).or_default().push((frames, samples as u64));
    }
    stacks
}
