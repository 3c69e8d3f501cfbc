//! Recordings that contain names of functions (`rewrite --embed-symbols`): perf prints the same for them as for those without, and
//! without the objects, their functions and profiles are those with the objects.

use super::perf_script_symbols::{RecordingWithFiles, files, sets};
use crate::common::files::share;
use crate::common::oracle::note_missing_oracle;
use crate::common::program::{for_each, perfconv, run_other, succeed, try_run, with_time_limit};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What is stored.
const MODES: [&str; 3] = ["functions", "all", "full"];

/// One of so many recordings of the corpus is compared.
const ONE_OF: usize = 6;

/// Commands of perf whose output is compared.
const COMMANDS: [&[&str]; 2] = [&["script"], &["report", "--stdio"]];

/// Numbers of recordings that must be compared, with those in `../shared` and without.
const ENOUGH: [usize; 2] = [130, 15];

/// The comparisons of a recording.
struct Outcome {
    /// Number of functions whose names are stored.
    functions: u64,
    has_same_names: bool,
    has_same_profile: bool,
    bytes: u64,
    /// Bytes that each of the modes adds.
    added: [u64; MODES.len()],
    perfs: Vec<PerfOutcome>,
}

/// How the output of a perf for recordings with names compares with that for those without.
#[derive(Clone, Debug, Default)]
struct PerfOutcome {
    equal: usize,
    lines: usize,
    different: Vec<String>,
    /// Messages that are printed only for recordings with names.
    messages: BTreeSet<String>,
}

#[test]
fn names_in_recordings_are_those_of_the_objects_and_change_nothing_for_perf() {
    let directory = tempfile::tempdir().unwrap();
    let inputs = inputs(directory.path());
    let perfs = perfs();
    let outcomes = for_each(&inputs, |input| compare(input, &perfs));
    let (mut failures, mut skipped) = (Vec::new(), BTreeMap::<_, usize>::new());
    let (mut compared, mut functions, mut sums) = (0, 0, vec![PerfOutcome::default(); perfs.len()]);
    note!("functions names profile     bytes    adding functions     all    full  recording");
    for (input, outcome) in inputs.iter().zip(outcomes) {
        let name = input.path.strip_prefix(root()).unwrap_or(&input.path).display().to_string();
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(reason) => {
                *skipped.entry(reason).or_default() += 1;
                continue;
            }
        };
        let Outcome { functions: count, has_same_names, has_same_profile, bytes, added: [some, all, full], .. } =
            outcome;
        note!("{count:9} {has_same_names:5} {has_same_profile:7} {bytes:9} {some:19} {all:7} {full:7}  {name}");
        if !has_same_names || !has_same_profile {
            failures.push(format!("{name}: same names: {has_same_names}, same profile: {has_same_profile}"));
        }
        for ((sum, perf), program) in sums.iter_mut().zip(outcome.perfs).zip(&perfs) {
            failures.extend(perf.different.iter().map(|output| format!("{name}: {program}: {output}")));
            sum.equal += perf.equal;
            sum.lines += perf.lines;
            sum.messages.extend(perf.messages);
        }
        compared += 1;
        functions += count;
    }
    note!("{compared} recordings with {functions} functions are compared");
    skipped.iter().for_each(|(reason, count)| note!("{count} recordings are skipped: {reason}"));
    for (program, PerfOutcome { equal, lines, messages, .. }) in perfs.iter().zip(&sums) {
        note!(
            "{program}: {equal} outputs with {lines} lines are equal; messages for recordings with names only: {messages:#?}"
        );
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let enough = ENOUGH[usize::from(!has_shared())];
    assert!(compared >= enough, "compared only {compared} recordings, expected {enough}");
    for (program, PerfOutcome { equal, .. }) in perfs.iter().zip(&sums) {
        assert!(*equal >= 4 * enough, "{program}: only {equal} outputs are equal");
    }
}

fn has_shared() -> bool {
    root().join("../shared/symbols").is_dir()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The recordings whose programs there are.
fn inputs(directory: &Path) -> Vec<RecordingWithFiles> {
    let mut inputs: Vec<_> = sets(directory).into_iter().flatten().collect();
    let kallsyms = directory.join("kallsyms");
    if !has_shared() {
        note!("no recordings beside the repository: those of roundtrip/symbols only");
        return inputs;
    }
    let [branches, native] = ["branches", "native"].map(|name| directory.join(name));
    fs::create_dir_all(branches.join("opt")).unwrap();
    symlink(root().join("../shared/pgo/bin").canonicalize().unwrap(), branches.join("opt/bench")).unwrap();
    for entry in fs::read_dir(root().join("../shared/pgo")).unwrap() {
        let packed = entry.unwrap().path();
        let name = packed.file_name().unwrap().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".zst").filter(|name| name.ends_with(".data")) else { continue };
        let path = directory.join(name);
        zstd::stream::copy_decode(File::open(&packed).unwrap(), File::create(&path).unwrap()).unwrap();
        inputs.push(RecordingWithFiles { path, files: files(Some(&branches), &kallsyms) });
    }
    let programs = zstd::Decoder::new(File::open(root().join("../shared/corpus/own/bin.tar.zst")).unwrap()).unwrap();
    let unpacked = directory.join("programs");
    tar::Archive::new(programs).unpack(&unpacked).unwrap();
    fs::create_dir_all(native.join("tmp/corpus/own")).unwrap();
    symlink(unpacked.join("bin"), native.join("tmp/corpus/own/bin")).unwrap();
    for recording in share(ONE_OF) {
        // Programs of virtual machines were recorded at `/w`.
        let machine = recording.name.split('/').find(|part| part.starts_with("guest-"));
        let symfs = machine.map_or_else(|| native.clone(), |machine| directory.join("machines").join(machine));
        if let Some(machine) = machine.filter(|_| !symfs.exists()) {
            fs::create_dir_all(&symfs).unwrap();
            symlink(unpacked.join(machine).join("bin"), symfs.join("w")).unwrap();
        }
        inputs.push(RecordingWithFiles { path: recording.path, files: files(Some(&symfs), &kallsyms) });
    }
    inputs
}

/// The programs of perf: `perf`, and the one that `OTHER_PERF` names.
fn perfs() -> Vec<String> {
    let programs = [Some("perf".to_owned()), env::var("OTHER_PERF").ok()].into_iter().flatten();
    let perfs: Vec<_> =
        programs.filter(|program| run_other(with_time_limit(program).arg("version")).status == 0).collect();
    if perfs.is_empty() {
        note_missing_oracle("perf");
    }
    perfs
}

/// Compares a recording with itself with names; the reason if it has no names.
fn compare(input: &RecordingWithFiles, perfs: &[String]) -> Result<Outcome, String> {
    let directory = tempfile::tempdir().unwrap();
    let rewrite = |source: &Path, options: &[&str], output: &str| {
        let output = directory.path().join(output);
        let mut command = perfconv();
        command.arg("rewrite").arg(source).args(options).args(["-q", "-o"]).arg(&output);
        if !options.contains(&"--strip-symbols") {
            command.args(&input.files);
        }
        try_run(command.env("HOME", "/nonexistent")).map(|_| output)
    };
    let reason = |message: String| message.trim().rsplit(": ").next().unwrap_or_default().to_owned();
    let options = MODES.map(|mode| format!("--embed-symbols={mode}"));
    // perf rejects features of pipes that it does not know.
    let container: &[&str] = if is_pipe(&input.path) { &["--container", "file"] } else { &[] };
    let outputs = MODES
        .iter()
        .zip(&options)
        .map(|(mode, option)| rewrite(&input.path, &[&[&**option], container].concat(), mode));
    let outputs: Vec<_> = outputs.collect::<Result<_, _>>().map_err(reason)?;
    let functions: Vec<_> = outputs.iter().map(|output| stored_functions(output)).collect();
    assert!(functions.iter().all(|&count| count > 0), "{}: {functions:?}", input.path.display());
    let plain = rewrite(&outputs[0], &["--strip-symbols"], "plain").map_err(reason)?;
    let bytes = size(&plain);
    let added = [0, 1, 2].map(|mode| size(&outputs[mode]).saturating_sub(bytes));
    assert!(added.iter().all(|&added| added > 0), "{}: {added:?} bytes", input.path.display());
    // Without objects, stacks cannot be unwound.
    let unwound =
        |option: &str, output: &str| match rewrite(&input.path, &[&[option, "--unwind"], container].concat(), output) {
            Err(message) if message.contains("no event samples user registers") => {
                rewrite(&input.path, &[&[option], container].concat(), output)
            }
            output => output,
        };
    let named = unwound(&options[0], "unwound").map_err(reason)?;
    let full = unwound(&options[2], "unwound-full").map_err(reason)?;
    // Some recordings contain names already.
    let source = if info(&input.path).contains("names of ") { "auto" } else { "objects" };
    let objects: Vec<_> = ["--symbols", source].into_iter().chain(input.files.iter().map(String::as_str)).collect();
    let embedded = ["--symbols", "embedded"];
    let folded = ["-t", "folded", "--no-inline", "--group-by", "event"];
    let names = |path: &Path, options: &[&str]| converted(path, &[&folded, options].concat());
    let profile = |path: &Path, options: &[&str]| converted(path, &[&["-t", "pprof"], options].concat());
    // On a machine of the other byte order, perf takes any feature for build IDs if there is no host name.
    let is_misread = is_big_endian(&plain) && !info(&plain).contains("# hostname");
    let perfs = if is_misread { &[] } else { perfs };
    Ok(Outcome {
        functions: functions[0],
        has_same_names: names(&input.path, &objects) == names(&named, &embedded),
        has_same_profile: profile(&full, &objects) == profile(&full, &embedded),
        bytes,
        added,
        perfs: perfs.iter().map(|perf| compare_perf(perf, &plain, &outputs, &input.files)).collect(),
    })
}

/// Whether a recording is in a pipe container, whose header has 16 bytes.
fn is_pipe(recording: &Path) -> bool {
    fs::read(recording)
        .is_ok_and(|bytes| bytes.get(8..16).is_some_and(|size| size.contains(&16) && size.iter().sum::<u8>() == 16))
}

fn is_big_endian(recording: &Path) -> bool {
    let header = if recording.is_dir() { recording.join("data") } else { recording.to_owned() };
    fs::read(header).is_ok_and(|bytes| bytes.starts_with(b"2ELIFREP"))
}

/// The output of a conversion.
fn converted(recording: &Path, options: &[&str]) -> Vec<u8> {
    succeed(perfconv().arg(recording).args(options).args(["-q", "-o", "-"]).env("HOME", "/nonexistent")).stdout
}

fn info(recording: &Path) -> String {
    let info = try_run(perfconv().arg("info").arg(recording)).map(|run| run.stdout).unwrap_or_default();
    String::from_utf8_lossy(&info).into_owned()
}

/// The number of functions in the feature FILE2.
fn stored_functions(recording: &Path) -> u64 {
    let info = info(recording);
    let line = info.lines().find_map(|line| line.strip_prefix("# feature 132 (FILE2): names of "));
    line.and_then(|line| line.split(' ').next()?.parse().ok()).unwrap_or(0)
}

/// Size of a file, or of the files in a directory.
fn size(path: &Path) -> u64 {
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| size(&entry.unwrap().path())).sum(),
        Err(_) => fs::metadata(path).unwrap().len(),
    }
}

/// Compares what a perf prints for a recording with what it prints for those with names.
fn compare_perf(perf: &str, plain: &Path, outputs: &[PathBuf], files: &[String]) -> PerfOutcome {
    let print = |command: &[&str], path: &Path| {
        let mut program = with_time_limit(perf);
        program.args(command).args(["--force", "--no-inline", "-i"]).arg(path).args(files);
        let run = run_other(program.env("LC_ALL", "C").env("HOME", "/nonexistent"));
        // A tip is different each time.
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with("# (Tip: ")).map(str::to_owned).collect();
        let messages: BTreeSet<_> =
            run.stderr.replace(&*path.to_string_lossy(), "RECORDING").lines().map(str::to_owned).collect();
        (run.status, lines, messages)
    };
    let mut outcome = PerfOutcome::default();
    for command in COMMANDS {
        let (status, lines, messages) = print(command, plain);
        // What perf rejects or crashes on without names is not compared.
        if status != 0 {
            continue;
        }
        for (mode, output) in MODES.iter().zip(outputs) {
            let (other_status, other_lines, other_messages) = print(command, output);
            if (other_status, &other_lines) == (status, &lines) {
                outcome.equal += 1;
                outcome.lines += lines.len();
            } else {
                outcome.different.push(format!("{} differs with names ({mode}), status {other_status}", command[0]));
            }
            outcome.messages.extend(other_messages.difference(&messages).cloned());
        }
    }
    outcome
}
