//! Function names that travel inside a recording: `rewrite --embed-symbols`, `--strip-symbols`.

use crate::common::program::{perfconv, run, succeed};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Recordings of roundtrip/symbols, with the passes that need their programs besides.
pub(super) const RECORDINGS: [(&str, &[&str]); 11] = [
    ("words", &[]),
    ("c", &[]),
    ("cxx", &[]),
    ("bpf", &[]),
    ("jitmap", &[]),
    ("both", &["--unwind"]),
    ("detour", &["--unwind"]),
    ("dwarf", &["--unwind"]),
    ("witness-gcc", &["--unwind"]),
    ("witness-clang", &["--unwind"]),
    ("witness-i386", &["--unwind"]),
];

pub(super) fn symbols() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols")
}

/// The program with this home, so that objects are found below `--symfs` only.
pub(super) fn perfconv_in(home: &Path) -> Command {
    let mut command = perfconv();
    command.env("HOME", home);
    command
}

/// Folded stacks of a recording with functions, but without inlined ones.
fn folded(recording: &Path, objects: &Path) -> String {
    let mut command = perfconv_in(objects);
    command.arg(recording).arg("--symfs").arg(objects).args(["--no-inline", "-q", "-t", "folded", "-o", "-"]);
    String::from_utf8(succeed(&mut command).stdout).expect("UTF-8")
}

/// Writes a recording with names of its functions.
pub(super) fn embed(name: &str, passes: &[&str], output: &Path) {
    embed_which(name, passes, "functions", output);
}

/// Writes a recording with names.
pub(super) fn embed_which(name: &str, passes: &[&str], which: &str, output: &Path) {
    let files = symbols().join("files");
    let mut command = perfconv_in(output.parent().expect("a directory"));
    command.arg("rewrite").arg(symbols().join(name).with_extension("data")).arg("--symfs").arg(&files);
    let option = format!("--embed-symbols={which}");
    succeed(command.args(passes).args([&option, "-q", "-o"]).arg(output));
}

#[test]
fn stacks_are_those_with_the_objects() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    let mut stacks = 0;
    for (name, passes) in RECORDINGS {
        let output = directory.path().join(name).with_extension("data");
        embed(name, passes, &output);
        let expected = folded(&symbols().join(name).with_extension("data"), &symbols().join("files"));
        assert_eq!(folded(&output, &empty), expected, "{name}");
        stacks += expected.lines().count();
        let checked = succeed(perfconv().arg("check").arg(&output));
        assert!(!String::from_utf8_lossy(&checked.stdout).contains("132"), "{name}");
        // In a pipe, they are in a record.
        let pipe = directory.path().join(name).with_extension("pipe.data");
        let run =
            succeed(perfconv_in(&empty).arg("rewrite").arg(&output).args(["--container", "pipe", "-o"]).arg(&pipe));
        assert!(run.stderr.contains("perf rejects pipes in which names of functions are stored"), "{}", run.stderr);
        assert_eq!(folded(&pipe, &empty), expected, "{name} in a pipe");
    }
    note!("{stacks} stacks of {} recordings are the same without their objects", RECORDINGS.len());
    assert!(stacks > 800, "{stacks} stacks");
}

#[test]
fn they_are_removed_on_request_and_by_anonymization() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [named, stripped, anonymized] =
        ["named", "stripped", "anonymized"].map(|name| directory.path().join(name).with_extension("data"));
    let names = |path: &Path| {
        let bytes = fs::read(path).expect("a recording");
        memchr::memmem::find(&bytes, b"count_words").is_some()
    };
    embed("words", &[], &named);
    succeed(
        perfconv_in(directory.path()).arg("rewrite").arg(&named).args(["--strip-symbols", "-q", "-o"]).arg(&stripped),
    );
    succeed(
        perfconv_in(directory.path()).arg("rewrite").arg(&named).args(["--anonymize", "-q", "-o"]).arg(&anonymized),
    );
    assert_eq!([&named, &stripped, &anonymized].map(|path| names(path)), [true, false, false]);

    let again = directory.path().join("again.data");
    let failed = run(perfconv().arg("rewrite").arg(&stripped).args(["--strip-symbols", "-o"]).arg(&again));
    assert!(failed.stderr.contains("the recording has no names of functions") && !again.exists(), "{}", failed.stderr);
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    let mut command = perfconv_in(&empty);
    command.arg("rewrite").arg(&stripped).arg("--symfs").arg(&empty).args(["--embed-symbols", "-o"]).arg(&again);
    let failed = run(&mut command);
    assert!(failed.stderr.contains("no function of a sample is known") && !again.exists(), "{}", failed.stderr);
}

/// The innermost functions of a recording with the given options, each once.
fn functions(recording: &Path, options: &[&str], objects: &Path) -> BTreeSet<String> {
    let mut command = perfconv_in(recording.parent().expect("a directory"));
    command.arg(recording).arg("--symfs").arg(objects).args(options).args([
        "--no-inline",
        "-q",
        "-t",
        "folded",
        "-o",
        "-",
    ]);
    let text = String::from_utf8(succeed(&mut command).stdout).expect("UTF-8");
    let innermost =
        |line: &str| line.rsplit_once(' ').and_then(|(stack, _)| stack.rsplit(';').next().map(str::to_owned));
    text.lines().filter_map(innermost).collect()
}

/// Replaces bytes of a file by as many others; returns how often.
fn replace(path: &Path, from: &[u8], to: &[u8]) -> usize {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(path).expect("a file");
    let starts: Vec<_> = memchr::memmem::find_iter(&bytes, from).collect();
    starts.iter().for_each(|&start| bytes[start..start + to.len()].copy_from_slice(to));
    fs::write(path, bytes).expect("a file");
    starts.len()
}

#[test]
fn names_are_read_from_matching_objects_then_the_recording_then_other_objects() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [recording, stripped] = ["named.data", "stripped.data"].map(|name| directory.path().join(name));
    embed("words", &[], &recording);
    succeed(
        perfconv_in(directory.path())
            .arg("rewrite")
            .arg(&recording)
            .args(["--strip-symbols", "-q", "-o"])
            .arg(&stripped),
    );
    // Stored names that contradict the objects.
    assert_eq!(replace(&recording, b"count_words", b"wrong_names"), 1);
    let shown = |recording: &Path, options: &[&str], objects: &Path| {
        let functions = functions(recording, options, objects);
        ["count_words", "wrong_names"].map(|name| functions.contains(name))
    };
    let [from_object, stored, none] = [[true, false], [false, true], [false; 2]];
    let files = symbols().join("files");
    let path = Path::new("opt/words/bin/words");
    let copy = |name: &str| {
        let copy = directory.path().join(name).join(path);
        fs::create_dir_all(copy.parent().expect("a directory")).expect("a directory");
        fs::copy(files.join(path), &copy).expect("a copy");
        copy
    };
    let [empty, other, without_symbols] = ["empty", "other", "without-symbols"].map(|name| directory.path().join(name));
    fs::create_dir(&empty).expect("a directory");
    let bytes = fs::read(files.join(path)).expect("a program");
    let note = memchr::memmem::find(&bytes, b"\x14\0\0\0\x03\0\0\0GNU\0").expect("a build ID") + 12;
    let build_id = bytes[note..note + 20].to_vec();
    assert_eq!(replace(&copy("other"), &build_id, &[7; 20]), 1);
    // Without section headers, there are no symbols, but segments still contain the build ID.
    let program = copy("without-symbols");
    let mut bytes = fs::read(&program).expect("a program");
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    fs::write(&program, bytes).expect("a program");

    assert_eq!(shown(&recording, &[], &files), from_object, "the build ID matches");
    assert_eq!(shown(&recording, &[], &empty), stored);
    assert_eq!(shown(&recording, &[], &other), stored, "another build ID");
    assert_eq!(shown(&recording, &[], &without_symbols), stored, "the object has no names");
    assert_eq!(shown(&recording, &["--symbols", "force"], &other), stored);
    assert_eq!(shown(&stripped, &["--symbols", "force"], &other), from_object);
    assert_eq!(shown(&recording, &["--symbols", "embedded"], &files), stored);
    assert_eq!(shown(&stripped, &["--symbols", "embedded"], &files), none);
    assert_eq!(shown(&recording, &["--symbols", "objects"], &files), from_object);
    assert_eq!(shown(&recording, &["--symbols", "objects"], &empty), none);
    assert_eq!(shown(&recording, &["--symbols", "no"], &files), none);
}

/// What has no name when names are stored has none later, on another machine.
#[test]
fn objects_without_names_are_listed() {
    let directory = tempfile::tempdir().unwrap();
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let (binaries, output) = (directory.path().join("srv/sym/bin"), directory.path().join("named.data"));
    fs::create_dir_all(&binaries).unwrap();
    fs::copy(symbols.join("files/srv/sym/bin/libshelf.so"), binaries.join("libshelf.so")).unwrap();
    let messages = |symfs: &Path| {
        let mut command = perfconv();
        command.arg("rewrite").arg(symbols.join("detour.data")).args(["--embed-symbols", "-f", "-o"]).arg(&output);
        succeed(command.arg("--symfs").arg(symfs).env("HOME", "/nonexistent")).stderr
    };
    let missing = messages(directory.path());
    assert!(missing.contains("have no function name") && missing.contains("in /srv/sym/bin/detour ("), "{missing}");
    let most = messages(&symbols.join("files"));
    assert!(!most.contains("in /srv/sym/bin/detour ("), "{most}");
}
