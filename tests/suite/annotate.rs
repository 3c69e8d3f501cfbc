//! `perfconv annotate`: lines, instructions, what is missing, and hostile code.

use super::fuzz_corpus::fuzz;
use crate::common::program::{Run, perfconv, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn symbols(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(name)
}

fn annotate(function: &str, recording: &str, symfs: &Path, arguments: &[&str]) -> Run {
    let mut command = perfconv();
    command.args(["annotate", function]).arg(symbols(recording)).arg("--symfs").arg(symfs);
    run(command.args(arguments).env("HOME", "/nonexistent").env("LC_ALL", "C.UTF-8"))
}

fn text(function: &str, recording: &str, arguments: &[&str]) -> String {
    let run = annotate(function, recording, &symbols("files"), &[arguments, &["-q"]].concat());
    assert_eq!((run.status, &*run.stderr), (0, ""), "{function} {arguments:?}");
    String::from_utf8(run.stdout).expect("UTF-8")
}

fn json(function: &str, recording: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(function, recording, &[&["--json"], arguments].concat())).expect("JSON")
}

/// A member of the lines.
fn members<'a>(report: &'a Value, name: &str) -> Vec<&'a str> {
    let lines = report["lines"].as_array().expect("a list").iter();
    lines.map(|line| line[name].as_str().unwrap_or_default()).collect()
}

fn own_samples(report: &Value) -> u64 {
    let lines = report["lines"].as_array().expect("a list").iter();
    lines.map(|line| line["self"]["samples"].as_u64().unwrap_or(0)).sum()
}

#[test]
fn samples_are_those_of_the_function() {
    for (recording, functions) in [
        ("words.data", &["find", "hash", "count_word"][..]),
        ("c.data", &["grind", "main"]),
        ("bpf.data", &["bpf_prog_0d187f4dbdd25a54_count"]),
    ] {
        for function in functions {
            let run = run(perfconv()
                .args(["report", "--json", "-q", "--sort", "sym", "-i"])
                .arg(symbols(recording))
                .arg("--symfs")
                .arg(symbols("files"))
                .env("HOME", "/nonexistent"));
            let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
            let entries = report["entries"].as_array().expect("a list");
            let entry = entries.iter().find(|entry| entry["sym"] == *function).expect("an entry");
            let expected = entry["self"]["samples"].as_u64().expect("a number");
            // Samples of functions that are inlined into it are at its instructions, too.
            assert!(own_samples(&json(function, recording, &[])) >= expected, "{function} of {recording}");
        }
    }
}

#[test]
fn instructions_are_below_their_lines() {
    let listing = text("count_word", "words.data", &[]);
    let call = "    call 0x401150 <find>";
    let line = "words.c:57      struct word *slot = find(word, length);";
    let (before, after) = listing.split_once(line).unwrap_or_else(|| panic!("no line in {listing}"));
    assert!(
        before.contains("push %rbp") && after.lines().nth(1).is_some_and(|line| line.ends_with(call.trim_start())),
        "{listing}"
    );
    assert!(listing.contains("┌───jne 0x401214") && listing.contains("└──>mov -0x8(%rbp),%rbx"), "{listing}");
    let sorted = json("find", "words.data", &["--sort", "samples", "--context", "0"]);
    let first = &sorted["lines"][0];
    assert!(first["self"]["samples"].as_u64() > Some(1) && first["file"] == "/opt/words/src/words.c", "{first}");
    assert!(sorted["lines"].as_array().expect("a list").iter().all(|line| line["total"]["samples"].as_u64() > Some(0)));
}

#[test]
fn an_inlined_function_has_only_its_instructions() {
    let report = json("hull", "c.data", &[]);
    let names: std::collections::BTreeSet<_> = members(&report, "sym").into_iter().collect();
    assert!(names.len() > 3 && !names.contains("hull"), "{names:?}");
    for line in report["lines"].as_array().expect("a list") {
        assert!(line["inlined"].as_array().expect("a list").contains(&"hull".into()), "{line}");
    }
}

#[test]
fn generated_code_without_a_jitdump_has_addresses_only() {
    let jit = text("^jit", "jitmap.data", &[]);
    assert!(jit.contains("a perf map has no code; have the runtime write a jitdump"), "{jit}");
    let bpf = text("bpf_prog", "bpf.data", &[]);
    assert!(bpf.contains("count.c:8") && bpf.contains("push %rbp"), "{bpf}");
}

#[test]
fn missing_and_truncated_programs_are_reported() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let run = annotate("count_word", "words.data", directory.path(), &["-q"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.contains("no sample has a function"), "{}", run.stderr);
    let path = directory.path().join("opt/words/bin/words");
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    let program = fs::read(symbols("files/opt/words/bin/words")).expect("a file");
    let mut listed = 0;
    for size in (0..program.len()).step_by(997).chain([program.len()]) {
        fs::write(&path, &program[..size]).expect("a file");
        let run = annotate("^", "words.data", directory.path(), &["-q"]);
        assert_eq!(run.status, 0, "{size} bytes: {}", run.stderr);
        listed += usize::from(String::from_utf8_lossy(&run.stdout).contains("call 0x401150 <find>"));
    }
    assert!(listed > 0);
}

#[test]
fn sources_are_found_in_other_directories() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let copied = directory.path().join("words.c");
    fs::copy(symbols("files/opt/words/src/words.c"), copied).expect("a copy");
    let objects = directory.path().join("objects/opt/words/bin");
    fs::create_dir_all(&objects).expect("a directory");
    fs::copy(symbols("files/opt/words/bin/words"), objects.join("words")).expect("a copy");
    let path = directory.path().to_str().expect("UTF-8");
    let symfs = directory.path().join("objects");
    let source = "struct word *slot = find(word, length);";
    for (directory, is_found) in
        [(path.to_owned(), true), (format!("/opt/words/src={path}"), true), (format!("/other={path}"), false)]
    {
        let arguments = ["-q", "--source-dir", &directory];
        let run = annotate("count_word", "words.data", &symfs, &arguments);
        assert_eq!(String::from_utf8_lossy(&run.stdout).contains(source), is_found, "{directory}");
        let mut report = perfconv();
        report.args(["report", "--lines", "count_word"]).arg(symbols("words.data")).arg("--symfs").arg(&symfs);
        let lines = crate::common::program::run(report.args(arguments).env("HOME", "/nonexistent"));
        assert_eq!(String::from_utf8_lossy(&lines.stdout).contains(source), is_found, "{directory}");
    }
    let run = annotate("count_word", "words.data", &symfs, &["-q", "--no-source", "--source-dir", path]);
    assert!(!String::from_utf8_lossy(&run.stdout).contains(source));
}

#[test]
fn invalid_arguments_are_reported() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = |name: &str| directory.path().join(name).display().to_string();
    for (arguments, message) in [
        (["--source-dir", "/nonexistent"], "'--source-dir <[FROM=]DIR>': no such directory"),
        (["--source-dir", "/opt=/nonexistent"], "'--source-dir <[FROM=]DIR>': no such directory"),
        (["--context", "x"], "'--context <N>': expected a number"),
        (["--sort", "lines"], "expected one of: address, samples"),
        (["-o", &output("x.html")], "-o: annotated functions are text or .json; 'perfconv IN -o "),
    ] {
        let run = annotate("find", "words.data", &symbols("files"), &arguments);
        assert!(run.status == 2 && run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    let json = output("x.json");
    assert_eq!(annotate("find", "words.data", &symbols("files"), &["-q", "-o", &json]).status, 0);
    serde_json::from_slice::<Value>(&fs::read(json).expect("a file")).expect("JSON");
}

#[test]
fn answers_are_limited() {
    let (mut offset, mut shown) = (0, Vec::new());
    let all = json("find", "words.data", &[]);
    loop {
        let arguments = ["--json", "-q", "--max-bytes", "2000", "--offset", &offset.to_string()];
        let run = annotate("find", "words.data", &symbols("files"), &arguments);
        assert!(run.stdout.len() <= 2000, "{} bytes", run.stdout.len());
        let part: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        shown.extend(members(&part, "address").into_iter().map(str::to_owned));
        let Some(next) = part["next_offset"].as_u64() else { break };
        assert!(next > offset, "{part}");
        offset = next;
    }
    assert_eq!(shown, members(&all, "address"));
}

#[test]
fn colors_are_used_on_request_only() {
    assert!(!text("find", "words.data", &[]).contains('\x1b'));
    assert!(text("find", "words.data", &["--color", "always"]).contains("\x1b[31m"));
}

#[test]
fn any_bytes_are_annotated() {
    let mut bytes: Vec<u8> = (0..4096_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for step in 0..40 {
        bytes.rotate_left(step * 7 + 1);
        fuzz::code(&bytes);
    }
}
