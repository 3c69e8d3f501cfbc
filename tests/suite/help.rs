//! Help fits a screen, is complete, and mistyped names are answered with similar ones.

use crate::common::files::fixture;
use crate::common::program::{Run, perfconv, run};
use perfconv::formats::FORMATS;
use std::process::Command;

/// Commands of the program.
const COMMANDS: &[&str] = &[
    "convert",
    "rewrite",
    "repair",
    "inject",
    "merge",
    "split",
    "synth",
    "archive",
    "check",
    "info",
    "dump",
    "report",
    "annotate",
    "view",
    #[cfg(feature = "push")]
    "push",
    "diff",
    "perf",
    "mcp",
    "completions",
    "man",
    "help",
];

/// Names of the formats that are written, in the order of help.
fn written_formats() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().filter(|format| format.output.is_some()).map(|format| format.name)
}

/// Maximum number of lines of `-h`.
const LINES: usize = 43;

fn with_columns(columns: usize, arguments: &[&str]) -> Run {
    run(Command::env(&mut perfconv(), "COLUMNS", columns.to_string()).args(arguments))
}

/// Help on a terminal of this width.
fn help(columns: usize, arguments: &[&str]) -> String {
    let run = with_columns(columns, arguments);
    assert_eq!((run.status, &*run.stderr), (0, ""), "{arguments:?}");
    String::from_utf8(run.stdout).expect("help is UTF-8")
}

#[test]
fn short_help_fits_a_screen() {
    for arguments in [&[][..]].into_iter().chain(COMMANDS.iter().map(std::slice::from_ref)) {
        let arguments = [arguments, &["-h"]].concat();
        for columns in [80, 100] {
            let text = help(columns, &arguments);
            let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(text.lines().count() <= LINES, "{arguments:?} has {} lines:\n{text}", text.lines().count());
            assert!(width <= columns, "{arguments:?} has a line of {width} columns:\n{text}");
        }
    }
    let text = help(80, &["-h"]);
    let commands = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(commands, COMMANDS, "each command takes one line");
    let examples = text.split_once("Examples:\n").expect("there are examples").1;
    assert_eq!(examples.lines().filter(|line| line.starts_with("  perfconv ")).count(), 3, "{examples}");
}

/// Options in long help, with the text below each.
fn options(text: &str) -> Vec<(String, String)> {
    let mut options: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let is_option = line.starts_with("  -") || line.starts_with("      --");
        match options.last_mut() {
            _ if is_option => options.push((line.trim().to_owned(), String::new())),
            Some((_, help)) if line.starts_with("          ") => help.push_str(line.trim()),
            _ => {}
        }
    }
    options
}

#[test]
fn each_option_has_help() {
    let mut count = 0;
    for arguments in [&[][..]].into_iter().chain(COMMANDS.iter().map(std::slice::from_ref)) {
        let text = help(100, &[arguments, &["--help"]].concat());
        for (option, help) in options(&text) {
            // Short forms have the help on the same line.
            let is_explained =
                !help.is_empty() || option.split_once("  ").is_some_and(|(_, help)| !help.trim().is_empty());
            assert!(is_explained, "{arguments:?}: {option} has no help");
            count += 1;
        }
    }
    assert!(count > 150, "only {count} options were found");
}

#[test]
fn long_help_groups_options_under_headings() {
    let text = help(100, &["--help"]);
    let headings = [
        "Output:",
        "Input:",
        "Filters:",
        "Rewriting:",
        "JIT code:",
        "Build IDs:",
        "Anonymizing:",
        "perf.data output:",
        "Options for specific formats:",
        "Profiles:",
        "Importing profiles:",
        "Formats (",
        "Examples:",
        "Exit status:",
    ];
    let mut from = 0;
    for heading in headings {
        let at = text[from..].find(&format!("\n{heading}"));
        from += at.unwrap_or_else(|| panic!("{heading} is missing, or in another order:\n{text}"));
    }
    for (option, formats) in [
        ("--compat", "pprof: "),
        ("--quipper", "quipper, quipper-text: "),
        ("--decode", "jsonl, json: "),
        ("--exact", "perf-json: "),
    ] {
        let options = options(&text);
        let (_, help) = options.iter().find(|(name, _)| name.starts_with(option)).expect("the option is in help");
        assert!(help.starts_with(formats), "{option}: {help}");
    }
}

#[test]
fn commands_that_write_recordings_offer_no_options_of_other_formats() {
    for command in ["repair", "rewrite"] {
        let text = help(100, &[command, "--help"]);
        for option in ["--to", "--compat", "--quipper", "--decode", "--labels", "--split-by", "--demangle"] {
            assert!(!text.contains(option), "{command}: {option}: {text}");
        }
        let options = options(&text);
        let (_, output) = options.iter().find(|(name, _)| name.starts_with("-o, ")).expect("-o is in help");
        assert!(output.starts_with("perf.data to write, or - for standard output"), "{command}: {output}");
    }
}

#[test]
fn the_table_of_formats_has_one_line_for_each() {
    let text = help(100, &["--help"]);
    let table =
        text.lines().skip_while(|line| !line.starts_with("Formats (")).skip(1).take_while(|line| !line.is_empty());
    assert_eq!(
        table.map(|line| line.split_whitespace().next()).collect::<Vec<_>>(),
        written_formats().map(Some).collect::<Vec<_>>(),
        "{text}"
    );
}

#[test]
fn topics_are_commands_and_formats() {
    assert_eq!(help(100, &["help"]), help(100, &["--help"]));
    assert_eq!(help(100, &["help", "merge"]), help(100, &["merge", "--help"]));
    let formats = help(100, &["help", "formats"]);
    for format in written_formats() {
        assert!(formats.lines().any(|line| line.split_whitespace().next() == Some(format)), "{format}: {formats}");
        let page = help(100, &["help", format]);
        // The format that a command of the same name writes.
        assert!(page.starts_with(&format!("{format}: ")) || format == "report", "{page}");
    }
    assert!(help(100, &["help", "pprof"]).contains("--labels"));
    assert_eq!(help(100, &["help", "report"]), help(100, &["report", "--help"]));
    assert!(help(100, &["help", "evlist"]).contains("--freq"));
    assert!(help(100, &["help", "perf.data"]).contains("--compress"));
}

#[test]
fn mistyped_names_are_answered_with_similar_ones() {
    let input = fixture("callgraph.data");
    let input = input.to_str().expect("the path is UTF-8");
    let cases: [(&[&str], &str); 12] = [
        (&["help", "mege"], "unknown help topic 'mege'; did you mean 'merge'? expected one of: convert, "),
        (&["chek", "in.data"], "'chek' is neither a command nor a file; did you mean 'check'?"),
        (
            &[input, "-o", "out", "-t", "jsnl"],
            "unknown format 'jsnl'; did you mean 'jsonl'? expected one of: perf.data, pprof, ",
        ),
        (&[input, "--from", "follded"], "--from: unknown format 'follded'; did you mean 'folded'? expected one of: "),
        (&[input, "--from", "csv"], "--from: format 'csv' can be written but not read; expected one of: perf.data, "),
        (
            &[input, "-o", "o.data", "--event", "cpu-clok"],
            "unknown event 'cpu-clok'; did you mean 'cpu-clock'? expected one of: ",
        ),
        (
            &[input, "-o", "o.pb", "--event", "cpu-clok"],
            "unknown event 'cpu-clok'; did you mean 'cpu-clock'? expected one of: ",
        ),
        (
            &[input, "-o", "o.data", "--set", "hostnam=x"],
            "unknown feature 'hostnam'; did you mean 'hostname'? expected one of: ",
        ),
        (
            &[input, "-o", "o.data", "--type", "SAMPEL"],
            "unknown record type 'SAMPEL'; did you mean 'SAMPLE'? expected one of: ",
        ),
        (
            &[input, "-o", "o.data", "--anonymize", "--keep", "path"],
            "unknown category 'path'; did you mean 'paths'? expected one ",
        ),
        (&["split", input, "-o", "o", "--by", "tim"], "unknown criterion 'tim'; did you mean "),
        (&[input, "-o", "o.data", "--container", "fil"], "; did you mean 'file'? expected one of: file, pipe, dir"),
    ];
    let directory = tempfile::tempdir().expect("a temporary directory can be created");
    for (arguments, message) in cases {
        let run = run(perfconv().current_dir(&directory).args(arguments));
        assert!(run.status != 0 && run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn sort_keys_of_perf_are_answered_with_what_has_them() {
    let input = fixture("callgraph.data");
    let input = input.to_str().expect("the path is UTF-8");
    for (key, message) in [
        ("overhead", "rows are sorted by their samples anyway, so leave it out\n".to_owned()),
        ("sample", "rows are sorted by their samples anyway, so leave it out\n".to_owned()),
        ("local_ins_lat", format!("use 'perfconv perf report --sort local_ins_lat -i {input}'\n")),
        ("code_page_size", "perfconv does not support it\n".to_owned()),
    ] {
        let run = run(perfconv().args(["report", "--sort", key, input]));
        let expected = format!("perfconv: '{key}' is a sort key of perf report; {message}");
        assert_eq!((run.status, run.stderr), (2, expected), "{key}");
    }
    let unknown = run(perfconv().args(["report", "--sort", "bogus", input]));
    assert!(unknown.stderr.contains("invalid value 'bogus' for '--sort <KEYS>'; expected one of: comm, "));
}
