//! JSON edited with jq: perf reads the recording imported from it and prints the change. All outputs conform to the schema.

use super::files::{Recording, corpus, fixture, has_corpus, recordings, share};
use super::program::{convert, perfconv, run, run_other};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether a program is installed. If not, prints a note.
fn has(program: &str, args: &[&str], test: &str) -> bool {
    let is_installed = Command::new(program).args(args).output().is_ok_and(|output| output.status.success());
    if !is_installed {
        // Not with the print macros, whose output the test harness captures.
        let mut out = std::io::stderr();
        writeln!(out, "{test}: skipped: no {program} {}", args.join(" ")).unwrap();
    }
    is_installed
}

/// Exports a recording to JSON, edits it with jq and imports it.
fn edit(input: &Path, dir: &Path, filter: &str) -> PathBuf {
    let (json, edited, output) = (dir.join("in.jsonl"), dir.join("edited.jsonl"), dir.join("out.data"));
    let written = run(perfconv().arg(input).arg("-f").arg("-o").arg(&json));
    assert_eq!(written.status, 0, "{}", written.stderr);
    let jq = run_other(Command::new("jq").arg("-c").arg(filter).arg(&json));
    assert_eq!(jq.status, 0, "{}", jq.stderr);
    assert!(jq.stdout != fs::read(&json).unwrap(), "{filter} should change {}", input.display());
    fs::write(&edited, jq.stdout).unwrap();
    let imported = run(perfconv().arg(&edited).arg("-f").arg("-o").arg(&output));
    assert_eq!(imported.status, 0, "{filter}: {}", imported.stderr);
    output
}

fn script(recording: &Path, args: &[&str]) -> String {
    let printed = run_other(Command::new("perf").arg("script").arg("-f").args(args).arg("-i").arg(recording));
    assert_eq!(printed.status, 0, "{}: {}", recording.display(), printed.stderr);
    String::from_utf8_lossy(&printed.stdout).into_owned()
}

/// A zstd stream spans frames: recompressed frames must not depend on perf's earlier ones.
#[test]
fn edits_after_unchanged_frames_lose_nothing() {
    let names = ["compressed.data", "compressed2.data", "lost.data", "pipe-compressed.data", "threads-compressed.dir"];
    for name in names {
        let dir = tempfile::tempdir().unwrap();
        let (json, output) = (dir.path().join("in.jsonl"), dir.path().join("out.data"));
        let ledger = |input: &Path, output: &Path| {
            let run = run(perfconv().arg(input).args(["--strict", "-f", "-o"]).arg(output));
            assert_eq!((run.status, run.warnings().len()), (0, 0), "{name}: {}", run.stderr);
            run.ledger().unwrap()
        };
        let before = ledger(&fixture(name), &json).samples_out;
        let text = fs::read_to_string(&json).unwrap();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        let samples = (0..lines.len()).filter(|&at| lines[at].contains("\"record\":\"SAMPLE\""));
        // Edit the last sample, and one in the middle.
        let samples: Vec<_> = samples.collect();
        for at in [samples[samples.len() / 2], samples[samples.len() - 1]] {
            let mut object: Json = serde_json::from_str(&lines[at]).unwrap();
            object["body"]["ip"] = "0x1234".into();
            lines[at] = object.to_string();
        }
        fs::write(&json, lines.join("\n")).unwrap();
        ledger(&json, &output);
        let exported = dir.path().join("exported.jsonl");
        assert_eq!(ledger(&output, &exported).samples_out, before, "{name}");
        let changed = fs::read_to_string(&exported).unwrap().matches("\"ip\":\"0x1234\"").count();
        assert_eq!(changed, 2, "{name}");
    }
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
        println!("skipped: the installed perf cannot read {}: {}", path.display(), printed.stderr.trim());
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
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
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
    println!("{test}: {printed} recordings, in each perf script prints the name and all samples");
}

#[test]
fn deletes_and_duplicates_records() {
    let test = "deleting and duplicating records";
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
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
    println!("{test}: deleted in {deleted} recordings, duplicated in {added}, compared with perf script");
    assert!(deleted >= 4 && added >= 4);
}

/// Exports a recording to JSON Lines.
pub(super) fn to_json(recording: &Path, args: &[&str]) -> String {
    let to_json = run(perfconv().arg(recording).args(["-t", "jsonl", "-q", "-o", "-"]).args(args));
    assert_eq!(to_json.status, 0, "{}", to_json.stderr);
    String::from_utf8(to_json.stdout).expect("JSON should be UTF-8")
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
    let mut found: Vec<_> = plain.iter().enumerate().map(compressed).collect();
    found.extend(plain.into_iter().map(|path| ("plain", path)));
    found.extend(with_auxtrace().map(|path| ("with AUX area data", path)));
    found
}

#[test]
fn deletes_switch_records() {
    let test = "deleting SWITCH records";
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
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
    println!("{test}: {kinds:?} recordings, perf script prints none");
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
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
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
    println!("{test}: {added} recordings, {of_frames} of them compressed; perf script prints it");
    assert!(added >= 4 && of_frames >= 1, "only {added} recordings, {of_frames} compressed");
}

#[test]
fn recompressing_a_pipe_updates_mmap_len() {
    let dir = tempfile::tempdir().unwrap();
    let (json, output) = (dir.path().join("in.jsonl"), dir.path().join("out.data"));
    let lines = to_json(&fixture("pipe-compressed.data"), &[]);
    let small = lines.replacen("\"mmap_len\":528384", "\"mmap_len\":4096", 1);
    assert!(small != lines, "the recording should have mmap_len");
    for (lines, mmap_len) in [(small.clone(), 4096), (small.replacen("\"period\":", "\"period\":1", 1), 524_288)] {
        fs::write(&json, lines).unwrap();
        let imported = run(perfconv().arg(&json).arg("-f").arg("-o").arg(&output));
        assert_eq!(imported.status, 0, "{}", imported.stderr);
        assert!(to_json(&output, &[]).contains(&format!("\"mmap_len\":{mmap_len}}}")), "{mmap_len}");
    }
}

#[test]
fn decoded_tracepoint_fields_are_ignored_on_import() {
    let (mut decoded, mut fields) = (0, 0);
    let dir = tempfile::tempdir().unwrap();
    let (json, output) = (dir.path().join("in.jsonl"), dir.path().join("out.data"));
    let is_small = |recording: &Recording| {
        fs::metadata(&recording.path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20)
    };
    for recording in recordings().iter().filter(|recording| is_small(recording)) {
        let convert =
            |args: &[&str]| run(perfconv().arg(&recording.path).args(["-t", "jsonl", "-q", "-o", "-"]).args(args));
        let with = convert(&["--decode", "tracepoints"]);
        let found = count(&with.stdout, b",\"tracepoint\":{\"");
        if found == 0 {
            continue;
        }
        assert_eq!(count(&convert(&[]).stdout, b"\"tracepoint\":"), 0, "{}", recording.name);
        (decoded, fields) = (decoded + 1, fields + found);
        let file = String::from_utf8(with.stdout)
            .unwrap()
            .replace(",\"tracepoint\":{\"", ",\"tracepoint\":{\"edited\":1.5,\"");
        fs::write(&json, file).unwrap();
        assert_eq!(run(perfconv().arg(&json).arg("-f").arg("-o").arg(&output)).status, 0, "{}", recording.name);
        assert!(fs::read(&output).unwrap() == fs::read(&recording.path).unwrap(), "{}", recording.name);
    }
    println!("fields of tracepoints: in {fields} samples of {decoded} recordings, imported unchanged");
    let enough = if has_corpus("fields of tracepoints") { 35 } else { 1 };
    assert!(decoded >= enough, "only {decoded} recordings");
}

fn count(text: &[u8], mark: &[u8]) -> usize {
    text.windows(mark.len()).filter(|window| window == &mark).count()
}

#[test]
fn errors_name_line_and_field_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("in.jsonl");
    assert_eq!(convert(&fixture("plain.data"), &json).status, 0);
    let lines = fs::read_to_string(&json).unwrap();
    let without_end = lines.lines().filter(|line| !line.starts_with("{\"end\"")).collect::<Vec<_>>().join("\n");
    let invalid = [
        (lines.replacen("\"perfconv\":1", "\"perfconv\":2", 1), "line 1: perfconv: unknown version 2"),
        (lines.replacen("\"record\":\"COMM\"", "\"record\":\"COMMA\"", 1), "record: invalid value: string \"COMMA\""),
        (lines.replacen("\"tid\":", "\"tdi\":", 1), "tdi: unknown field"),
        (lines.replacen("\"pid\":", "\"pid\":99999999999,\"x\":", 1), "pid: invalid value: integer `99999999999`"),
        (lines.replacen("\"comm\":", "\"comma\":", 1), "comma: unknown field"),
        (without_end, "the last object, end, is missing: the file is truncated"),
        (lines[..lines.len() / 2].to_owned(), "the object is truncated"),
        ("[{\"perfconv\":1}]".to_owned(), "line 1: container: missing field"),
        ("{\"a\":1}".to_owned(), "line 1: a: unknown field"),
        ("{\"record\":\"COMM\"}".to_owned(), "line 1: the first object has no field perfconv"),
        (lines.replacen("\"ip\":\"0x", "\"ip\":\"0x1ffff", 1), "body.ip: "),
        (lines.replacen(",\"tid\":", ",\"t\":1,\"tid\":", 1), ".t: unknown field"),
        (without(&lines, "\"comm\":"), "missing field `comm`"),
        (lines.replacen("\"record\":\"COMM\"", "\"record\":\"COMM\",\"raw\":\"?\"", 1), "raw: invalid base64"),
        (lines.replacen("\"stored\":", "\"stored\":1000000", 1), "attr: stored: size 1000000"),
        (
            lines.replacen("\"record\":\"COMM\"", "\"record\":\"COMM\",\"room\":100000", 1),
            "room: more than 4096 bytes of padding",
        ),
        (lines.replacen("{\"record\":\"SAMPLE\"", "{\"record\":7777777777", 1), "record: "),
        (
            lines.replacen("{\"record\":\"SAMPLE\"", "{\"record\":\"SAMPLE\",\"record\":\"COMM\"", 1),
            "record: duplicate field",
        ),
        (lines.clone() + &lines, "found an object after the last one"),
        (lines.replacen("\"comm\":\"", "\"comm\":\"\u{1}", 1), "comm: control character"),
        ("[1]".to_owned(), "line 1: expected an object, found '1'"),
        (
            "{\"perfconv\":1,\"container\":\"directory\",\"endian\":\"little\",\"files\":[\"../data\"]}".into(),
            "line 1: files",
        ),
    ];
    for (text, message) in invalid {
        let (input, output) = (dir.path().join("invalid.jsonl"), dir.path().join("out.data"));
        fs::write(&input, text).unwrap();
        let run = run(perfconv().args(["--from", "jsonl"]).arg(&input).arg("-o").arg(&output));
        assert_eq!(run.status, 1, "{message}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{message}: {}", run.stderr);
        assert!(!output.exists(), "{message}");
    }
}

/// Removes the first field of that name, which must be the last of its object.
fn without(lines: &str, field: &str) -> String {
    let at = lines.find(field).expect("the field should be present");
    let end = at + lines[at..].find('}').expect("the object should end");
    format!("{}{}", lines[..at].trim_end_matches(','), &lines[end..])
}

/// Truncates the JSON of a small recording at many places.
#[test]
fn rejects_truncated_json() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out.data");
    let lines = to_json(&fixture("plain.data"), &[]);
    let document = run(perfconv().arg(fixture("plain.data")).args(["-t", "json", "-q", "-o", "-"])).stdout;
    let mut truncations = 0;
    for text in [lines.trim_end().as_bytes(), document.trim_ascii_end()] {
        let step = text.len() / 40;
        for len in (0..text.len()).step_by(step).chain([text.len() - 1, text.len() - 2]) {
            let input = dir.path().join("truncated.jsonl");
            fs::write(&input, &text[..len]).unwrap();
            let run = run(perfconv().args(["--from", "jsonl"]).arg(&input).arg("-o").arg(&output));
            assert_eq!(run.status, 1, "{len}: {}", run.stderr);
            assert!(run.stderr.contains("truncated") && run.stderr.contains("line "), "{len}: {}", run.stderr);
            assert!(!output.exists(), "{len}");
            truncations += 1;
        }
    }
    println!("JSON truncated at {truncations} places is rejected");
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
fn schema_covers_every_record_and_feature() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
    let schema: Json = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    let named = |kind: &str| {
        let names = schema["$defs"][kind]["oneOf"][0]["enum"].as_array().expect("it should have names");
        names.iter().map(|name| name.as_str().expect("names should be strings").to_owned()).collect::<BTreeSet<_>>()
    };
    let with_fields = |object: &str, key: &str| {
        let cases = schema["$defs"][object]["allOf"].as_array().expect("the schema should have cases");
        let names = cases.iter().filter_map(|case| case["if"]["properties"][key]["const"].as_str());
        names.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let records: BTreeSet<_> = RecordType::NAMED.iter().map(|(_, name)| (*name).to_owned()).collect();
    let features: BTreeSet<_> = FeatureId::NAMED.iter().map(|(_, name)| (*name).to_owned()).collect();
    assert_eq!((named("RecordType"), named("FeatureId")), (records.clone(), features.clone()));
    assert_eq!(with_fields("record", "record"), records);
    assert_eq!(with_fields("record", "feature"), features);
    assert_eq!(with_fields("feature", "feature"), features);
}

#[test]
fn every_output_conforms_to_the_schema() {
    let test = "every output conforms to the schema";
    if !has("python3", &["-c", "import jsonschema"], test) {
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
    println!(
        "{test}: {exported} recordings; objects in total, validated, and rejected with an unknown field: {counts}"
    );
    assert!(validate.status.success(), "{}", String::from_utf8_lossy(&validate.stderr));
    assert!(exported >= 20);
}
