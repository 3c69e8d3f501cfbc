//! Completions.

use crate::common::program::{perfconv, run};
use std::fs;
use std::path::Path;

#[test]
fn each_shell_has_a_script() {
    for shell in ["bash", "elvish", "fish", "nushell", "powershell", "zsh"] {
        let script = run(perfconv().args(["completions", shell]));
        let text = String::from_utf8(script.stdout).expect("UTF-8");
        assert_eq!((script.status, &*script.stderr), (0, ""), "{shell}");
        assert!(text.contains("PERFCONV_COMPLETE"), "{shell}: {text}");
    }
    let unknown = run(perfconv().args(["completions", "tcsh"]));
    assert!(unknown.status == 2 && unknown.stderr.contains("invalid value 'tcsh'"), "{}", unknown.stderr);
    let unknown = run(perfconv().env("PERFCONV_COMPLETE", "tcsh").args(["--", "perfconv", ""]));
    assert!(unknown.status == 1 && unknown.stderr.contains("unknown shell"), "{}", unknown.stderr);
}

#[test]
fn functions_complete_by_any_part_of_their_names() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let mut command = perfconv();
    command.current_dir(directory).env("PERFCONV_COMPLETE", "fish").env("HOME", "/nonexistent");
    let line = ["--", "perfconv", "report", "words.data", "--symfs", "files", "--lines", "word"];
    let run = run(command.args(line));
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!((run.status, &*run.stderr), (0, ""));
    assert_eq!(text.lines().collect::<Vec<_>>(), ["count_word", "count_words"]);
}

/// Without a file, or with one that is not a recording, options still complete, and nothing else is printed.
#[test]
fn values_of_missing_recordings_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("text"), "no recording").unwrap();
    for input in ["missing.data", "text", "-"] {
        let mut command = perfconv();
        command.current_dir(directory.path()).env("PERFCONV_COMPLETE", "fish");
        let run = run(command.args(["--", "perfconv", input, "-o", "out.pb", "--comm", ""]));
        assert_eq!((run.status, &*run.stdout, &*run.stderr), (0, &b""[..], ""), "{input}");
    }
}
