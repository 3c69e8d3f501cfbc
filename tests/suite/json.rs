//! JSON Lines: edits, errors and the schema.

use crate::common::files::{Recording, fixture, has_corpus, recordings};
use crate::common::json::to_json;
use crate::common::program::{convert, perfconv, run, succeed};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use serde_json::Value as Json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

#[test]
fn recompressing_a_pipe_updates_mmap_len() {
    let dir = tempfile::tempdir().unwrap();
    let (json, output) = (dir.path().join("in.jsonl"), dir.path().join("out.data"));
    let lines = to_json(&fixture("pipe-compressed.data"), &[]);
    let small = lines.replacen("\"mmap_len\":528384", "\"mmap_len\":4096", 1);
    assert!(small != lines, "the recording should have mmap_len");
    for (lines, mmap_len) in [(small.clone(), 4096), (small.replacen("\"period\":", "\"period\":1", 1), 524_288)] {
        fs::write(&json, lines).unwrap();
        succeed(perfconv().arg(&json).arg("-f").arg("-o").arg(&output));
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
        succeed(perfconv().arg(&json).arg("-f").arg("-o").arg(&output));
        assert!(fs::read(&output).unwrap() == fs::read(&recording.path).unwrap(), "{}", recording.name);
    }
    note!("fields of tracepoints: in {fields} samples of {decoded} recordings, imported unchanged");
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
    note!("JSON truncated at {truncations} places is rejected");
}

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
