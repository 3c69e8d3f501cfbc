//! JSON that tells of a record what its event does not have, or of a folder what must not be there, is refused; what a
//! folder holds beside the recording comes back.

use super::files::fixture;
use super::json::told;
use super::program::{perfconv, run};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;

/// Of which recording one record of a type is changed and how, and what is said.
type Edit = (&'static str, &'static str, fn(&mut Json), &'static str);

/// A field that a record must not have or must have makes no record that is read as something else.
#[test]
fn fields_that_the_event_does_not_have_are_refused_with_line_and_field() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("wrong.jsonl"), folder.path().join("out.data"));
    let edits: &[Edit] = &[
        (
            "callgraph.data",
            "SAMPLE",
            |o| drop(body(o).remove("period")),
            "body.period: the field is missing: the event's sample_type has PERIOD",
        ),
        ("callgraph.data", "SAMPLE", |o| drop(body(o).remove("callchain")), "body.callchain: the field is missing"),
        (
            "callgraph.data",
            "SAMPLE",
            |o| drop(body(o).insert("addr".into(), "0x1".into())),
            "body.addr: the event's sample_type has no ADDR",
        ),
        // As many bytes as there must be.
        (
            "callgraph.data",
            "SAMPLE",
            |o| {
                body(o).remove("period");
                body(o).insert("addr".into(), "0x1".into());
            },
            "body.period: the field is missing",
        ),
        ("two-events.data", "SAMPLE", |o| drop(body(o).remove("id")), "body.id: the field is missing"),
        ("pipe.data", "SAMPLE", |o| drop(body(o).remove("ip")), "body.ip: the field is missing"),
        ("compressed.data", "SAMPLE", |o| drop(body(o).remove("time")), "body.time: the field is missing"),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o["sample_id"].as_object_mut().unwrap().remove("time")),
            "sample_id.time: the field is missing: the event's sample_type has TIME",
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
            "sample_id: the field is missing: the event has SAMPLE_ID_ALL",
        ),
        (
            "group-read.data",
            "EXIT",
            |o| drop(o.as_object_mut().unwrap().remove("sample_id")),
            "sample_id: the field is missing: the event has SAMPLE_ID_ALL",
        ),
        (
            "tracepoints.data",
            "COMM",
            |o| drop(o.as_object_mut().unwrap().remove("sample_id")),
            "sample_id: the field is missing: the event has SAMPLE_ID_ALL",
        ),
        (
            "group-read.data",
            "COMM",
            |o| o["sample_id"]["id"] = 4242.into(),
            "sample_id: there is no event that has this id",
        ),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o.as_object_mut().unwrap().insert("payload".into(), "AAAA".into())),
            "payload: no bytes follow a COMM",
        ),
        (
            "callgraph.data",
            "COMM",
            |o| drop(o.as_object_mut().unwrap().insert("frame".into(), 1.into())),
            "frame: no frame is told before",
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
            "body.read.group.id: the field is missing: the event's read_format has ID",
        ),
    ];
    for &(name, kind, edit, message) in edits {
        let lines = told(&fixture(name), &[]);
        let mut lines: Vec<_> = lines.lines().map(str::to_owned).collect();
        let mark = format!("{{\"record\":\"{kind}\"");
        let found: Vec<_> = (0..lines.len()).filter(|&at| lines[at].starts_with(&mark)).collect();
        // One in the middle: what was read before is forgotten again.
        let at = found[found.len() / 2];
        let mut object: Json = serde_json::from_str(&lines[at]).unwrap();
        let before = object.clone();
        edit(&mut object);
        assert!(object != before, "{name}: {message}: nothing is changed");
        lines[at] = object.to_string();
        fs::write(&input, lines.join("\n")).unwrap();
        let run = run(perfconv().arg(&input).arg("-o").arg(&output));
        assert_eq!(run.status, 1, "{name}: {message}: {}", run.stderr);
        let told = format!("line {}: {message}", at + 1);
        assert!(run.stderr.contains(&told), "{name}: {told}: {}", run.stderr);
        assert!(!output.exists(), "{name}: {message}");
    }
    println!("{} edits are refused", edits.len());
}

fn body(object: &mut Json) -> &mut serde_json::Map<String, Json> {
    object["body"].as_object_mut().expect("it has a body")
}

fn group(object: &mut Json) -> &mut serde_json::Map<String, Json> {
    body(object)["read"]["group"].as_object_mut().expect("it has values of a group")
}

/// Copies a folder of files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// As `perf record --kcore` leaves it.
#[test]
fn what_a_folder_holds_beside_the_recording_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let (input, json, output) =
        (folder.path().join("in.data"), folder.path().join("in.jsonl"), folder.path().join("out.data"));
    copy(&fixture("threads.dir"), &input);
    fs::create_dir(input.join("kcore_dir")).unwrap();
    let kcore: Vec<u8> = (0..1_000_000_u32).flat_map(|at| (at / 3).to_le_bytes()).collect();
    fs::write(input.join("kcore_dir/kcore"), &kcore).unwrap();
    fs::write(input.join("kcore_dir/kallsyms"), "ffffffff81000000 T _text\n").unwrap();
    fs::write(input.join("kcore_dir/modules"), "").unwrap();
    for arguments in [["-t", "jsonl"], ["-t", "json"]] {
        let written = run(perfconv().arg(&input).args(arguments).args(["-f", "--strict", "-o"]).arg(&json));
        assert_eq!((written.status, written.warnings().len()), (0, 0), "{}", written.stderr);
        let again = run(perfconv().arg(&json).args(["--from", arguments[1], "--strict", "-f", "-o"]).arg(&output));
        assert_eq!((again.status, again.warnings().len()), (0, 0), "{}", again.stderr);
        for name in ["data", "kcore_dir/kcore", "kcore_dir/kallsyms", "kcore_dir/modules"] {
            assert!(fs::read(input.join(name)).unwrap() == fs::read(output.join(name)).unwrap(), "{name}");
        }
    }
    let lines = told(&input, &[]);
    let wrong = [
        (lines.replace("kcore_dir/kallsyms", "../kallsyms"), "other: it must be a path"),
        (lines.replace("kcore_dir/kallsyms", "/tmp/kallsyms"), "other: it must be a path"),
        (lines.replace("kcore_dir/kallsyms", "data.7"), "other: it must be a path"),
        (lines.replacen(",\"bytes\":", ",\"room\":1,\"byte\":", 1), "byte: there is no such field"),
        (lines.replace("\"container\":\"directory\"", "\"container\":\"file\""), "only a directory has other files"),
    ];
    for (text, message) in wrong {
        // Files of records are not what this is about.
        let text: Vec<_> = text.lines().filter(|line| !line.starts_with("{\"file\":")).collect();
        fs::write(&json, text.join("\n")).unwrap();
        let refused = run(perfconv().arg(&json).arg("-o").arg(folder.path().join("none.data")));
        assert_eq!(refused.status, 1, "{message}: {}", refused.stderr);
        assert!(refused.stderr.contains(message), "{message}: {}", refused.stderr);
        assert!(!folder.path().join("none.data").exists() && !folder.path().join("kallsyms").exists(), "{message}");
    }
}
