//! Profiles of OpenTelemetry as input, in protobuf and in JSON.

use super::embedded_symbols::{perfconv_in, symbols};
use crate::common::program::{run, succeed};
use std::fs;
use std::path::Path;

/// Converts a file; returns the output.
fn convert(input: &Path, options: &[&str], output: &Path) -> Vec<u8> {
    let mut command = perfconv_in(output.parent().expect("a directory"));
    if !output.to_string_lossy().ends_with(".data") {
        command.arg("--symfs").arg(symbols().join("files"));
    }
    succeed(command.arg(input).args(options).args(["-f", "-q", "-o"]).arg(output));
    fs::read(output).expect("an output")
}

fn folded(input: &Path) -> String {
    let output = input.with_extension("folded");
    String::from_utf8(convert(input, &["-t", "folded"], &output)).expect("UTF-8")
}

#[test]
fn stacks_are_those_of_the_same_profile_in_pprof() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name);
    let mut stacks = 0;
    for name in ["words", "c", "cxx", "bpf", "jitmap", "dwarf", "detour"] {
        let recording = symbols().join(name).with_extension("data");
        // The labels of the format.
        convert(&recording, &["--labels", "pid,tid,comm,thread_comm"], &path("in.pb"));
        let expected = folded(&path("in.pb"));
        for output in ["in.otlp", "in.otlp.json"] {
            convert(&recording, &[], &path(output));
            assert_eq!(folded(&path(output)), expected, "{name} as {output}");
        }
        let from = |input: &str| convert(&path(input), &["-t", "pprof"], &path("out.pb"));
        assert_eq!(from("in.otlp"), from("in.otlp.json"), "{name}");
        // Locations, lines, mappings and values are the same again.
        let again = convert(&path("in.otlp"), &["-t", "otlp-json"], &path("again.otlp.json"));
        assert_eq!(convert(&path("again.otlp.json"), &["-t", "otlp-json"], &path("third.otlp.json")), again, "{name}");
        stacks += expected.lines().count();
    }
    note!("{stacks} stacks are the same");
    assert!(stacks > 100, "{stacks} stacks");
}

#[test]
fn times_and_processes_are_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [otlp, data] = ["in.otlp", "out.data"].map(|name| directory.path().join(name));
    convert(&symbols().join("words.data"), &["--timestamps"], &otlp);
    convert(&otlp, &[], &data);
    let script = |input: &Path| {
        let output = directory.path().join("out.script");
        let text = convert(input, &["-t", "perf-script", "-F", "comm,pid,tid,time"], &output);
        String::from_utf8(text).expect("UTF-8")
    };
    let (from_otlp, original) = (script(&data), script(&symbols().join("words.data")));
    let lines = |text: &str| text.lines().count();
    assert_eq!(lines(&from_otlp), lines(&original));
    let times = |text: &str| -> Vec<f64> {
        let time = |line: &str| line.split_whitespace().last()?.trim_end_matches(':').parse::<f64>().ok();
        let times: Vec<_> = text.lines().filter_map(time).collect();
        times.iter().map(|time| time - times[0]).collect()
    };
    let (one, other) = (times(&from_otlp), times(&original));
    assert!(one.len() > 400 && one.iter().zip(&other).all(|(one, other)| (one - other).abs() < 1e-5));
}

#[test]
fn damaged_profiles_are_rejected_with_the_reason() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let rejected = |name: &str, bytes: &[u8]| {
        let input = directory.path().join(name);
        fs::write(&input, bytes).expect("a file");
        let run = run(perfconv_in(directory.path()).arg(&input).args(["-t", "folded", "-o", "-"]));
        assert_eq!(run.status, 1, "{}", run.stderr);
        run.stderr
    };
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus/otlp");
    // The first byte is for the fuzz target.
    let input = |name: &str| fs::read(corpus.join(name)).expect("an input")[1..].to_vec();
    let message = rejected("indexes.otlp", &input("indexes"));
    assert!(message.contains("not valid OpenTelemetry profiles: a sample refers to missing stack 99"), "{message}");
    let message = rejected("times.otlp", &input("times_differ"));
    assert!(message.contains("sample 0 has 1 values, but 2 times"), "{message}");
    let message = rejected("cut.otlp", &input("cut"));
    assert!(message.contains("not a protobuf message"), "{message}");
    let message = rejected("number.otlp.json", &input("json_number"));
    assert!(message.contains("stackIndex: invalid value"), "{message}");
}
