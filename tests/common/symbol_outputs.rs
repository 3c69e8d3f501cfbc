//! Outputs with functions of recordings in `roundtrip/symbols`.

use crate::common::program::{perfconv, succeed};
use perfconv::formats::pprof::proto::Profile;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(name).with_extension("data")
}

pub(crate) fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/files")
}

/// A conversion with the recorded files. No other home directory has caches.
pub(crate) fn convert(name: &str, args: &[&str]) -> Command {
    let mut command = perfconv();
    command.arg(recording(name)).arg("--symfs").arg(files()).args(args).env("HOME", "/nonexistent");
    command
}

/// A frame of perf script text: function and file.
pub(crate) type Frame = (String, String);

/// The first lines of samples, each with its frames, leaf first.
pub(crate) fn samples(text: &str) -> Vec<(String, Vec<Frame>)> {
    let mut samples: Vec<(String, Vec<Frame>)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(frame) = line.strip_prefix('\t') else {
            samples.push((line.split_whitespace().collect::<Vec<_>>().join(" "), Vec::new()));
            continue;
        };
        let (_, rest) = frame.trim().split_once(' ').unwrap_or_default();
        let (function, file) = rest.rsplit_once(" (").unwrap_or((rest, ""));
        let function = match function.rsplit_once("+0x") {
            Some((function, _)) => function,
            None => function,
        };
        let (_, frames) = samples.last_mut().expect("a sample");
        frames.push((function.to_owned(), file.trim_end_matches(')').to_owned()));
    }
    samples
}

/// A name without what demanglers show differently: parameters, template arguments, clone suffixes and versions.
pub(crate) fn plain(name: &str) -> String {
    let (mut plain, mut depth) = (String::new(), 0);
    let name = name.split(" [clone").next().unwrap_or_default().replace("(anonymous namespace)", "{anonymous}");
    let name = name.replace("operator()", "operator{}");
    for c in name.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let version = plain.find('@').filter(|&at| !plain[at..].starts_with("@plt"));
    let plain = plain[..version.unwrap_or(plain.len())].trim_end_matches(" const");
    plain.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// Samples of a profile by function of the leaf, as pprof counts inlined functions.
pub(crate) fn by_function(profile: &Profile) -> BTreeMap<String, i64> {
    let functions: HashMap<u64, i64> = profile.function.iter().map(|function| (function.id, function.name)).collect();
    let leaf: HashMap<u64, i64> =
        profile.location.iter().map(|location| (location.id, functions[&location.line[0].function_id])).collect();
    let mut counts = BTreeMap::new();
    for sample in &profile.sample {
        let name = &profile.string_table[leaf[&sample.location_id[0]] as usize];
        *counts.entry(plain(name)).or_default() += sample.value[0];
    }
    counts
}

/// The names of all frames, demangled as requested.
pub(crate) fn demangled(command: &Command, how: &str) -> Vec<String> {
    let mut with_option = Command::new(command.get_program());
    with_option.args(command.get_args()).args(["-t", "perf-script", "-q", "--demangle", how]);
    let run = succeed(with_option.env("HOME", "/nonexistent"));
    let text = String::from_utf8(run.stdout).unwrap();
    let name = |line: &str| Some(line.strip_prefix('\t')?.trim_start().split_once(' ')?.1.to_owned());
    text.lines().filter_map(name).map(|line| plain_end(&line).to_owned()).collect()
}

/// A function without its offset and file: `name+0x1f (/bin/app)`, `name (inlined)`.
fn plain_end(line: &str) -> &str {
    let name = line.rsplit_once(" (").map_or(line, |(name, _)| name);
    name.rsplit_once("+0x").map_or(name, |(name, _)| name)
}
