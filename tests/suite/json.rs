//! JSON that was edited with the real jq: perf reads what is made of it and shows the change. The schema tells of every
//! output.

use super::files::{Recording, corpus, fixture, recordings};
use super::program::{convert, perfconv, run, run_other};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether a program is there. Where it is not, it says so.
fn has(program: &str, args: &[&str], test: &str) -> bool {
    let is_there = Command::new(program).args(args).output().is_ok_and(|output| output.status.success());
    if !is_there {
        // Not through the macros, whose output the test harness hides when the test passes.
        let mut out = std::io::stderr();
        writeln!(out, "{test}: skipped, there is no {program} {}", args.join(" ")).unwrap();
    }
    is_there
}

/// The recording after its JSON went through jq.
fn edited(input: &Path, folder: &Path, filter: &str) -> PathBuf {
    let (json, changed, output) = (folder.join("in.jsonl"), folder.join("changed.jsonl"), folder.join("out.data"));
    let written = run(perfconv().arg(input).arg("-f").arg("-o").arg(&json));
    assert_eq!(written.status, 0, "{}", written.stderr);
    let jq = run_other(Command::new("jq").arg("-c").arg(filter).arg(&json));
    assert_eq!(jq.status, 0, "{}", jq.stderr);
    assert!(jq.stdout != fs::read(&json).unwrap(), "{filter} changes nothing in {}", input.display());
    fs::write(&changed, jq.stdout).unwrap();
    let remade = run(perfconv().arg(&changed).arg("-f").arg("-o").arg(&output));
    assert_eq!(remade.status, 0, "{filter}: {}", remade.stderr);
    output
}

fn script(recording: &Path, args: &[&str]) -> String {
    let shown = run_other(Command::new("perf").arg("script").arg("-f").args(args).arg("-i").arg(recording));
    assert_eq!(shown.status, 0, "{}: {}", recording.display(), shown.stderr);
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

/// Recordings of each kind: plain, compressed, in a folder or pipe, and with AUX area data where the corpus has one.
fn kinds() -> Vec<PathBuf> {
    let names = [
        "forks.data",
        "plain.data",
        "callgraph.data",
        "two-events.data",
        "compressed.data",
        "pipe.data",
        "pipe-compressed.data",
    ];
    let names = names.iter().map(|name| fixture(name));
    names.filter(|path| is_read_by_perf(path)).collect()
}

/// Whether perf reads a recording: older ones refuse events of newer ones.
fn is_read_by_perf(path: &Path) -> bool {
    let shown = run_other(Command::new("perf").args(["script", "-f", "-F", "ip", "-i"]).arg(path));
    if shown.status != 0 {
        println!("skipped: this perf does not read {}: {}", path.display(), shown.stderr.trim());
    }
    shown.status == 0
}

fn with_auxtrace() -> Option<PathBuf> {
    let is_one = |recording: &Recording| recording.name.ends_with("testdata/perf.data.intel_pt-4.14");
    corpus().into_iter().find(is_one).map(|recording| recording.path)
}

#[test]
fn a_comm_is_renamed() {
    let test = "a comm is renamed";
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let filter = r#"if .record == "COMM" then .body.comm = "a_much_longer_name_than_it_had" else . end"#;
    let mut shown = 0;
    for input in kinds().into_iter().chain(with_auxtrace()) {
        let output = edited(&input, folder.path(), filter);
        let comms = script(&output, &["--show-task-events", "-F", "comm,tid"]);
        assert!(comms.contains("a_much_longer_name_than_it_had"), "{}:\n{comms}", input.display());
        assert_eq!(script(&input, &["-F", "ip"]), script(&output, &["-F", "ip"]), "{}", input.display());
        shown += 1;
    }
    assert!(shown >= 4, "only {shown} recordings");
    println!("{test}: {shown} recordings, perf script shows the name in each and the samples that there were");
}

#[test]
fn records_are_deleted_and_added() {
    let test = "records are deleted and added";
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut deleted, mut added) = (0, 0);
    for input in kinds() {
        let lines = script(&input, &["-F", "time,ip"]).lines().filter(|line| !line.trim().is_empty()).count();
        let fewer = edited(&input, folder.path(), r#"select(.record != "SAMPLE" or .body.period == null)"#);
        assert_eq!(script(&fewer, &["-F", "ip"]).trim(), "", "{}", input.display());
        deleted += 1;
        let twice = edited(&input, folder.path(), r#"., select(.record == "SAMPLE")"#);
        let now = script(&twice, &["-F", "time,ip"]).lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(now, 2 * lines, "{}", input.display());
        added += 1;
    }
    let has_switches = |recording: &Recording| {
        let told = run(perfconv().arg(&recording.path).args(["-t", "jsonl", "-q", "-o", "-"]));
        let mark = br#"{"record":"SWITCH"#;
        told.stdout.windows(mark.len()).any(|window| window == mark) && is_read_by_perf(&recording.path)
    };
    let switches = recordings().into_iter().filter(has_switches);
    for recording in switches.take(5) {
        let output =
            edited(&recording.path, folder.path(), r#"select(.record | tostring | startswith("SWITCH") | not)"#);
        let events = script(&output, &["--show-switch-events"]);
        assert!(!events.contains("PERF_RECORD_SWITCH"), "{}", recording.name);
        deleted += 1;
    }
    println!("{test}: deleted in {deleted} recordings, added in {added}; perf script shows each");
    assert!(deleted >= 4 && added >= 4);
}

#[test]
fn what_is_wrong_is_told_with_line_and_field_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("in.jsonl");
    assert_eq!(convert(&fixture("plain.data"), &json).status, 0);
    let lines = fs::read_to_string(&json).unwrap();
    let without_end = lines.lines().filter(|line| !line.starts_with("{\"end\"")).collect::<Vec<_>>().join("\n");
    let wrong = [
        (lines.replacen("\"perfconv\":1", "\"perfconv\":2", 1), "line 1: perfconv: version 2 is not read"),
        (lines.replacen("\"record\":\"COMM\"", "\"record\":\"COMMA\"", 1), "record: invalid value: string \"COMMA\""),
        (lines.replacen("\"tid\":", "\"tdi\":", 1), "tdi: there is no such field"),
        (lines.replacen("\"pid\":", "\"pid\":99999999999,\"x\":", 1), "pid: invalid value: integer `99999999999`"),
        (lines.replacen("\"comm\":", "\"comma\":", 1), "comma: there is no such field"),
        (without_end, "the last object, end, is missing: the file is cut short"),
        (lines[..lines.len() / 2].to_owned(), "the object is cut short"),
        ("[{\"perfconv\":1}]".to_owned(), "line 1: container: the field is missing"),
        ("{\"a\":1}".to_owned(), "line 1: a: there is no such field"),
        ("[1]".to_owned(), "line 1: expected an object, found `1`"),
        (
            "{\"perfconv\":1,\"container\":\"directory\",\"endian\":\"little\",\"files\":[\"../data\"]}".into(),
            "line 1: files",
        ),
    ];
    for (text, message) in wrong {
        let (input, output) = (folder.path().join("wrong.jsonl"), folder.path().join("out.data"));
        fs::write(&input, text).unwrap();
        let run = run(perfconv().args(["--from", "jsonl"]).arg(&input).arg("-o").arg(&output));
        assert_eq!(run.status, 1, "{message}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{message}: {}", run.stderr);
        assert!(!output.exists(), "{message}");
    }
}

const VALIDATE: &str = r#"
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
objects = seen = 0
kinds = set()
for line in sys.stdin:
    objects += 1
    told = json.loads(line)
    # Many are alike: of each kind in a recording the first are looked at.
    kind = (next(iter(told)), told.get('record'), 'frame' in told)
    if kind in kinds and objects % 50:
        continue
    kinds.add(kind)
    seen += 1
    for error in validator.iter_errors(told):
        sys.exit(f'{line[:200]}: {error.message[:500]}')
print(objects, seen)
"#;

#[test]
fn every_output_is_of_the_schema() {
    let test = "every output is of the schema";
    if !has("python3", &["-c", "import jsonschema"], test) {
        return;
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("all.jsonl");
    let (mut out, mut recordings_told) = (fs::File::create(&all).unwrap(), 0);
    for recording in recordings() {
        let told = run(perfconv().arg(&recording.path).args(["-t", "jsonl", "-q", "-o", "-"]));
        if told.status == 0 {
            recordings_told += 1;
            out.write_all(&told.stdout).unwrap();
        }
    }
    let validate =
        Command::new("python3").args(["-c", VALIDATE]).arg(schema).stdin(fs::File::open(&all).unwrap()).output();
    let validate = validate.unwrap();
    let counts = String::from_utf8_lossy(&validate.stdout).into_owned();
    println!("{test}: {recordings_told} recordings; objects in all, and looked at: {counts}");
    assert!(validate.status.success(), "{}", String::from_utf8_lossy(&validate.stderr));
    assert!(recordings_told >= 20);
}
