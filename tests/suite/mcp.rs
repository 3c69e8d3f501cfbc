//! `perfconv mcp`: messages, questions about recordings, and which files may be read.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run, succeed};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn symbols(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(name)
}

/// The answers to lines, by a server with these arguments.
pub(super) fn answers(server: &mut Command, lines: &[Vec<u8>]) -> Vec<Value> {
    let mut child = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program should start");
    let input = lines.iter().flat_map(|line| line.iter().copied().chain(*b"\n")).collect::<Vec<u8>>();
    child.stdin.take().expect("a pipe").write_all(&input).expect("the server should read");
    let output = child.wait_with_output().expect("an exit status");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

pub(super) fn server(arguments: &[&Path]) -> Command {
    let mut command = perfconv();
    command.arg("mcp").args(arguments).env("HOME", "/nonexistent");
    command
}

pub(super) fn question(name: &str, arguments: Value) -> Vec<u8> {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string().into_bytes()
}

/// The text of an answer, and whether it is an error.
pub(super) fn text(answer: &Value) -> (&str, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"));
    (text, result["isError"].as_bool().expect("whether it is an error"))
}

/// Questions that people have about a recording, each with a part of its answer.
#[test]
fn questions_about_a_recording_have_short_answers() {
    let questions = [
        ("summary", json!({}), r#""samples":1309"#),
        ("functions", json!({}), r#""sym":"main""#),
        ("functions", json!({ "by_self": true }), "Smith::strike"),
        ("functions", json!({ "group_by": "comm" }), r#""comm":"smith""#),
        ("functions", json!({ "group_by": "dso", "event": "cpu-clock" }), r#""dso":"foundry-fp""#),
        ("search", json!({ "pattern": "sort_heap" }), "std::sort_heap<unsigned int*"),
        ("callers", json!({ "function": "heap_phase" }), r#""sym":"main""#),
        ("callees", json!({ "function": "foundry::v2::heap_phase" }), "std::sort_heap<unsigned int*"),
        ("tree", json!({ "percent_limit": 5 }), r#""calls":["#),
        ("lines", json!({ "function": "local_phase" }), "/srv/sym/src/foundry.cpp"),
        ("annotate", json!({ "function": "heap_phase" }), r#""instruction":"call 0x"#),
        ("diff", json!({ "base": "words.data", "file": "cxx.data" }), r#""change":"#),
    ];
    let lines: Vec<_> = questions
        .iter()
        .map(|(name, arguments, _)| {
            let mut arguments = arguments.clone();
            arguments["file"] = "cxx.data".into();
            question(name, arguments)
        })
        .collect();
    let mut server = server(&[&symbols("cxx.data"), &symbols("words.data")]);
    let answers = answers(server.args(["--", "--symfs"]).arg(symbols("files")), &lines);
    assert_eq!(answers.len(), questions.len());
    for ((name, arguments, expected), answer) in questions.iter().zip(&answers) {
        let (text, is_error) = text(answer);
        assert!(!is_error && text.len() <= 4000 && text.contains(expected), "{name} {arguments}: {text}");
        serde_json::from_str::<Value>(text).expect("JSON");
    }
    // The answer is that of the command line.
    let mut report = perfconv();
    report.args(["report", "--json", "-q", "--callers", "heap_phase", "--max-bytes", "4000", "--symfs"]);
    let report = succeed(report.arg(symbols("files")).arg(symbols("cxx.data")).env("HOME", "/nonexistent"));
    assert_eq!(text(&answers[6]).0, String::from_utf8(report.stdout).expect("UTF-8").trim_end());
}

#[test]
fn long_answers_are_continued() {
    let recording = symbols("cxx.data");
    let (mut offset, mut count) = (json!(0), 0);
    while !offset.is_null() {
        let question = question("functions", json!({ "offset": offset, "max_bytes": 1000 }));
        let answers = answers(&mut server(&[&recording]), &[question]);
        let (text, _) = text(&answers[0]);
        assert!(text.len() <= 1000, "{text}");
        let part: Value = serde_json::from_str(text).expect("JSON");
        count += part["entries"].as_array().expect("entries").len();
        assert!(count < 10_000);
        offset = part["next_offset"].clone();
    }
    let whole = succeed(perfconv().args(["report", "--json", "-q", "--sort", "sym"]).arg(&recording));
    let whole: Value = serde_json::from_slice(&whole.stdout).expect("JSON");
    assert_eq!(count, whole["entries"].as_array().expect("entries").len());
}

#[test]
fn malformed_messages_do_not_end_the_server() {
    let ping = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }).to_string().into_bytes();
    let lines = [
        b"{".to_vec(),
        b"[1]".to_vec(),
        b"\xff\xfe".to_vec(),
        b"".to_vec(),
        json!({ "method": "notifications/initialized" }).to_string().into_bytes(),
        vec![b'x'; 3 << 20],
        json!({ "id": 2, "method": "resources/list" }).to_string().into_bytes(),
        json!({ "id": 4 }).to_string().into_bytes(),
        json!({ "id": 5, "result": {} }).to_string().into_bytes(),
        question("functions", json!([1, 2])),
        question("functions", json!({ "limit": 3 })),
        question("functions", json!({ "event": {} })),
        question("search", json!({})),
        question("search", json!({ "pattern": "--output=/tmp/x" })),
        ping(7),
    ];
    let answers = answers(&mut server(&[&fixture("callgraph.data")]), &lines);
    let codes: Vec<_> = answers.iter().map(|answer| answer["error"]["code"].as_i64().unwrap_or(0)).collect();
    assert_eq!(codes, [-32700, -32600, -32700, -32600, -32601, -32600, 0, 0, 0, 0, 0, 0]);
    let errors: Vec<_> = answers[6..11].iter().map(|answer| text(answer).1).collect();
    assert_eq!(errors, [false, true, true, true, false]);
    assert_eq!((&answers[5]["id"], &answers[11]["id"], &answers[11]["result"]), (&json!(4), &json!(7), &json!({})));
}

/// Options for all answers are checked before the first question.
#[test]
fn invalid_options_are_reported_at_the_start() {
    let recording = symbols("cxx.data");
    for (option, value, message) in [
        ("--symfz", "files", "unknown option '--symfz'; did you mean '--symfs'?"),
        ("--symfs", "/nonexistent", "invalid value '/nonexistent' for '--symfs <DIR>': no such directory"),
        ("--demangle", "x", "invalid value 'x' for '--demangle"),
        ("--max-bytes", "900", "cannot be used multiple times"),
        ("--percent-limit", "1", "'perfconv annotate', which answers 'annotate'"),
    ] {
        let run = run(server(&[&recording]).args(["--", option, value]));
        assert!(run.status == 2 && run.stderr.contains(message), "{option}: {}", run.stderr);
        assert!(run.stderr.starts_with("perfconv: after --: ") && run.stderr.lines().count() == 1, "{}", run.stderr);
    }
}

#[test]
fn only_permitted_files_are_read() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join("sub")).expect("a directory");
    std::fs::copy(fixture("callgraph.data"), root.join("sub/a.data")).expect("a copy");
    std::fs::copy(fixture("plain.data"), directory.path().join("secret.data")).expect("a copy");
    symlink("../secret.data", root.join("link.data")).expect("a link");
    let secret = directory.path().join("secret.data").display().to_string();
    let files = ["sub/a.data", "link.data", "../secret.data", &secret, "sub", "", "/etc/passwd", "-", "none"];
    let questions: Vec<_> = files.iter().map(|file| question("summary", json!({ "file": file }))).collect();
    let answers = answers(server(&[]).arg("--root").arg(&root), &questions);
    for (file, answer) in files.iter().zip(&answers) {
        let (text, is_error) = text(answer);
        assert_eq!(is_error, *file != "sub/a.data", "{file}: {text}");
        // Directories in the root are recordings of several files, if anything.
        assert!(!is_error || text.contains("is none of the files") || ["sub", ""].contains(file), "{file}: {text}");
    }
    assert_eq!(run(&mut server(&[])).status, 2);
    assert_eq!(run(&mut server(&[Path::new("missing.data")])).status, 1);
}

/// A recording can name any file as the source of a function.
#[test]
fn source_files_are_read_only_if_that_is_permitted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("srv/sym/src/foundry.cpp");
    std::fs::create_dir_all(source.parent().expect("a parent")).expect("a directory");
    std::fs::write(&source, "a line of the source\n".repeat(500)).expect("a file");
    let files = symbols("files");
    succeed(Command::new("cp").arg("-r").arg(&files).arg(directory.path()));
    let question = question("lines", json!({ "function": "local_phase" }));
    for (permission, is_read) in [(&[][..], false), (&["--source"], true)] {
        let mut server = server(&[&symbols("cxx.data")]);
        server.args(permission).args(["--", "--debug-dir"]).arg(&files).arg("--symfs").arg(directory.path());
        let answers = answers(&mut server, std::slice::from_ref(&question));
        let (text, is_error) = text(&answers[0]);
        assert_eq!((is_error, text.contains("a line of the source")), (false, is_read), "{text}");
    }
}
