//! Each output that shows stacks has the same unwound ones.

use crate::common::program::{for_each, perfconv, profile, succeed};
use flate2::read::GzDecoder;
use perfconv::Recording;
use perfconv::recording::SymbolOptions;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A recording with stack dumps, and the files of its machine.
struct Input {
    recording: PathBuf,
    files: PathBuf,
    is_inlined: bool,
}

/// Functions, root first, and the number of samples with this stack.
type Stacks = BTreeMap<Vec<String>, u64>;

/// Name of a function that is unknown.
const UNKNOWN: &str = "[unknown]";

/// File name of an output, its arguments, and a reader of its stacks.
type Output = (&'static str, &'static [&'static str], fn(&Path) -> Stacks);

const OUTPUTS: [Output; 7] = [
    ("out.script", &["-t", "perf-script", "--demangle", "full"], perf_script),
    ("out.perf.json", &["-t", "perf-json"], perf_json),
    ("out.folded", &["-t", "folded", "--weight", "samples"], folded),
    ("tables", &["-t", "csv", "--stacks"], csv),
    ("out.pb.gz", &["-t", "pprof"], pprof),
    ("out.speedscope.json", &["-t", "speedscope", "--names", "full"], speedscope),
    ("out.fx.json.gz", &["-t", "firefox", "--names", "full"], firefox),
];

impl Input {
    /// The stacks of an output.
    fn stacks(&self, (name, args, read): Output) -> Stacks {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join(name);
        let mut command = perfconv();
        let cache = self.cache(directory.path());
        command.arg(&self.recording).arg("--symfs").arg(&self.files).arg("--buildid-dir").arg(cache);
        command.args(["--kallsyms", "/dev/null", "-q", "-o"]).arg(&output).args(args).env("HOME", "/nonexistent");
        succeed(command.args((!self.is_inlined).then_some("--no-inline")));
        read(&output)
    }

    /// The build ID cache of the input, else `empty` in place of the user's.
    fn cache(&self, empty: &Path) -> PathBuf {
        let cache = self.files.join("cache");
        if cache.is_dir() { cache } else { empty.to_owned() }
    }

    /// The stacks by the library.
    fn of_library(&self) -> Stacks {
        let empty = tempfile::tempdir().unwrap();
        let options = SymbolOptions::default().symfs(&self.files).build_id_dir(self.cache(empty.path()));
        let options = options.kallsyms("/dev/null");
        let options = if self.is_inlined { options } else { options.without_inlined() };
        let mut samples = Recording::open(&self.recording).unwrap().with_symbols(options).samples().unwrap();
        let mut stacks = Stacks::new();
        while let Some(sample) = samples.next().unwrap() {
            let functions = sample.frames().flat_map(|frame| {
                let names: Vec<_> = frame.functions().map(|function| function.name.to_owned()).collect();
                if names.is_empty() { vec![UNKNOWN.to_owned()] } else { names }
            });
            add(&mut stacks, functions, 1);
        }
        stacks
    }
}

/// Adds a stack, leaf first.
fn add(stacks: &mut Stacks, leaf_first: impl Iterator<Item = String>, samples: u64) {
    // Formats name unknown functions by object or address. Folded stacks have names up to a parenthesis.
    let is_unknown = |name: &str| name.contains("+0x") || name.starts_with("0x") || name.starts_with('[');
    let mut stack: Vec<_> =
        leaf_first
            .map(|name| {
                if is_unknown(&name) {
                    UNKNOWN.to_owned()
                } else {
                    name.split('(').next().unwrap_or_default().to_owned()
                }
            })
            .collect();
    stack.reverse();
    *stacks.entry(stack).or_default() += samples;
}

/// Adds a line `FUNCTION;FUNCTION`, root first.
fn add_line(stacks: &mut Stacks, line: &str, samples: &str) {
    add(stacks, line.split(';').rev().map(str::to_owned), samples.parse().unwrap());
}

fn perf_script(path: &Path) -> Stacks {
    let (text, mut stacks) = (fs::read_to_string(path).unwrap(), Stacks::new());
    for sample in text.split("\n\n").filter(|sample| !sample.trim().is_empty()) {
        let frames = sample.lines().skip(1).map(|line| {
            let name = line.trim().split_once(' ').unwrap().1;
            let name = name.rsplit_once(" (").unwrap().0;
            let name = name.rsplit_once("+0x").map_or(name, |(name, _)| name);
            // The other outputs omit the versions of symbols.
            name.split_once('@').filter(|(_, version)| *version != "plt").map_or(name, |(name, _)| name).to_owned()
        });
        add(&mut stacks, frames, 1);
    }
    stacks
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn perf_json(path: &Path) -> Stacks {
    let mut stacks = Stacks::new();
    for sample in json(path)["samples"].as_array().unwrap() {
        let frames = sample["callchain"].as_array().unwrap().iter();
        add(&mut stacks, frames.map(|frame| frame["symbol"].as_str().unwrap_or(UNKNOWN).to_owned()), 1);
    }
    stacks
}

fn folded(path: &Path) -> Stacks {
    let mut stacks = Stacks::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let (stack, samples) = line.rsplit_once(' ').unwrap();
        // The thread is the root.
        add_line(&mut stacks, stack.split_once(';').unwrap().1, samples);
    }
    stacks
}

fn csv(path: &Path) -> Stacks {
    let mut table = csv::Reader::from_path(path.join("stacks.csv")).unwrap();
    let mut stacks = Stacks::new();
    for row in table.records().map(Result::unwrap) {
        add_line(&mut stacks, &row[2], &row[3]);
    }
    stacks
}

fn pprof(path: &Path) -> Stacks {
    let profile = profile(path);
    let names: HashMap<u64, &str> =
        profile.function.iter().map(|function| (function.id, &*profile.string_table[function.name as usize])).collect();
    let locations: HashMap<u64, Vec<&str>> = profile
        .location
        .iter()
        .map(|location| (location.id, location.line.iter().map(|line| names[&line.function_id]).collect()))
        .collect();
    let mut stacks = Stacks::new();
    for sample in &profile.sample {
        let frames = sample.location_id.iter().flat_map(|id| &locations[id]);
        add(&mut stacks, frames.map(|&name| name.to_owned()), sample.value[0] as u64);
    }
    stacks
}

/// The elements of a column.
fn column(table: &Value, name: &str) -> Vec<Option<usize>> {
    table[name].as_array().unwrap().iter().map(|value| value.as_u64().map(|index| index as usize)).collect()
}

fn speedscope(path: &Path) -> Stacks {
    let (file, mut stacks) = (json(path), Stacks::new());
    let name = |frame: &Value| file["shared"]["frames"][frame.as_u64().unwrap() as usize]["name"].as_str().unwrap();
    for profile in file["profiles"].as_array().unwrap() {
        for stack in profile["samples"].as_array().unwrap() {
            add(&mut stacks, stack.as_array().unwrap().iter().rev().map(|frame| name(frame).to_owned()), 1);
        }
    }
    stacks
}

fn firefox(path: &Path) -> Stacks {
    let profile: Value = serde_json::from_reader(GzDecoder::new(File::open(path).unwrap())).unwrap();
    let shared = &profile["shared"];
    let [frames, prefixes] = ["frame", "prefix"].map(|name| column(&shared["stackTable"], name));
    let (functions, names) = (column(&shared["frameTable"], "func"), column(&shared["funcTable"], "name"));
    let mut stacks = Stacks::new();
    for thread in profile["threads"].as_array().unwrap() {
        for stack in column(&thread["samples"], "stack") {
            let stack = std::iter::successors(stack, |&stack| prefixes[stack]);
            let name = |stack: usize| names[functions[frames[stack]?]?];
            let names = stack.map(|stack| shared["stringArray"][name(stack).unwrap()].as_str().unwrap().to_owned());
            add(&mut stacks, names, 1);
        }
    }
    stacks
}

#[test]
fn each_output_has_the_same_unwound_stacks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixtures = root.join("roundtrip/symbols");
    let mut inputs = Vec::new();
    for name in ["dwarf.data", "detour.data", "both.data"] {
        let input = |is_inlined| Input { recording: fixtures.join(name), files: fixtures.join("files"), is_inlined };
        inputs.extend([false, true].map(input));
    }
    let corpus = root.join("../shared/symbols");
    if let Ok(entries) = fs::read_dir(corpus.join("rec")) {
        let paths = entries.map(|entry| entry.unwrap().path());
        let dumps = paths.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("d-dw"));
        inputs.extend(dumps.map(|recording| Input { recording, files: corpus.join("symfs"), is_inlined: true }));
    }
    let results = for_each(&inputs, |input| {
        let expected = input.of_library();
        let differs = |output: &&Output| input.stacks(**output) != expected;
        let differing: Vec<_> = OUTPUTS.iter().filter(differs).map(|(name, ..)| *name).collect();
        (expected, differing)
    });
    let (mut samples, mut frames, mut failures) = (0, 0, Vec::new());
    for (input, (stacks, differing)) in inputs.iter().zip(results) {
        samples += stacks.values().sum::<u64>();
        frames += stacks.iter().map(|(stack, samples)| stack.len() as u64 * samples).sum::<u64>();
        if !differing.is_empty() {
            failures.push(format!("{}, inlined: {}: {differing:?}", input.recording.display(), input.is_inlined));
        }
    }
    let (outputs, all) = (OUTPUTS.len(), inputs.len());
    note!("{outputs} outputs have the stacks of the library: {all} conversions, {samples} samples, {frames} frames");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let enough = if corpus.is_dir() { (3800, 30_000) } else { (800, 3000) };
    assert!(samples >= enough.0 && frames >= enough.1, "compared too little");
}
