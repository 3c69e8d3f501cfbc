//! Profiles of OpenTelemetry as input, in protobuf and in JSON.

use super::embedded_symbols::{perfconv_in, symbols};
use crate::common::program::{run, succeed};
use serde_json::{Value, json};
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

/// The eBPF profiler writes a resource for each process, addresses and mappings of ELF files, which overlap, and kernel code as
/// such without addresses of the kernel.
#[test]
fn processes_can_be_resources_and_addresses_those_of_files() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let input = directory.path().join("in.otlp.json");
    let strings = [
        "",
        "words",
        "libother.so",
        "vmlinux",
        "process.executable.build_id.gnu",
        "profile.frame.type",
        "samples",
        "count",
        "do_syscall_64",
        "thread.name",
        "handler",
        "app.py",
        "events",
        "nanoseconds",
    ];
    let text = |value: &str| json!({"stringValue": value});
    let process = |pid: u32, name: &str, stack: u32| {
        let attribute = |key: &str, value: Value| json!({"key": key, "value": value});
        json!({
            "resource": {"attributes": [
                attribute("process.pid", json!({"intValue": pid.to_string()})),
                attribute("process.executable.name", text(name)),
                attribute("container.id", text(&format!("container of {name}"))),
                attribute("host.name", text("bench")),
            ]},
            "scopeProfiles": [{"profiles": [
                {
                    "sampleType": {"typeStrindex": 6, "unitStrindex": 7},
                    "samples": [{"stackIndex": stack, "timestampsUnixNano": ["1000", "2000"], "attributeIndices": [4]}],
                },
                // Off the CPU: other samples.
                {
                    "sampleType": {"typeStrindex": 12, "unitStrindex": 13},
                    "samples": [{
                        "stackIndex": stack, "timestampsUnixNano": ["1500"], "values": ["700"], "attributeIndices": [4],
                    }],
                },
            ]}],
        })
    };
    let location = |address: u32, mapping: u32, attribute: u32, function: u32| {
        let lines = if function == 0 { json!([]) } else { json!([{"functionIndex": function}]) };
        json!({"address": address.to_string(), "mappingIndex": mapping, "attributeIndices": [attribute], "lines": lines})
    };
    let mapping = |name: u32, attributes: &[u32]| {
        json!({"memoryStart": "4198400", "memoryLimit": "4202496", "fileOffset": "4096", "filenameStrindex": name,
            "attributeIndices": attributes})
    };
    let document = json!({
        "resourceProfiles": [process(100, "words", 1), process(200, "python3", 2)],
        "dictionary": {
            "stringTable": strings,
            "attributeTable": [
                {},
                {"keyStrindex": 4, "value": text("8d8661e499d82bfc71322ca168bfdf905ff2072e")},
                {"keyStrindex": 5, "value": text("native")},
                {"keyStrindex": 5, "value": text("kernel")},
                {"keyStrindex": 9, "value": text("worker")},
            ],
            "mappingTable": [{}, mapping(1, &[1]), mapping(2, &[]), {"filenameStrindex": 3}],
            "functionTable": [{}, {"nameStrindex": 8}, {"nameStrindex": 10, "filenameStrindex": 11}],
            "locationTable": [
                {}, location(0x40_1005, 1, 2, 0), location(0x40_1155, 1, 2, 0), location(0x40_1200, 2, 2, 0),
                location(0x3000, 3, 3, 1), location(0, 0, 0, 2),
            ],
            "stackTable": [{}, {"locationIndices": [4, 2, 3, 1]}, {"locationIndices": [5]}],
        },
    });
    fs::write(&input, document.to_string()).expect("a file");
    let with_symbols = |name: &str, options: &[&str]| {
        let mut command = perfconv_in(directory.path());
        let output = directory.path().join(name);
        command.arg(&input).args(["-q", "-o"]).arg(&output).args(options);
        // The file itself, since the profile has no paths.
        succeed(command.arg("--symfs").arg(symbols().join("files/opt/words/bin")));
        fs::read_to_string(output).expect("text")
    };
    let stacks = "worker-100;main;[libother.so];find;do_syscall_64_[k] 2\nworker-200;handler 2\n";
    assert_eq!(with_symbols("out.folded", &["--annotate", "kernel", "--event", "samples"]), stacks);
    let off_cpu = stacks.replace(" 2\n", " 700\n");
    assert_eq!(with_symbols("off_cpu.folded", &["--annotate", "kernel", "--event", "events"]), off_cpu);
    let again = with_symbols("out.otlp.json", &[]);
    for attribute in ["container of words", "container of python3", "process.executable.name"] {
        assert!(again.contains(attribute), "{attribute}: {again}");
    }
    assert!(!again.contains("bench"), "{again}");
}
