//! Names inside recordings in `merge`, `split`, filters, `info` and `check`.

use super::embedded_symbols::{embed, embed_which, perfconv_in};
use crate::common::program::{perfconv, run, succeed};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Recordings of one kernel can be merged.
const ONE_KERNEL: &[&str] = &["--set", "osrelease=6.1"];

/// Whether the section of names in a recording contains each of these texts.
fn contains(recording: &Path, texts: &[&str]) -> Vec<bool> {
    let bytes = fs::read(recording).expect("a recording");
    texts.iter().map(|text| memchr::memmem::find(&bytes, text.as_bytes()).is_some()).collect()
}

/// A command on a recording that writes another one.
fn command(name: &str, inputs: &[&Path], output: &Path) -> Command {
    let mut command = perfconv_in(output.parent().expect("a directory"));
    command.arg(name).args(inputs).arg("-o").arg(output);
    command
}

#[test]
fn merge_joins_names() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [words, c, merged] = ["words", "c", "merged"].map(|name| directory.path().join(name));
    embed("words", ONE_KERNEL, &words);
    embed_which("c", ONE_KERNEL, "full", &c);
    succeed(&mut command("merge", &[&words, &c], &merged));
    let functions = ["count_words", "grind"];
    assert_eq!(contains(&merged, &functions), [true; 2]);
    let info = succeed(perfconv().arg("info").arg(&merged)).stdout;
    let info = String::from_utf8_lossy(&info);
    assert!(info.contains("(FILE2): names of") && info.contains("(LINES): lines"), "{info}");
}

#[test]
fn conflicting_names_are_reported() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [one, other, merged] = ["one", "other", "merged"].map(|name| directory.path().join(name));
    embed("words", &[], &one);
    let mut bytes = fs::read(&one).expect("a recording");
    let name = memchr::memmem::find(&bytes, b"count_words").expect("a name");
    bytes[name..name + 5].copy_from_slice(b"wrong");
    fs::write(&other, bytes).expect("a recording");
    let merge = run(&mut command("merge", &[&one, &other], &merged));
    assert!(
        merge.stderr.contains("1 stored functions have several names, of which the first is kept"),
        "{}",
        merge.stderr
    );
    assert_eq!(contains(&merged, &["count_words", "wrong_words"]), [true, false]);
}

#[test]
fn parts_have_the_names_of_their_processes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [jitmap, words, merged] = ["jitmap", "words", "merged"].map(|name| directory.path().join(name));
    embed("jitmap", ONE_KERNEL, &jitmap);
    embed("words", ONE_KERNEL, &words);
    succeed(&mut command("merge", &[&jitmap, &words], &merged));
    let all = ["/tmp/perf-5548.map", "count_words"];
    assert_eq!(contains(&merged, &all), [true; 2]);
    let filtered = directory.path().join("filtered");
    succeed(command("rewrite", &[&merged], &filtered).args(["--comm", "words"]));
    assert_eq!(contains(&filtered, &all), [false, true]);
    let parts = directory.path().join("parts");
    succeed(command("split", &[&merged], &parts).args(["--by", "pid"]));
    let parts = fs::read_dir(parts).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut parts: Vec<_> = parts.map(|part| contains(&part, &all)).collect();
    parts.sort();
    assert_eq!(parts, [[false, true], [true, false]]);
}

#[test]
fn moved_processes_have_their_names() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [jitmap, merged] = ["jitmap", "merged"].map(|name| directory.path().join(name));
    embed_which("jitmap", &[], "full", &jitmap);
    succeed(command("merge", &[&jitmap, &jitmap], &merged).arg("--offset-pids"));
    let mut folded = perfconv_in(directory.path());
    folded.arg(&merged).args(["--symbols", "embedded", "-q", "-t", "folded", "-o", "-", "--group-by", "process"]);
    let folded = String::from_utf8(succeed(&mut folded).stdout).expect("UTF-8");
    let functions = |pid: &str| {
        let stacks = folded.lines().filter(|line| line.contains(pid));
        stacks.filter(|line| line.contains("jit")).count()
    };
    assert!(functions("(10005548)") > 0 && functions("(10005548)") == functions("(5548)"), "{folded}");
}

#[test]
fn check_reports_corrupt_names() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let named = directory.path().join("named");
    embed_which("words", &[], "full", &named);
    let messages = |change: &dyn Fn(&mut Vec<u8>)| {
        let path = directory.path().join("changed");
        let mut bytes = fs::read(&named).expect("a recording");
        change(&mut bytes);
        fs::write(&path, bytes).expect("a recording");
        String::from_utf8(run(perfconv().arg("check").arg(&path)).stdout).expect("UTF-8")
    };
    let object = |bytes: &[u8]| {
        let path = memchr::memmem::rfind(bytes, b"/opt/words/bin/words").expect("a path");
        [memchr::memmem::rfind(&bytes[..path], b"/opt/words/bin/words").expect("a path"), path].map(|path| path - 6)
    };
    assert!(!messages(&|_| ()).contains("feature"), "{}", messages(&|_| ()));
    for (nth, name) in ["132", "200"].into_iter().enumerate() {
        let changed = messages(&|bytes| {
            let size = object(bytes)[nth];
            bytes[size + 2] = 1;
        });
        assert!(changed.contains("is larger than the rest of the section") && changed.contains(name), "{changed}");
    }
    let changed = messages(&|bytes| {
        let name = memchr::memmem::find(bytes, b"count_words").expect("a name");
        bytes[name] = 0xff;
    });
    assert!(changed.contains("1 names of functions are empty or not UTF-8"), "{changed}");
}
