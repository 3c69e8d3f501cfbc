//! Reports: callers, callees, lines, source, colors and Markdown.

use crate::common::files::{self};
use crate::common::program::{perfconv, run};
use crate::common::reports::report;
use std::path::Path;

#[test]
fn shows_callers_callees_and_lines() {
    let text = report(&["--symbol", "foundry::v2::heap_phase"]);
    assert!(text.contains("callers of foundry::v2::heap_phase: total 11.46%, self 0.00%"), "{text}");
    assert!(text.contains(" 11.46%       150  main (foundry-fp) at /srv/sym/src/foundry.cpp:"), "{text}");
    assert!(text.contains("callees of foundry::v2::heap_phase: total"), "{text}");
    let callers = report(&["--callers", "foundry::v2::heap_phase"]);
    assert!(callers.contains("callers") && !callers.contains("callees"), "{callers}");
    let lines = report(&["--lines", "foundry::v2::local_phase"]);
    assert!(lines.contains("in /srv/sym/src/foundry.cpp: "), "{lines}");
    let part = report(&["--callers", "heap_phase"]);
    assert_eq!(part, callers, "a part of the name selects it, too");
    let pattern = report(&["--callers", "^foundry::v2::.*_phase$"]);
    assert!(pattern.contains("callers of 4 functions (foundry::v2::heap_phase, "), "{pattern}");
    let missing =
        run(perfconv().arg("report").arg(files::fixture("callgraph.data")).args(["--lines", "nothing", "-q"]));
    assert_eq!(missing.status, 1);
    assert!(missing.stderr.contains("no sample has a function 'nothing'"), "{}", missing.stderr);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let similar = run(perfconv()
        .arg("report")
        .arg(directory.join("words.data"))
        .arg("--symfs")
        .arg(directory.join("files"))
        .args(["--lines", "cuont_words", "-q"]));
    assert!(similar.stderr.contains("; did you mean 'count_words' or 'count_word'?"), "{}", similar.stderr);
}

#[test]
fn shows_the_text_of_source_files() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let source = directory.path().join("work.c");
    std::fs::write(&source, "int a;\nint work() {\n\treturn a * 3;\n}\n").expect("a source file");
    let profile = directory.path().join("in.pb");
    let pprof = pprof_of_one_line(&source.display().to_string());
    std::fs::write(&profile, pprof).expect("a profile");
    let run = run(perfconv().arg("report").arg(&profile).args(["--lines", "work", "-q"]));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(text.contains("100.00%  100.00%      3      return a * 3;"), "{text} {}", run.stderr);
    assert!(text.contains("\n                      2  int work() {\n"), "{text}");
}

#[test]
fn lists_the_lines_of_each_function() {
    let text = report(&["--list", "::(heap|string)_phase$"]);
    let functions: Vec<_> = text.lines().filter(|line| line.contains(" in /srv/sym/src/foundry.cpp: ")).collect();
    assert_eq!(functions.len(), 2, "{text}");
    assert!(functions[0].starts_with("foundry::v2::heap_phase in /srv/sym/src/foundry.cpp: 11.46%"), "{text}");
    assert!(functions[1].starts_with("foundry::v2::string_phase in /srv/sym/src/foundry.cpp: 4.58%"), "{text}");
    let one = report(&["--list", "foundry::v2::heap_phase"]);
    assert_eq!(one, report(&["--lines", "foundry::v2::heap_phase"]), "one function is the same list");
    let limited = report(&["--list", "_phase$", "--percent-limit", "5"]);
    assert!(!limited.contains("string_phase") && limited.ends_with("1 more entry below the limit\n"), "{limited}");
}

#[test]
fn source_files_are_looked_up_below_symfs_first() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (root, source) = (directory.path().join("root"), directory.path().join("work.c"));
    let copy = root.join(source.strip_prefix("/").expect("an absolute path"));
    std::fs::create_dir_all(copy.parent().expect("a directory")).expect("directories");
    std::fs::write(&copy, "\n\nold();\n").expect("a copy");
    std::fs::write(&source, "\n\nnew();\n").expect("a source file");
    let profile = directory.path().join("in.pb");
    std::fs::write(&profile, pprof_of_one_line(&source.display().to_string())).expect("a profile");
    let list = |args: &[&str]| {
        let run = run(perfconv().arg("report").arg(&profile).args(["--list", "work", "-q"]).args(args));
        String::from_utf8(run.stdout).expect("UTF-8")
    };
    assert!(list(&[]).contains("3  new();"), "{}", list(&[]));
    assert!(list(&["--symfs", &root.display().to_string()]).contains("3  old();"));
    std::fs::remove_file(&copy).expect("a file");
    assert!(list(&["--symfs", &root.display().to_string()]).contains("3  new();"));
}

/// A pprof profile of one sample in line 3 of a file.
fn pprof_of_one_line(file: &str) -> Vec<u8> {
    use perfconv::formats::pprof::proto::{Function, Line, Location, Profile, Sample, ValueType};
    use prost::Message;
    let strings = ["", "samples", "count", "work", file];
    let profile = Profile {
        sample_type: vec![ValueType { r#type: 1, unit: 2 }],
        sample: vec![Sample { location_id: vec![1], value: vec![5], ..Sample::default() }],
        location: vec![Location {
            id: 1,
            line: vec![Line { function_id: 1, line: 3, ..Line::default() }],
            ..Location::default()
        }],
        function: vec![Function { id: 1, name: 3, filename: 4, ..Function::default() }],
        string_table: strings.map(str::to_owned).into(),
        ..Profile::default()
    };
    profile.encode_to_vec()
}

#[test]
fn the_extension_of_the_output_selects_the_form() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/words.data");
    let report = |name: &str, more: &[&str]| {
        let mut command = perfconv();
        command.arg("report").arg(&recording).args(["-q", "--symbols", "no", "-o"]).arg(directory.path().join(name));
        let run = run(command.args(more));
        (run.status, std::fs::read_to_string(directory.path().join(name)).unwrap_or(run.stderr))
    };
    for (name, start) in [("x.csv", "of_event,"), ("x.json", "{"), ("x.md", "# Profile"), ("x.txt", "cpu-clock:u: ")] {
        let (status, text) = report(name, &[]);
        assert!(status == 0 && text.starts_with(start), "{name}: {text}");
    }
    let (status, text) = report("y.csv", &["--callers", "main"]);
    assert!(status == 2 && text.contains("callers, callees, lines and trees are text or JSON, not .csv"), "{text}");
    let (status, text) = report("y.html", &[]);
    assert!(status == 2 && text.contains("writes html"), "{text}");
    assert_eq!(report("by.txt", &["--group-by", "dso"]).1, report("sort.txt", &["--sort", "dso"]).1);
}

#[test]
fn colors_and_limits_are_options() {
    let colored = report(&["--color", "always", "--limit", "1"]);
    assert!(colored.contains("\x1b[1mcpu-clock: 1309 samples") && colored.contains("\x1b[31m"), "{colored}");
    assert!(!report(&["--limit", "1"]).contains('\x1b'));
    let limited = report(&["--percent-limit", "20", "--sort", "sym"]);
    assert!(limited.lines().count() < 12 && limited.contains("more entries below the limit"), "{limited}");
    let callees = report(&["--callees", "main", "--limit", "2"]);
    assert!(callees.lines().count() == 6 && callees.ends_with(" more entries below the limit\n"), "{callees}");
    let by_event = report(&["--sort", "event,tid", "--no-children"]);
    assert!(by_event.lines().nth(1).is_some_and(|line| line.contains("event") && line.contains("tid")), "{by_event}");
}

#[test]
fn markdown_is_compact() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let convert = |args: &[&str]| {
        let mut command = perfconv();
        command
            .arg(directory.join("cxx.data"))
            .arg("--symfs")
            .arg(directory.join("files"))
            .args(["-t", "markdown", "-q"]);
        String::from_utf8(run(command.args(args)).stdout).expect("UTF-8")
    };
    let page = convert(&[]);
    note!("markdown: {} bytes", page.len());
    assert!((1000..4096).contains(&page.len()), "{page}");
    for expected in
        ["# Profile", "- host: ", "cpu-clock: 1309 samples", "Smith::strike", "Lines:", "foundry.cpp:79", "## Warnings"]
    {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert!(convert(&["--limit", "2"]).len() < page.len());
}
