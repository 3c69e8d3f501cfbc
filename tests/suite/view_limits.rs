//! What people see of recordings with very long or hostile names, and with very many threads and events, or without samples.

use super::browser::Browser;
use super::clients;
use super::memory::limited_to;
use super::program::{Run, perfconv, run};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const MEGABYTE: usize = 1 << 20;

/// Formats in which people see a recording.
const VIEWS: [&str; 6] = ["perf-script", "folded", "flamegraph", "report", "markdown", "html"];

/// A process that is always in `main`.
const PROCESS: &str = r#"
[[process]]
pid = 100
comm = "app"
programs = ["/app"]

[[process.thread]]
stack = [{ percent = 100, frames = ["main"] }]
"#;

/// A generated recording, with the files of its programs.
struct Recording {
    directory: TempDir,
}

impl Recording {
    /// The recording of a scenario.
    fn new(scenario: &str) -> Self {
        let recording = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        fs::write(recording.at("in.toml"), scenario).expect("a scenario");
        let mut synth = perfconv();
        synth.arg("synth").arg(recording.at("in.toml")).arg("-o").arg(recording.at("in.data"));
        let made = run(synth.arg("--images").arg(recording.at("images")));
        assert_eq!(made.status, 0, "{:.1000}", made.stderr);
        recording
    }

    /// A recording in which a thread of this name spends equal time in each of these functions.
    fn of(comm: &str, functions: &[&str]) -> Self {
        let each = 100 / functions.len();
        let first = 100 - each * (functions.len() - 1);
        let stack = |(index, name): (usize, &&str)| {
            let percent = if index == 0 { first } else { each };
            format!("{{ percent = {percent}, frames = [{}] }}", quoted(name))
        };
        let stacks: Vec<_> = functions.iter().enumerate().map(stack).collect();
        let functions: Vec<_> = functions.iter().map(|name| quoted(name)).collect();
        let process = format!(
            "[[process]]\npid = 100\ncomm = {}\nprograms = [\"/app\"]\n[[process.thread]]\nstack = [{}]\n",
            quoted(comm),
            stacks.join(", ")
        );
        Self::new(&scenario(&event("cycles:u", ""), &functions.join(", "), &process))
    }

    /// A recording of 10,000 threads, each with a sample in `main`.
    fn of_threads() -> Self {
        let mut process = "[[process]]\npid = 1\ncomm = \"app\"\nprograms = [\"/app\"]\n".to_owned();
        for tid in 1..=10_000 {
            let thread = format!(
                "[[process.thread]]\ntid = {tid}\ncomm = \"t{tid}\"\nstack = [{{ percent = 100, frames = [\"main\"] }}]\n"
            );
            process += &thread;
        }
        Self::new(&scenario(&event("cycles:u", ""), "\"main\"", &process).replace("\"1s\"", "\"10ms\""))
    }

    /// A recording of 2,000 events, each with a sample.
    fn of_events() -> Self {
        let event =
            |number| event(&format!("event{number}"), &format!("attr = {{ kind = 4, config = {} }}", number + 1));
        let events: String = (0..2000).map(event).collect();
        Self::new(&scenario(&events, "\"main\"", PROCESS).replace("\"1s\"", "\"10ms\""))
    }

    fn without_samples() -> Self {
        Self::new(&scenario(&event("cycles:u", "").replace("rate = 100", "rate = 0"), "\"main\"", PROCESS))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Converts the recording.
    fn convert(&self, format: &str, args: &[&str]) -> Run {
        let mut command = perfconv();
        command.arg(self.at("in.data")).args(["-t", format, "-o", "-", "--symfs"]).arg(self.at("images"));
        run(command.args(args).env("HOME", "/nonexistent"))
    }

    /// The recording in a format that is text.
    fn text(&self, format: &str, args: &[&str]) -> String {
        let run = self.convert(format, &[&["-q"], args].concat());
        assert_eq!((run.status, &*run.stderr), (0, ""), "{format} {args:?}");
        String::from_utf8(run.stdout).expect("UTF-8")
    }
}

fn scenario(events: &str, functions: &str, processes: &str) -> String {
    let program = format!("[[program]]\npath = \"/app\"\nfunctions = [{functions}]\n");
    format!("about = \"Limits of views\"\nseed = 1\nduration = \"1s\"\n{events}{program}{processes}")
}

/// An event, with further keys.
fn event(name: &str, keys: &str) -> String {
    format!("[[event]]\nname = {}\nrate = 100\nfields = [\"CALLCHAIN\"]\n{keys}\n", quoted(name))
}

/// A string as in TOML, which has the escapes of JSON.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\x7f', "\\u007f")
}

/// Whether a character could control a terminal or reverse a line.
fn is_unsafe(char: char) -> bool {
    !matches!(char, '\n' | '\t')
        && (char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}

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
    let recording = Recording::of("app", &[&long[0], &long[1], &long[2], &name, "plain"]);
    for (format, args, limit) in [
        ("report", &[][..], 30_000),
        ("report", &["--symbol", &name], 20_000),
        ("report", &["--lines", &name], 20_000),
        ("flamegraph", &[], 100_000),
        ("markdown", &[], 3_000),
        ("html", &[], 60_000),
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
    assert!(recording.text("html", &[]).len() < 60_000);
}

#[test]
fn names_control_no_terminal() {
    let names =
        ["red\x1b[31m", "c1\u{9b}2J", "tab\tdelete\x7f", "rlo\u{202e}eman", "\u{2066}isolate", "a;b", "שלום", "مرحبا"];
    let recording = Recording::of("\x1b]0;t\x07\u{202e}", &names);
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
    let recording = Recording::of("", &["main"]);
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
    let recording = Recording::of_threads();
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
    let recording = Recording::of_events();
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
    let recording = Recording::of("app", &names);
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

#[test]
fn pages_of_such_recordings_open() {
    if !clients::has_browser() {
        return;
    }
    let long = ["a".repeat(MEGABYTE), "b".repeat(MEGABYTE)];
    let hostile = ["red\x1b[31m\u{9b}", "rlo\u{202e}eman", "</script>\u{2028}", "שלום"];
    let mut browser = Browser::start(1000, 800);
    for (recording, samples) in [
        (Recording::of("app", &[&long[0], &long[1]]), 100.0),
        (Recording::of("\x1b\u{202e}", &hostile), 100.0),
        (Recording::of_threads(), 10_000.0),
        (Recording::of_events(), 1.0),
        (Recording::without_samples(), 0.0),
    ] {
        let html = recording.at("page.html");
        let mut command = perfconv();
        command.arg(recording.at("in.data")).arg("-o").arg(&html).arg("--symfs").arg(recording.at("images"));
        assert_eq!(run(&mut command).status, 0);
        browser.open(&html, "");
        assert_eq!(browser.number("Number(document.body.dataset.samples)"), samples);
        browser.press("ArrowDown");
        browser.press("ArrowDown");
        let status = browser.text("document.getElementById('status').textContent");
        assert!(status.len() < 20_000 && status.contains(": ") && !status.contains(is_unsafe), "{status}");
        browser.press("Enter");
        assert!(status.starts_with(&browser.text("document.getElementById('zoomed').textContent")), "{status}");
        browser.press("2");
        let rows = browser.number("document.querySelectorAll('#table tbody tr').length");
        assert!(rows >= samples.min(1.0) && !browser.text("document.body.innerText").contains(is_unsafe), "{rows}");
    }
}
