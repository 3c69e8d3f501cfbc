//! JSON edited with jq: perf reads the recording imported from it and prints the change. All outputs conform to the schema.

use crate::common::files::{Recording, corpus, fixture, has_corpus, recordings, share};
use crate::common::json::to_json;
use crate::common::oracle::{has_program, has_python_module};
use crate::common::program::{perfconv, run, run_other, succeed};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Exports a recording to JSON, edits it with jq and imports it.
fn edit(input: &Path, dir: &Path, filter: &str) -> PathBuf {
    let (json, edited, output) = (dir.join("in.jsonl"), dir.join("edited.jsonl"), dir.join("out.data"));
    succeed(perfconv().arg(input).arg("-f").arg("-o").arg(&json));
    let jq = run_other(Command::new("jq").arg("-c").arg(filter).arg(&json));
    assert_eq!(jq.status, 0, "{}", jq.stderr);
    assert!(jq.stdout != fs::read(&json).unwrap(), "{filter} should change {}", input.display());
    fs::write(&edited, jq.stdout).unwrap();
    succeed(perfconv().arg(&edited).arg("-f").arg("-o").arg(&output));
    output
}

fn script(recording: &Path, args: &[&str]) -> String {
    let printed = run_other(Command::new("perf").arg("script").arg("-f").args(args).arg("-i").arg(recording));
    assert_eq!(printed.status, 0, "{}: {}", recording.display(), printed.stderr);
    String::from_utf8_lossy(&printed.stdout).into_owned()
}

/// Recordings of several kinds: plain, compressed and pipes.
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

/// Whether perf reads a recording: older versions reject events of newer ones.
fn is_read_by_perf(path: &Path) -> bool {
    let printed = run_other(Command::new("perf").args(["script", "-f", "-F", "ip", "-i"]).arg(path));
    if printed.status != 0 {
        note!("skipped: the installed perf cannot read {}: {}", path.display(), printed.stderr.trim());
    }
    printed.status == 0
}

fn with_auxtrace() -> Option<PathBuf> {
    let is_one = |recording: &Recording| recording.name.ends_with("testdata/perf.data.intel_pt-4.14");
    corpus().into_iter().find(is_one).map(|recording| recording.path)
}

#[test]
fn edits_a_comm() {
    let test = "editing a comm";
    if !has_program("jq") || !has_program("perf") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let filter = r#"if .record == "COMM" then .body.comm = "a_much_longer_name_than_it_had" else . end"#;
    let mut printed = 0;
    for input in kinds().into_iter().chain(with_auxtrace()) {
        let output = edit(&input, dir.path(), filter);
        let comms = script(&output, &["--show-task-events", "-F", "comm,tid"]);
        assert!(comms.contains("a_much_longer_name_than_it_had"), "{}:\n{comms}", input.display());
        assert_eq!(script(&input, &["-F", "ip"]), script(&output, &["-F", "ip"]), "{}", input.display());
        printed += 1;
    }
    assert!(printed >= 4, "only {printed} recordings");
    note!("{test}: {printed} recordings, in each perf script prints the name and all samples");
}

#[test]
fn deletes_and_duplicates_records() {
    let test = "deleting and duplicating records";
    if !has_program("jq") || !has_program("perf") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut deleted, mut added) = (0, 0);
    for input in kinds() {
        let lines = script(&input, &["-F", "time,ip"]).lines().filter(|line| !line.trim().is_empty()).count();
        let fewer = edit(&input, dir.path(), r#"select(.record != "SAMPLE" or .body.period == null)"#);
        assert_eq!(script(&fewer, &["-F", "ip"]).trim(), "", "{}", input.display());
        deleted += 1;
        let twice = edit(&input, dir.path(), r#"., select(.record == "SAMPLE")"#);
        let now = script(&twice, &["-F", "time,ip"]).lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(now, 2 * lines, "{}", input.display());
        added += 1;
    }
    note!("{test}: deleted in {deleted} recordings, duplicated in {added}, compared with perf script");
    assert!(deleted >= 4 && added >= 4);
}

/// Recordings with SWITCH records: plain, compressed, and with AUX area data.
fn with_switches(dir: &Path) -> Vec<(&'static str, PathBuf)> {
    let has_some = |recording: &Recording| {
        let is_small =
            fs::metadata(&recording.path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20);
        is_small && is_read_by_perf(&recording.path) && to_json(&recording.path, &[]).contains(r#"{"record":"SWITCH"#)
    };
    let plain: Vec<_> = recordings().into_iter().filter(has_some).take(3).map(|recording| recording.path).collect();
    let compressed = |(nr, path): (usize, &PathBuf)| {
        let output = dir.join(format!("compressed-{nr}.data"));
        assert_eq!(
            run(perfconv().arg(path).args(["-f", "--compress", "-t", "perf.data", "-o"]).arg(&output)).status,
            0
        );
        assert!(to_json(&output, &[]).contains(r#"{"record":"COMPRESSED"#), "{}", path.display());
        ("compressed", output)
    };
    let mut recordings: Vec<_> = plain.iter().enumerate().map(compressed).collect();
    recordings.extend(plain.into_iter().map(|path| ("plain", path)));
    recordings.extend(with_auxtrace().map(|path| ("with AUX area data", path)));
    recordings
}

#[test]
fn deletes_switch_records() {
    let test = "deleting SWITCH records";
    if !has_program("jq") || !has_program("perf") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut kinds = BTreeMap::new();
    for (kind, input) in with_switches(dir.path()) {
        let output = edit(&input, dir.path(), r#"select(.record | tostring | startswith("SWITCH") | not)"#);
        let before = script(&input, &["--show-switch-events", "-F", "tid,time,ip"]);
        assert!(before.contains("PERF_RECORD_SWITCH"), "{kind}: {}", input.display());
        let after = script(&output, &["--show-switch-events", "-F", "tid,time,ip"]);
        assert!(!after.contains("PERF_RECORD_SWITCH"), "{kind}: {}", input.display());
        assert!(is_compressed(&output) == (kind == "compressed"), "{}", input.display());
        *kinds.entry(kind).or_insert(0) += 1;
    }
    note!("{test}: {kinds:?} recordings, perf script prints none");
    assert!(!has_corpus(test) || kinds.len() == 3, "{kinds:?}");
}

fn is_compressed(recording: &Path) -> bool {
    to_json(recording, &[]).contains(r#"{"record":"COMPRESSED"#)
}

/// Adds a new record after the first COMM.
const ADD_COMM: &str = r#"., foreach inputs as $o (0; if $o.record == "COMM" then . + 1 else . end; $o,
    if $o.record == "COMM" and . == 1 then
        {record: "COMM", frame: $o.frame, body: {pid: 4242, tid: 4242, comm: "made_by_hand"},
         sample_id: ($o.sample_id | if . then .task = {pid: 4242, tid: 4242} else . end)}
    else empty end)"#;

#[test]
fn adds_a_new_record() {
    let test = "adding a new record";
    if !has_program("jq") || !has_program("perf") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut added, mut of_frames) = (0, 0);
    for input in kinds().into_iter().chain(with_auxtrace()) {
        let output = edit(&input, dir.path(), ADD_COMM);
        let comms = script(&output, &["--show-task-events", "-F", "comm,tid"]);
        assert!(comms.contains("made_by_hand:4242/4242"), "{}:\n{comms}", input.display());
        assert_eq!(script(&input, &["-F", "ip"]), script(&output, &["-F", "ip"]), "{}", input.display());
        added += 1;
        of_frames += usize::from(is_compressed(&output));
    }
    note!("{test}: {added} recordings, {of_frames} of them compressed; perf script prints it");
    assert!(added >= 4 && of_frames >= 1, "only {added} recordings, {of_frames} compressed");
}

const VALIDATE: &str = r#"
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
objects = seen = rejected = 0
kinds = set()
for line in sys.stdin:
    objects += 1
    value = json.loads(line)
    # Check the first object of each kind in the input, and a sample of the others.
    kind = (next(iter(value)), value.get('record'), value.get('feature'), 'frame' in value)
    if kind in kinds and objects % 50:
        continue
    is_new = kind not in kinds
    kinds.add(kind)
    seen += 1
    for error in validator.iter_errors(value):
        sys.exit(f'{line[:200]}: {error.message[:500]}')
    for member in ('body', 'content', 'sample_id', 'attr', 'end'):
        if is_new and isinstance(value.get(member), dict):
            invalid = {**value, member: {**value[member], 'no_such_field': 1}}
            if validator.is_valid(invalid):
                sys.exit(f'{line[:200]}: {member} may have any field')
            rejected += 1
if rejected < len(kinds) / 2:
    sys.exit(f'tested only {rejected} objects of {len(kinds)} kinds with an unknown field')
print(objects, seen, rejected)
"#;

#[test]
fn every_output_conforms_to_the_schema() {
    let test = "every output conforms to the schema";
    if !has_python_module("jsonschema") {
        return;
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
    let dir = tempfile::tempdir().unwrap();
    let all = dir.path().join("all.jsonl");
    let (mut out, mut exported) = (fs::File::create(&all).unwrap(), 0);
    for recording in share(3) {
        let to_json = run(perfconv().arg(&recording.path).args(["-t", "jsonl", "-q", "-o", "-"]));
        if to_json.status == 0 {
            exported += 1;
            out.write_all(&to_json.stdout).unwrap();
        }
    }
    let validate =
        Command::new("python3").args(["-c", VALIDATE]).arg(schema).stdin(fs::File::open(&all).unwrap()).output();
    let validate = validate.unwrap();
    let counts = String::from_utf8_lossy(&validate.stdout).into_owned();
    note!("{test}: {exported} recordings; objects in total, validated, and rejected with an unknown field: {counts}");
    assert!(validate.status.success(), "{}", String::from_utf8_lossy(&validate.stderr));
    assert!(exported >= 20);
}
