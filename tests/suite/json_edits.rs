//! Imports of edited JSON: records that contradict their event and invalid files of a directory are rejected; other files of a
//! directory are preserved.

use crate::common::files::fixture;
use crate::common::json::to_json;
use crate::common::program::{perfconv, run};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// An edit: the recording, the type of the edited record, the edit, and the expected message.
type Edit = (&'static str, &'static str, fn(&mut Json), &'static str);

/// A missing or superfluous field must never be read as another one.
#[test]
fn rejects_fields_that_do_not_match_the_event() {
    let dir = tempfile::tempdir().unwrap();
    let (input, output) = (dir.path().join("invalid.jsonl"), dir.path().join("out.data"));
    let edits: &[Edit] = &[
        (
            "callgraph.data",
            "SAMPLE",
            |o| drop(body(o).remove("period")),
            "body.period: missing field: the event's sample_type has PERIOD",
        ),
        ("callgraph.data", "SAMPLE", |o| drop(body(o).remove("callchain")), "body.callchain: missing field"),
        (
            "callgraph.data",
            "SAMPLE",
            |o| drop(body(o).insert("addr".into(), "0x1".into())),
            "body.addr: the event's sample_type has no ADDR",
        ),
        // With the same size.
        (
            "callgraph.data",
            "SAMPLE",
            |o| {
                body(o).remove("period");
                body(o).insert("addr".into(), "0x1".into());
            },
            "body.period: missing field",
        ),
        ("two-events.data", "SAMPLE", |o| drop(body(o).remove("id")), "body.id: missing field"),
        ("pipe.data", "SAMPLE", |o| drop(body(o).remove("ip")), "body.ip: missing field"),
        ("compressed.data", "SAMPLE", |o| drop(body(o).remove("time")), "body.time: missing field"),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o["sample_id"].as_object_mut().unwrap().remove("time")),
            "sample_id.time: missing field: the event's sample_type has TIME",
        ),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o["sample_id"].as_object_mut().unwrap().insert("stream_id".into(), 1.into())),
            "sample_id.stream_id: the event's sample_type has no STREAM_ID",
        ),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o.as_object_mut().unwrap().remove("sample_id")),
            "sample_id: missing field: the event has SAMPLE_ID_ALL",
        ),
        (
            "group-read.data",
            "EXIT",
            |o| drop(o.as_object_mut().unwrap().remove("sample_id")),
            "sample_id: missing field: the event has SAMPLE_ID_ALL",
        ),
        (
            "tracepoints.data",
            "COMM",
            |o| drop(o.as_object_mut().unwrap().remove("sample_id")),
            "sample_id: missing field: the event has SAMPLE_ID_ALL",
        ),
        ("group-read.data", "COMM", |o| o["sample_id"]["id"] = 4242.into(), "sample_id: no event has this ID"),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o.as_object_mut().unwrap().insert("payload".into(), "AAAA".into())),
            "payload: a COMM record has no payload",
        ),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o.as_object_mut().unwrap().insert("frame".into(), 1.into())),
            "frame: no frame precedes this record",
        ),
        (
            "group-read.data",
            "SAMPLE",
            |o| drop(group(o).insert("time_enabled".into(), 1.into())),
            "body.read.group.time_enabled: the event's read_format has no TOTAL_TIME_ENABLED",
        ),
        (
            "group-read.data",
            "SAMPLE",
            |o| drop(group(o)["values"][1].as_object_mut().unwrap().remove("id")),
            "body.read.group.id: missing field: the event's read_format has ID",
        ),
    ];
    for &(name, kind, edit, message) in edits {
        let lines = to_json(&fixture(name), &[]);
        let mut lines: Vec<_> = lines.lines().map(str::to_owned).collect();
        let mark = format!("{{\"record\":\"{kind}\"");
        let found: Vec<_> = (0..lines.len()).filter(|&at| lines[at].starts_with(&mark)).collect();
        // Edit a record in the middle, so that records before it were already read.
        let at = found[found.len() / 2];
        let mut object: Json = serde_json::from_str(&lines[at]).unwrap();
        let before = object.clone();
        edit(&mut object);
        assert!(object != before, "{name}: {message}: the edit should change the record");
        lines[at] = object.to_string();
        fs::write(&input, lines.join("\n")).unwrap();
        let run = run(perfconv().arg(&input).arg("-o").arg(&output));
        assert_eq!(run.status, 1, "{name}: {message}: {}", run.stderr);
        let expected = format!("line {}: {message}", at + 1);
        assert!(run.stderr.contains(&expected), "{name}: {expected}: {}", run.stderr);
        assert!(!output.exists(), "{name}: {message}");
    }
    note!("{} edits are rejected", edits.len());
}

fn body(object: &mut Json) -> &mut serde_json::Map<String, Json> {
    object["body"].as_object_mut().expect("a record with a body")
}

fn group(object: &mut Json) -> &mut serde_json::Map<String, Json> {
    body(object)["read"]["group"].as_object_mut().expect("values of a group")
}

/// Copies the files of a directory.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// The directory is like that of `perf record --kcore`.
#[test]
fn preserves_other_files_of_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (input, json, output) = (dir.path().join("in.data"), dir.path().join("in.jsonl"), dir.path().join("out.data"));
    copy(&fixture("threads.dir"), &input);
    fs::create_dir(input.join("kcore_dir")).unwrap();
    let kcore: Vec<u8> = (0..1_000_000_u32).flat_map(|at| (at / 3).to_le_bytes()).collect();
    fs::write(input.join("kcore_dir/kcore"), &kcore).unwrap();
    fs::write(input.join("kcore_dir/kallsyms"), "ffffffff81000000 T _text\n").unwrap();
    fs::write(input.join("kcore_dir/modules"), "").unwrap();
    for arguments in [["-t", "jsonl"], ["-t", "json"]] {
        let written = run(perfconv().arg(&input).args(arguments).args(["-f", "--strict", "-o"]).arg(&json));
        assert_eq!((written.status, written.warnings().len()), (0, 0), "{}", written.stderr);
        let imported = run(perfconv().arg(&json).args(["--from", arguments[1], "--strict", "-f", "-o"]).arg(&output));
        assert_eq!((imported.status, imported.warnings().len()), (0, 0), "{}", imported.stderr);
        for name in ["data", "kcore_dir/kcore", "kcore_dir/kallsyms", "kcore_dir/modules"] {
            assert!(fs::read(input.join(name)).unwrap() == fs::read(output.join(name)).unwrap(), "{name}");
        }
    }
    let lines = to_json(&input, &[]);
    let invalid = [
        (lines.replace("kcore_dir/kallsyms", "../kallsyms"), "other: expected a path"),
        (lines.replace("kcore_dir/kallsyms", "/tmp/kallsyms"), "other: expected a path"),
        (lines.replace("kcore_dir/kallsyms", "data.7"), "other: expected a path"),
        (lines.replacen(",\"bytes\":", ",\"room\":1,\"byte\":", 1), "byte: unknown field"),
        (
            lines.replace("\"container\":\"directory\"", "\"container\":\"file\""),
            "only a directory recording has other files",
        ),
    ];
    for (text, message) in invalid {
        // Omit the record files, which this test does not need.
        let text: Vec<_> = text.lines().filter(|line| !line.starts_with("{\"file\":")).collect();
        fs::write(&json, text.join("\n")).unwrap();
        let rejected = run(perfconv().arg(&json).arg("-o").arg(dir.path().join("none.data")));
        assert_eq!(rejected.status, 1, "{message}: {}", rejected.stderr);
        assert!(rejected.stderr.contains(message), "{message}: {}", rejected.stderr);
        assert!(!dir.path().join("none.data").exists() && !dir.path().join("kallsyms").exists(), "{message}");
    }
}
