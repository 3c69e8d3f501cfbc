//! JSON that was edited with the real jq: perf reads what is made of it and shows the change. The schema tells of every
//! output.

use super::files::{Recording, corpus, fixture, has_corpus, recordings, share};
use super::program::{convert, perfconv, run, run_other};
use perfconv::abi::feature::FeatureId;
use perfconv::abi::record::RecordType;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
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

/// zstd's stream goes on from frame to frame: what is compressed anew must not go on in the middle of perf's.
#[test]
fn a_change_behind_frames_that_stay_loses_nothing() {
    let names = ["compressed.data", "compressed2.data", "lost.data", "pipe-compressed.data", "threads-compressed.dir"];
    for name in names {
        let folder = tempfile::tempdir().unwrap();
        let (json, output) = (folder.path().join("in.jsonl"), folder.path().join("out.data"));
        let ledger = |input: &Path, output: &Path| {
            let run = run(perfconv().arg(input).args(["--strict", "-f", "-o"]).arg(output));
            assert_eq!((run.status, run.warnings().len()), (0, 0), "{name}: {}", run.stderr);
            run.ledger().unwrap()
        };
        let before = ledger(&fixture(name), &json).samples_out;
        let text = fs::read_to_string(&json).unwrap();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        let samples = (0..lines.len()).filter(|&at| lines[at].contains("\"record\":\"SAMPLE\""));
        // The last one of all, and one in the middle.
        let samples: Vec<_> = samples.collect();
        for at in [samples[samples.len() / 2], samples[samples.len() - 1]] {
            let mut object: Json = serde_json::from_str(&lines[at]).unwrap();
            object["body"]["ip"] = "0x1234".into();
            lines[at] = object.to_string();
        }
        fs::write(&json, lines.join("\n")).unwrap();
        ledger(&json, &output);
        let again = folder.path().join("again.jsonl");
        assert_eq!(ledger(&output, &again).samples_out, before, "{name}");
        let changed = fs::read_to_string(&again).unwrap().matches("\"ip\":\"0x1234\"").count();
        assert_eq!(changed, 2, "{name}");
    }
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
    println!("{test}: deleted in {deleted} recordings, added in {added}; perf script shows each");
    assert!(deleted >= 4 && added >= 4);
}

/// The JSON of a recording.
pub fn told(recording: &Path, args: &[&str]) -> String {
    let told = run(perfconv().arg(recording).args(["-t", "jsonl", "-q", "-o", "-"]).args(args));
    assert_eq!(told.status, 0, "{}", told.stderr);
    String::from_utf8(told.stdout).expect("JSON is UTF-8")
}

/// Recordings with switches: plain ones, each compressed, and with AUX area data.
fn with_switches(folder: &Path) -> Vec<(&'static str, PathBuf)> {
    let has_some = |recording: &Recording| {
        let is_small =
            fs::metadata(&recording.path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20);
        is_small && is_read_by_perf(&recording.path) && told(&recording.path, &[]).contains(r#"{"record":"SWITCH"#)
    };
    let plain: Vec<_> = recordings().into_iter().filter(has_some).take(3).map(|recording| recording.path).collect();
    let compressed = |(nr, path): (usize, &PathBuf)| {
        let output = folder.join(format!("compressed-{nr}.data"));
        assert_eq!(
            run(perfconv().arg(path).args(["-f", "--compress", "-t", "perf.data", "-o"]).arg(&output)).status,
            0
        );
        assert!(told(&output, &[]).contains(r#"{"record":"COMPRESSED"#), "{}", path.display());
        ("compressed", output)
    };
    let mut found: Vec<_> = plain.iter().enumerate().map(compressed).collect();
    found.extend(plain.into_iter().map(|path| ("plain", path)));
    found.extend(with_auxtrace().map(|path| ("with AUX area data", path)));
    found
}

#[test]
fn switches_are_deleted() {
    let test = "switches are deleted";
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut kinds = BTreeMap::new();
    for (kind, input) in with_switches(folder.path()) {
        let output = edited(&input, folder.path(), r#"select(.record | tostring | startswith("SWITCH") | not)"#);
        let before = script(&input, &["--show-switch-events", "-F", "tid,time,ip"]);
        assert!(before.contains("PERF_RECORD_SWITCH"), "{kind}: {}", input.display());
        let after = script(&output, &["--show-switch-events", "-F", "tid,time,ip"]);
        assert!(!after.contains("PERF_RECORD_SWITCH"), "{kind}: {}", input.display());
        assert!(is_compressed(&output) == (kind == "compressed"), "{}", input.display());
        *kinds.entry(kind).or_insert(0) += 1;
    }
    println!("{test}: in {kinds:?} recordings, perf script shows none of them");
    assert!(!has_corpus(test) || kinds.len() == 3, "{kinds:?}");
}

fn is_compressed(recording: &Path) -> bool {
    told(recording, &[]).contains(r#"{"record":"COMPRESSED"#)
}

/// Adds a record that no recorder wrote, behind the first COMM.
const BY_HAND: &str = r#"., foreach inputs as $o (0; if $o.record == "COMM" then . + 1 else . end; $o,
    if $o.record == "COMM" and . == 1 then
        {record: "COMM", frame: $o.frame, body: {pid: 4242, tid: 4242, comm: "made_by_hand"},
         sample_id: ($o.sample_id | if . then .task = {pid: 4242, tid: 4242} else . end)}
    else empty end)"#;

#[test]
fn a_record_is_added_by_hand() {
    let test = "a record is added by hand";
    if !has("jq", &["--version"], test) || !has("perf", &["--version"], test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut added, mut of_frames) = (0, 0);
    for input in kinds().into_iter().chain(with_auxtrace()) {
        let output = edited(&input, folder.path(), BY_HAND);
        let comms = script(&output, &["--show-task-events", "-F", "comm,tid"]);
        assert!(comms.contains("made_by_hand:4242/4242"), "{}:\n{comms}", input.display());
        assert_eq!(script(&input, &["-F", "ip"]), script(&output, &["-F", "ip"]), "{}", input.display());
        added += 1;
        of_frames += usize::from(is_compressed(&output));
    }
    println!("{test}: in {added} recordings, {of_frames} of them compressed; perf script shows it");
    assert!(added >= 4 && of_frames >= 1, "only {added} recordings, {of_frames} compressed");
}

#[test]
fn a_pipe_whose_frames_are_written_anew_tells_how_large_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (json, output) = (folder.path().join("in.jsonl"), folder.path().join("out.data"));
    let lines = told(&fixture("pipe-compressed.data"), &[]);
    let small = lines.replacen("\"mmap_len\":528384", "\"mmap_len\":4096", 1);
    assert!(small != lines, "the recording tells its mmap_len");
    for (lines, mmap_len) in [(small.clone(), 4096), (small.replacen("\"period\":", "\"period\":1", 1), 524_288)] {
        fs::write(&json, lines).unwrap();
        let remade = run(perfconv().arg(&json).arg("-f").arg("-o").arg(&output));
        assert_eq!(remade.status, 0, "{}", remade.stderr);
        assert!(told(&output, &[]).contains(&format!("\"mmap_len\":{mmap_len}}}")), "{mmap_len}");
    }
}

#[test]
fn fields_of_tracepoints_are_told_and_not_read_back() {
    let (mut decoded, mut fields) = (0, 0);
    let folder = tempfile::tempdir().unwrap();
    let (json, output) = (folder.path().join("in.jsonl"), folder.path().join("out.data"));
    let is_small =
        |recording: &Recording| fs::metadata(&recording.path).is_ok_and(|told| told.is_file() && told.len() < 1 << 20);
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
    println!("fields of tracepoints: in {fields} samples of {decoded} recordings, which come back as they were");
    let enough = if has_corpus("fields of tracepoints") { 35 } else { 1 };
    assert!(decoded >= enough, "only {decoded} recordings");
}

fn count(text: &[u8], mark: &[u8]) -> usize {
    text.windows(mark.len()).filter(|window| window == &mark).count()
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
        ("{\"record\":\"COMM\"}".to_owned(), "line 1: the first object has no field perfconv"),
        (lines.replacen("\"ip\":\"0x", "\"ip\":\"0x1ffff", 1), "body.ip: "),
        (lines.replacen(",\"tid\":", ",\"t\":1,\"tid\":", 1), ".t: there is no such field"),
        (without(&lines, "\"comm\":"), "missing field `comm`"),
        (lines.replacen("\"record\":\"COMM\"", "\"record\":\"COMM\",\"raw\":\"?\"", 1), "raw: it is no base64"),
        (lines.replacen("\"stored\":", "\"stored\":1000000", 1), "attr: stored: it takes 1000000"),
        (
            lines.replacen("\"record\":\"COMM\"", "\"record\":\"COMM\",\"room\":100000", 1),
            "room: room for more than 4096 zeros",
        ),
        (lines.replacen("{\"record\":\"SAMPLE\"", "{\"record\":7777777777", 1), "record: "),
        (
            lines.replacen("{\"record\":\"SAMPLE\"", "{\"record\":\"SAMPLE\",\"record\":\"COMM\"", 1),
            "record: the field is told twice",
        ),
        (lines.clone() + &lines, "there is something behind the last object"),
        (lines.replacen("\"comm\":\"", "\"comm\":\"\u{1}", 1), "comm: control character"),
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

/// Lines without the first field of that name, which is the last of its object.
fn without(lines: &str, field: &str) -> String {
    let at = lines.find(field).expect("the field is there");
    let end = at + lines[at..].find('}').expect("its object ends");
    format!("{}{}", lines[..at].trim_end_matches(','), &lines[end..])
}

/// Every line of a small recording, cut at every place: told as cut short, or with what is missing, and never written.
#[test]
fn json_that_is_cut_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.data");
    let lines = told(&fixture("plain.data"), &[]);
    let document = run(perfconv().arg(fixture("plain.data")).args(["-t", "json", "-q", "-o", "-"])).stdout;
    let mut cuts = 0;
    for text in [lines.trim_end().as_bytes(), document.trim_ascii_end()] {
        let step = text.len() / 40;
        for len in (0..text.len()).step_by(step).chain([text.len() - 1, text.len() - 2]) {
            let input = folder.path().join("cut.jsonl");
            fs::write(&input, &text[..len]).unwrap();
            let run = run(perfconv().args(["--from", "jsonl"]).arg(&input).arg("-o").arg(&output));
            assert_eq!(run.status, 1, "{len}: {}", run.stderr);
            assert!(run.stderr.contains("cut short") && run.stderr.contains("line "), "{len}: {}", run.stderr);
            assert!(!output.exists(), "{len}");
            cuts += 1;
        }
    }
    println!("JSON cut at {cuts} places is refused");
}

const VALIDATE: &str = r#"
import json, sys, jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
objects = seen = refused = 0
kinds = set()
for line in sys.stdin:
    objects += 1
    told = json.loads(line)
    # Many are alike: of each kind in a recording the first are looked at.
    kind = (next(iter(told)), told.get('record'), told.get('feature'), 'frame' in told)
    if kind in kinds and objects % 50:
        continue
    is_new = kind not in kinds
    kinds.add(kind)
    seen += 1
    for error in validator.iter_errors(told):
        sys.exit(f'{line[:200]}: {error.message[:500]}')
    for place in ('body', 'content', 'sample_id', 'attr', 'end'):
        if is_new and isinstance(told.get(place), dict):
            wrong = {**told, place: {**told[place], 'no_such_field': 1}}
            if validator.is_valid(wrong):
                sys.exit(f'{line[:200]}: {place} may have any field')
            refused += 1
if refused < len(kinds) / 2:
    sys.exit(f'only {refused} objects of {len(kinds)} kinds were tried with a field that there is not')
print(objects, seen, refused)
"#;

#[test]
fn the_schema_has_every_record_and_feature() {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
    let schema: Json = serde_json::from_slice(&fs::read(schema).unwrap()).unwrap();
    let named = |kind: &str| {
        let names = schema["$defs"][kind]["oneOf"][0]["enum"].as_array().expect("it has names");
        names.iter().map(|name| name.as_str().expect("names are strings").to_owned()).collect::<BTreeSet<_>>()
    };
    let with_fields = |object: &str, key: &str| {
        let cases = schema["$defs"][object]["allOf"].as_array().expect("it has cases");
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
fn every_output_is_of_the_schema() {
    let test = "every output is of the schema";
    if !has("python3", &["-c", "import jsonschema"], test) {
        return;
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.schema.json");
    let folder = tempfile::tempdir().unwrap();
    let all = folder.path().join("all.jsonl");
    let (mut out, mut recordings_told) = (fs::File::create(&all).unwrap(), 0);
    for recording in share(3) {
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
    println!(
        "{test}: {recordings_told} recordings; objects in all, looked at, and refused with another field: {counts}"
    );
    assert!(validate.status.success(), "{}", String::from_utf8_lossy(&validate.stderr));
    assert!(recordings_told >= 20);
}
