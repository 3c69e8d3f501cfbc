//! `perfconv info`, and the summary without a command.

use crate::common::files::{self, fixture};
use crate::common::program::{self, perfconv, run, succeed};
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::events::Event;
use perf_data::stream::source::Source;
use perfconv::inspect::info::{Parts, read_info};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;

/// Runs the program in a directory.
fn run_in(dir: &Path, arguments: &[&str]) -> program::Run {
    run(perfconv().current_dir(dir).args(arguments))
}

fn stdout(run: &program::Run) -> String {
    assert_eq!(run.status, 0, "{}", run.stderr);
    String::from_utf8(run.stdout.clone()).expect("messages should be UTF-8")
}

#[test]
fn without_a_command_it_prints_a_summary_and_next_commands() {
    let dir = tempdir().unwrap();
    let nothing = run_in(dir.path(), &[]);
    assert_eq!((nothing.status, &nothing.stdout[..]), (2, &b""[..]));
    assert_eq!(nothing.stderr.lines().count(), 1, "{}", nothing.stderr);
    assert!(nothing.stderr.contains("perf record"), "{}", nothing.stderr);
    for name in ["callgraph.data", "pipe-compressed.data", "system-wide.data", "lost.data", "two-events.data"] {
        fs::copy(fixture(name), dir.path().join("perf.data")).unwrap();
        let text = stdout(&run_in(dir.path(), &[]));
        assert!(text.lines().count() <= 35, "{text}");
        let samples = files::fixtures().into_iter().find(|recording| recording.name == name).unwrap().listed_samples;
        for part in
            ["perfconv report", "perfconv -o out.pb.gz", "perfconv info", "perfconv dump", "perfconv check perf.data"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        let sample_count: u64 = text.lines().find_map(|line| line.trim().strip_prefix("samples ")).map_or(0, |list| {
            list.split(',').filter_map(|part| part.trim().split(' ').next()?.parse::<u64>().ok()).sum()
        });
        assert_eq!(Some(sample_count), samples, "{name}: {text}");
    }
    fs::copy(fixture("tracepoints.data"), dir.path().join("perf.data")).unwrap();
    let text = stdout(&run_in(dir.path(), &[]));
    assert!(text.contains("Samples by event:\n") && !text.contains("Functions with the most"), "{text}");
    fs::copy(fixture("plain.data"), dir.path().join("perf.data")).unwrap();
    let text = stdout(&run_in(dir.path(), &[]));
    assert!(text.contains("No call chains were recorded") && text.contains("perf record -g"), "{text}");
    fs::remove_file(dir.path().join("perf.data")).unwrap();
    for command in ["info", "dump", "check", "report", "view", "archive"] {
        let missing = run_in(dir.path(), &[command]);
        assert_eq!(missing.status, 2, "{command}: {}", missing.stderr);
        assert!(missing.stderr.starts_with("perfconv: perf.data: not found in this directory"), "{}", missing.stderr);
    }
    let named = stdout(&run_in(dir.path(), &[fixture("plain.data").to_str().unwrap()]));
    assert!(named.contains(&format!("perfconv {} -o out.pb.gz", fixture("plain.data").display())), "{named}");
    assert_eq!(run_in(dir.path(), &["-t", "pprof"]).status, 2);
}

/// The suggested commands work, whatever the name and the format of the recording.
#[test]
fn suggested_commands_succeed() {
    let dir = tempdir().unwrap();
    let json = run(perfconv().arg(fixture("plain.data")).args(["-t", "jsonl", "-q", "-o", "-"])).stdout;
    for (name, from, bytes) in [
        ("it's a $name.data", None, fs::read(fixture("plain.data")).unwrap()),
        ("-x.data", None, fs::read(fixture("plain.data")).unwrap()),
        ("told", Some("jsonl"), json.clone()),
    ] {
        fs::write(dir.path().join(name), bytes).unwrap();
        let named = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
        let arguments: Vec<&str> = [&*named].into_iter().chain(from.map(|_| "--from")).chain(from).collect();
        let text = stdout(&run_in(dir.path(), &arguments));
        let (_, next) = text.split_once("Next steps:\n").expect("the message should say what to do next");
        let commands: Vec<&str> = next.lines().map(|line| line.trim().split("  ").next().unwrap_or_default()).collect();
        assert_eq!(commands.len(), 7, "{next}");
        assert!(commands.iter().any(|command| command.starts_with("perfconv view")), "{next}");
        // It would open a browser.
        for command in commands.into_iter().filter(|command| !command.starts_with("perfconv view")) {
            let program = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap();
            let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
            succeed(Command::new("sh").args(["-c", command]).current_dir(&dir).env("PATH", path));
        }
        fs::remove_file(dir.path().join("out.pb.gz")).unwrap();
        fs::remove_file(dir.path().join("out.svg")).unwrap();
    }
    // Standard input can be read only once, so no commands are suggested.
    let mut program = perfconv().arg("-").stdin(fs::File::open(fixture("pipe.data")).unwrap()).output().unwrap();
    program.stdout.retain(|byte| *byte != 0);
    let text = String::from_utf8(program.stdout).unwrap();
    assert!(text.contains("samples") && !text.contains("Next steps"), "{text}");
    fs::write(dir.path().join("in.jsonl"), &json).unwrap();
    for command in ["info", "dump", "check"] {
        let json = fs::File::open(dir.path().join("in.jsonl")).unwrap();
        let done = run(perfconv().args([command, "-", "--from", "jsonl"]).stdin(json));
        assert!(done.status == 0 && !done.stdout.is_empty(), "{command}: {}", done.stderr);
    }
}

#[test]
fn prints_the_header_of_a_recording_without_records() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("header.data");
    fs::write(&path, b"PERFILE2\x10\0\0\0\0\0\0\0").unwrap();
    let info = run(perfconv().arg("info").arg(&path));
    assert_eq!(info.status, 1, "{}", info.stderr);
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(text.contains("# header version : 1\n# data offset    : 0\n"), "{text}");
    assert!(info.stderr.contains("truncated before the first record"), "{}", info.stderr);
}

#[test]
fn summary_mentions_lost_data_of_truncated_recordings() {
    let summary = stdout(&run_in(Path::new("."), &[fixture("truncated.data").to_str().unwrap()]));
    let lost =
        summary.lines().find(|line| line.trim().starts_with("lost")).expect("the message should say what is lost");
    assert!(lost.contains("see perfconv check"), "{summary}");
    let first = summary.lines().next().unwrap();
    assert!(first.contains("modified 20") && !first.contains("written,"), "{first}");
}

#[test]
fn counts_records_and_samples() {
    for recording in files::recordings() {
        let run = run(perfconv().arg("info").arg(&recording.path).args(["--stats", "--json"]));
        let (Some(samples), 0) = (recording.listed_samples, run.status) else { continue };
        let json: serde_json::Value = serde_json::from_slice(&run.stdout).expect("valid JSON");
        let stats = &json["stats"];
        let counted = stats["records"]["SAMPLE"]["records"].as_u64().unwrap_or(0);
        let by_event = stats["samples"].as_array().unwrap().iter().map(|of| of["samples"].as_u64().unwrap());
        let sum_by_event = by_event.sum::<u64>() + stats["samples_of_unknown_event"].as_u64().unwrap();
        // A sample with counter values counts for several events, or for none.
        let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default()).unwrap();
        let meta = read_info(source, Parts { stats: true, ..Parts::default() }).unwrap().meta;
        let has_values = |event: &Event| event.attr.sample_type.contains(SampleType::READ);
        assert!(sum_by_event == counted || meta.events.list().iter().any(has_values), "{}", recording.name);
        // The README does not count samples inside frames.
        let has_frames = ["COMPRESSED", "COMPRESSED2"].iter().any(|kind| !stats["records"][*kind].is_null());
        assert!(counted == samples || has_frames && counted >= samples, "{}: {counted} {samples}", recording.name);
    }
}

#[test]
fn reports_a_corrupt_feature_and_prints_the_others() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("bad.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    // The number of arguments in CMDLINE.
    let at = bytes.windows(8).position(|part| part == b"\x09\0\0\0\x40\0\0\0").expect("there should be a command line");
    bytes[at..at + 4].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let text = stdout(&run(perfconv().arg("info").arg(&path)));
    assert!(text.contains("# CMDLINE: its "), "{text}");
    assert!(text.contains("# hostname : vm\n") && text.contains("\n# event : name = cpu-clock"), "{text}");
}

#[test]
fn prints_the_header_of_a_recording_with_corrupt_records() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("bad.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    bytes[256..37144].fill(0);
    fs::write(&path, bytes).unwrap();
    let run = run(perfconv().arg("info").arg(&path));
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(String::from_utf8_lossy(&run.stdout).contains("# hostname : vm\n"));
    assert!(run.stderr.contains("no readable records"), "{}", run.stderr);
}

#[test]
fn prints_json() {
    let run = run(perfconv().arg("info").arg(fixture("group-read.data")).arg("--json"));
    let json: serde_json::Value = serde_json::from_slice(&run.stdout).expect("valid JSON");
    assert_eq!(json["header"]["data_offset"], 584);
    assert_eq!(json["features"]["HOSTNAME"], "guest");
    assert_eq!(json["events"][1]["name"], "task-clock");
    assert_eq!(json["groups"][0], "{cpu-clock,task-clock,page-faults}");
    assert_eq!(json["build_ids"][1]["filename"], "/w/loop");
    assert_eq!(json["stats"]["processes"], 1);
}

#[test]
fn escapes_control_characters() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("named.data");
    let mut bytes = fs::read(fixture("callgraph.data")).unwrap();
    let at = bytes.windows(8).position(|part| part == b"AMD EPYC").expect("there should be a CPU");
    bytes[at..at + 4].copy_from_slice(b"\x1b[2J");
    fs::write(&path, bytes).unwrap();
    let mut commands = [perfconv(), perfconv()];
    commands[0].arg("info").arg(&path);
    commands[1].arg(&path);
    for command in &mut commands {
        let run = run(Command::arg(command, "--spool-dir").arg(dir.path()));
        assert!(!run.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&run.stdout));
    }
}

#[test]
fn json_is_limited() {
    let whole: Value = serde_json::from_str(&stdout(&run_in(
        Path::new("."),
        &["info", "--json", &fixture("system-wide.data").display().to_string()],
    )))
    .expect("JSON");
    let (mut offset, mut ids) = (Some(0), Vec::new());
    while let Some(at) = offset {
        let file = fixture("system-wide.data").display().to_string();
        let at = at.to_string();
        let text = stdout(&run_in(Path::new("."), &["info", &file, "--json", "--max-bytes", "3000", "--offset", &at]));
        assert!(text.len() <= 3000, "{} bytes: {text}", text.len());
        let part: Value = serde_json::from_str(&text).expect("JSON");
        // Another list was continued at an earlier entry.
        ids.truncate(at.parse().expect("a number"));
        ids.extend(part["build_ids"].as_array().expect("build IDs").iter().cloned());
        assert!(part["omitted"].is_object() || part == whole);
        offset = part["next_offset"].as_u64();
        assert!(ids.len() < 10_000);
    }
    assert_eq!(Some(&ids), whole["build_ids"].as_array());
    let small = run_in(Path::new("."), &["info", "--json", "--max-bytes", "3"]);
    assert_eq!(small.status, 2, "{}", small.stderr);
}
