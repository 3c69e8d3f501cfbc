//! What people see of recordings with very long or hostile names, and with very many threads and events, or without samples.

use super::memory::limited_to;
use crate::common::program::{perfconv, run};
use crate::common::view_limits::{MEGABYTE, PROCESS, Recording, event, is_unsafe, scenario};
use serde_json::Value;
use std::fs;

/// Formats in which people see a recording.
const VIEWS: [&str; 6] = ["perf-script", "folded", "flamegraph", "report", "markdown", "html"];

/// Number of entries of a report by a key.
fn entries(report: &str) -> usize {
    report
        .lines()
        .filter(|line| line.trim_start().starts_with(|char: char| char.is_ascii_digit()) && line.contains('%'))
        .count()
}

#[test]
fn long_names_are_shortened_for_people() {
    // Longer names are truncated when they are read.
    const LONG: usize = 15_000;
    let long = ["a".repeat(LONG), format!("ns::{}::end", "b".repeat(LONG)), "é".repeat(LONG / 2)];
    let name = "c".repeat(LONG);
    let recording = Recording::with_functions("app", &[&long[0], &long[1], &long[2], &name, "plain"]);
    let page = Recording::with_functions("app", &["plain"]).text("html", &[]).len();
    for (format, args, limit) in [
        ("report", &[][..], 30_000),
        ("report", &["--symbol", &name], 20_000),
        ("report", &["--lines", &name], 20_000),
        ("flamegraph", &[], 100_000),
        ("markdown", &[], 3_000),
        ("html", &[], page + 3_000),
    ] {
        let text = recording.text(format, args);
        assert!(text.len() < limit, "{format}: {} bytes", text.len());
    }
    let list = recording.text("report", &["--group-by", "sym"]);
    let shown = list.lines().filter_map(|line| line.split_whitespace().nth(3)).filter(|name| name.contains('…'));
    let neighbors = |name: &str| recording.text("report", &["--callers", name]);
    assert_eq!(shown.filter(|name| neighbors(name).contains(&format!("callers of {name}: total 20.00%"))).count(), 4);
    for format in ["report", "flamegraph", "markdown"] {
        let text = recording.text(format, &[]);
        let is_short =
            ["aaa…aaa", "bbb…bbb", "ééé…ééé", "ns::bbb", "bbb::end", "plain"].iter().all(|part| text.contains(part));
        assert!(is_short, "{format}: {text:.3000}");
    }
    // Programs read the others.
    for (format, args) in [("folded", &[][..]), ("perf-script", &[]), ("report", &["--csv"]), ("report", &["--json"])] {
        let text = recording.text(format, args);
        assert!(long.iter().all(|name| text.contains(name)), "{format} {args:?}");
    }
}

#[test]
fn names_in_messages_and_the_summary_are_shortened() {
    let long = "e".repeat(MEGABYTE);
    let number = |number: u32| format!("attr = {{ kind = 4, config = {number} }}");
    let events = event(&long, &number(1)) + &event("cyc\"les\n\u{202e}<&>", &number(2));
    let recording = Recording::new(&scenario(&events, "\"main\"", PROCESS));
    let escaped = r#"cyc"les\n\u{202e}<&>"#;
    for run in [
        recording.convert("folded", &[]),
        recording.convert("html", &["--event", "unknown"]),
        recording.convert("report", &["-q"]),
        run(perfconv().arg(recording.at("in.data"))),
    ] {
        let text = String::from_utf8_lossy(&run.stdout) + &*run.stderr;
        assert!(text.contains("eee…eee") && text.contains(escaped) && text.len() < 6_000, "{text:.3000}");
    }
    let dump = run(perfconv().arg("dump").arg(recording.at("in.data")).args(["--type", "SAMPLE"]));
    assert!(String::from_utf8_lossy(&dump.stdout).contains(&format!("event={escaped}\n")), "{}", dump.stderr);
    // As in perf, names of events are aligned to the longest.
    let script = recording.text("perf-script", &["--event", "cyc\"les\n\u{202e}<&>"]);
    assert!(script.contains("cyc\"les\n\u{202e}<&>: ") && script.len() < MEGABYTE, "{script:.1000}");
    assert!(recording.text("perf-script", &[]).contains(&format!(" {long}: ")));
    let page = Recording::with_functions("app", &["plain"]).text("html", &[]).len();
    assert!(recording.text("html", &[]).len() < page + 3_000);
}

#[test]
fn names_control_no_terminal() {
    let names =
        ["red\x1b[31m", "c1\u{9b}2J", "tab\tdelete\x7f", "rlo\u{202e}eman", "\u{2066}isolate", "a;b", "שלום", "مرحبا"];
    let recording = Recording::with_functions("\x1b]0;t\x07\u{202e}", &names);
    let folded = recording.text("folded", &["--weight", "samples"]);
    let root = r"\u{1b}]0:t\u{7}\u{202e}";
    let expected = [
        r"\u{2066}isolate 12",
        "a:b 12",
        r"c1\u{9b}2J 12",
        r"red\u{1b}[31m 16",
        r"rlo\u{202e}eman 12",
        r"tab\tdelete\u{7f} 12",
        "שלום 12",
        "مرحبا 12",
    ];
    assert_eq!(folded.lines().collect::<Vec<_>>(), expected.map(|stack| format!("{root};{stack}")));
    fs::write(recording.at("in.folded"), &folded).expect("folded stacks");
    let again = run(perfconv().arg(recording.at("in.folded")).args(["-t", "folded", "-o", "-", "-q"]));
    assert_eq!(String::from_utf8_lossy(&again.stdout), folded, "folded stacks of folded stacks");

    for format in ["flamegraph", "report", "markdown"] {
        let text = recording.text(format, &[]);
        assert!(!text.contains(is_unsafe) && !text.contains("tab\t"), "{format}: {text}");
        for name in [r"rlo\u{202e}eman", r"red\u{1b}[31m", "שלום", "مرحبا"] {
            assert!(text.contains(name), "{format}: {name}: {text}");
        }
    }
    let callers = recording.text("report", &["--callers", r"rlo\u{202e}eman"]);
    assert!(callers.contains(r"callers of rlo\u{202e}eman: total 12.00%"), "{callers}");
    // Perf prints names as they are.
    let script = recording.text("perf-script", &[]);
    assert!(names.iter().all(|name| script.contains(&format!(" {name}+0x"))), "{script:.1000}");
}

#[test]
fn stacks_of_folded_text_have_no_empty_names() {
    let recording = Recording::with_functions("", &["main"]);
    assert_eq!(recording.text("folded", &["--weight", "samples"]), ":100;main 100\n");
    fs::write(recording.at("in.folded"), "main;closure 5 12\nmain;closure 7 3\nmain;leaf 5\n").expect("folded stacks");
    let image = run(perfconv().arg(recording.at("in.folded")).args(["-t", "flamegraph", "-o", "-", "-q"]));
    let image = String::from_utf8_lossy(&image.stdout);
    for frame in ["all (20 events, 100%)", "closure\u{a0}5 (12 events, 60.00%)", "closure\u{a0}7 (3 events, 15.00%)"] {
        assert!(image.contains(frame), "{frame}: {image}");
    }
}

#[test]
fn reports_list_some_of_many_threads() {
    let recording = Recording::with_threads();
    for keys in ["tid", "comm,sym"] {
        let report = |args: &[&str]| recording.text("report", &[&["--group-by", keys], args].concat());
        let short = report(&[]);
        assert_eq!(entries(&short), 1000, "{keys}");
        assert!(short.ends_with("\n9000 more entries below the limit; choose another with --limit\n"), "{keys}");
        assert_eq!(entries(&report(&["--limit", "10000"])), 10_000);
        let of_three = report(&["--limit", "3"]);
        assert!(entries(&of_three) == 3 && of_three.ends_with("\n9997 more entries below the limit\n"), "{of_three}");
        assert_eq!(report(&["--csv"]).lines().count(), 10_001);
        let json: Value = serde_json::from_str(&report(&["--json"])).expect("JSON");
        assert_eq!(json["entries"].as_array().map(Vec::len), Some(10_000));
    }
    let image = recording.text("flamegraph", &[]);
    assert_eq!(image.matches("<title>").count(), 20_001);
    assert!(recording.text("markdown", &[]).len() < 1000);
    assert_eq!(recording.text("folded", &[]).lines().count(), 10_000);
}

#[test]
fn errors_and_reports_list_some_of_many_events() {
    let recording = Recording::with_events();
    for format in ["folded", "flamegraph"] {
        let run = recording.convert(format, &[]);
        let message = run.failure().expect("a failure");
        assert!(
            message.contains(": event0, event1, event2, ")
                && message.contains(", 1990 more events; choose one with --event"),
            "{message}"
        );
        assert_eq!(recording.convert(format, &["--event", "event1999"]).status, 0);
    }
    let run = recording.convert("report", &["--event", "event2000"]);
    let message = run.failure().expect("a failure");
    assert!(message.contains("did you mean 'event") && message.contains(", event99, 1900 more names"), "{message}");
    for args in [&[][..], &["--group-by", "event"], &["--callers", "main"], &["--symbol", "main"]] {
        let report = recording.text("report", args);
        assert_eq!(report.matches("1900 more events; choose with --event\n").count(), 1, "{report}");
        assert!(report.contains("event99: 1 samples") && !report.contains("event100: "), "{report}");
    }
    assert_eq!(recording.text("report", &["--csv"]).lines().count(), 2001);
    assert!(recording.text("markdown", &[]).contains("1998 more events; choose with --event"));
}

#[test]
fn views_warn_of_recordings_without_samples() {
    let recording = Recording::without_samples();
    for format in VIEWS.into_iter().chain(["perf-json", "pprof"]) {
        let run = recording.convert(format, &[]);
        if format == "flamegraph" {
            assert_eq!(run.failure(), Ok("the profile has no samples to draw"));
            continue;
        }
        assert_eq!((run.status, run.warnings()), (0, vec!["the recording has no samples"]), "{format}: {}", run.stderr);
    }
}

#[test]
fn equal_names_are_in_memory_once() {
    let names: Vec<_> = ('a'..='j').map(|letter| letter.to_string().repeat(MEGABYTE)).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let recording = Recording::with_functions("app", &names);
    let lines = run(perfconv().arg(recording.at("in.data")).args(["-t", "jsonl", "-o", "-", "-q"])).stdout;
    let lines = String::from_utf8(lines).expect("UTF-8");
    let of_thread = |line: &str, tid: u32| line.replace("\"tid\":100}", &format!("\"tid\":{tid}}}")) + "\n";
    let lines: String = lines
        .lines()
        .flat_map(|line| {
            let threads = if line.starts_with("{\"record\":\"SAMPLE\"") { 1000..1100 } else { 100..101 };
            threads.map(move |tid| of_thread(line, tid))
        })
        .collect();
    fs::write(recording.at("many.jsonl"), lines).expect("JSON");
    for (format, args) in
        [("report", &["--group-by", "tid,sym"][..]), ("flamegraph", &["--labels", "tid"]), ("html", &[])]
    {
        let mut command = limited_to(150);
        command
            .arg(recording.at("many.jsonl"))
            .args(["-t", format, "-q", "-o", "-", "--symfs"])
            .arg(recording.at("images"));
        let run = run(command.args(args));
        assert_eq!((run.status, &*run.stderr), (0, ""), "{format}");
        assert!(run.stdout.len() > 10_000, "{format}");
    }
}
