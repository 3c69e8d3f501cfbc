//! `perfconv perf report`: its text, which was compared with that of perf 6.1, and refused options.

use crate::common::files::fixture;
use crate::common::program::{Run, perfconv, run};
use std::path::{Path, PathBuf};

/// Texts of perf 6.1, without the tip at the end: name, recording and options. The recordings are of machines whose libraries are not
/// those of the machine that runs the test.
const TEXTS: [(&str, &str, &[&str], &str); 10] = [
    ("group", "group-read.data", &["-n"], include_str!("perf_report/group.txt")),
    (
        "columns",
        "group-read.data",
        &["-s", "dso,pid", "-t", ";", "--show-total-period"],
        include_str!("perf_report/columns.txt"),
    ),
    ("events", "two-events.data", &["-s", "comm,dso", "--no-children"], include_str!("perf_report/events.txt")),
    (
        "callers",
        "big-endian.data",
        &["--percent-limit", "12", "-g", "graph,5", "-s", "comm,sym"],
        include_str!("perf_report/callers.txt"),
    ),
    (
        "callees",
        "big-endian.data",
        &["--no-children", "--percent-limit", "50", "-g", "callee,6", "-s", "dso"],
        include_str!("perf_report/callees.txt"),
    ),
    (
        "folded",
        "big-endian.data",
        &["--no-children", "-g", "folded,6", "-s", "dso"],
        include_str!("perf_report/folded.txt"),
    ),
    (
        "flat",
        "big-endian.data",
        &["--no-children", "--percent-limit", "50", "-g", "flat,6", "-s", "dso"],
        include_str!("perf_report/flat.txt"),
    ),
    (
        "filter",
        "two-events.data",
        &["--comms", "forky", "--percentage", "relative", "-F", "comm,period,sym"],
        include_str!("perf_report/filter.txt"),
    ),
    (
        "widths",
        "big-endian.data",
        &["-g", "none", "-w", "12,0,4,40", "--percent-limit", "20"],
        include_str!("perf_report/widths.txt"),
    ),
    (
        "symbol",
        "plain.data",
        &["--percent-limit", "15", "-w", "7,3", "-s", "symbol"],
        include_str!("perf_report/symbol.txt"),
    ),
];

/// Texts of perf 6.1 on recordings with branch stacks: scenario and options.
const BRANCH_TEXTS: [(&str, &[&str], &str); 5] = [
    ("scenarios/lbr.toml", &[], include_str!("perf_report/lbr.txt")),
    ("scenarios/call-stack.toml", CALL_STACK_COLUMNS, include_str!("perf_report/call_stack.txt")),
    ("tests/suite/perf_report/branches.toml", &["-b"], include_str!("perf_report/branches.txt")),
    (
        "tests/suite/perf_report/branches.toml",
        &["-F", "mispredict,in_tx,abort,cycles,overhead,comm,pid"],
        include_str!("perf_report/branch_flags.txt"),
    ),
    (
        "tests/suite/perf_report/branches.toml",
        &["-n", "-s", "dso_from,dso_to,sym,cpu", "-w", "9,8,4,20,30,5"],
        include_str!("perf_report/branch_files.txt"),
    ),
];

const CALL_STACK_COLUMNS: &[&str] = &["-F", "symbol_from,symbol_to,overhead,sample", "-w", "3,10,2,4"];

fn report(recording: &Path, args: &[&str]) -> Run {
    run(perfconv().args(["perf", "report", "--stdio", "--symfs", "missing", "-i"]).arg(recording).args(args))
}

/// The text without the tip, which perf chooses at random.
fn text(recording: &Path, args: &[&str]) -> String {
    let output = report(recording, args);
    assert_eq!((output.status, &*output.stderr), (0, ""), "{args:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_inclusive('\n').filter(|line| !line.starts_with("# (Tip: ")).collect()
}

fn symbols(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(name)
}

#[test]
fn texts_are_those_of_perf() {
    for (name, recording, args, expected) in TEXTS {
        assert_eq!(text(&fixture(recording), args), expected, "{name}");
    }
}

/// A recording from a scenario.
fn synthesized(scenario: &str, directory: &Path) -> PathBuf {
    let recording = directory.join("perf.data");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join(scenario);
    let output = run(perfconv().args(["synth", "-q", "-f"]).arg(scenario).arg("-o").arg(&recording));
    assert_eq!(output.status, 0, "{}", output.stderr);
    recording
}

#[test]
fn rows_of_branches_are_those_of_perf() {
    let directory = tempfile::tempdir().unwrap();
    for (scenario, args, expected) in BRANCH_TEXTS {
        assert_eq!(text(&synthesized(scenario, directory.path()), args), expected, "{scenario} {args:?}");
    }
}

#[test]
fn rows_are_those_of_samples_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let recording = synthesized("scenarios/lbr.toml", directory.path());
    let samples = text(&recording, &["--no-branch-stack", "-s", "comm", "-n"]);
    assert!(samples.contains("# Samples: 1000  of event 'cycles:u'\n"), "{samples}");
    assert!(samples.contains("100.00%          1000  loop   \n"), "{samples}");
}

#[test]
fn refuses_what_it_does_not_print_of_branches() {
    let directory = tempfile::tempdir().unwrap();
    for (scenario, args, status, problem) in [
        ("scenarios/lbr.toml", &["--no-branch-stack", "-s", "dso_from"][..], 129, "'dso_from' is a key of branches"),
        ("scenarios/lbr.toml", &["--symbols", "main"], 129, "--symbols is not supported for branches"),
        ("scenarios/lbr.toml", &["-g"], 255, "has no call chains"),
        ("scenarios/branch-kinds.toml", &[], 255, "branches have types, of which perf prints statistics"),
        ("tests/suite/perf_report/branches.toml", &["-s", "symbol_from"], 255, "instructions per cycle of symbols"),
    ] {
        let output = report(&synthesized(scenario, directory.path()), args);
        assert_eq!((output.status, &output.stdout[..]), (status, &b""[..]), "{args:?}");
        assert!(output.stderr.contains(problem), "{args:?}: {}", output.stderr);
    }
    let without_branches = report(&fixture("callgraph.data"), &["-b"]);
    assert_eq!(without_branches.status, 255);
    assert!(without_branches.stderr.contains("has no branch stacks for --branch-stack"), "{}", without_branches.stderr);
}

#[test]
fn statistics_are_those_of_perf() {
    for (recording, expected) in [
        ("lost.data", include_str!("perf_report/stats.txt")),
        ("pipe.data", include_str!("perf_report/pipe_stats.txt")),
    ] {
        assert_eq!(text(&fixture(recording), &["--stats"]), expected, "{recording}");
    }
}

#[test]
fn names_functions_and_inlined_ones() {
    let files = symbols("files");
    let files = files.to_str().unwrap();
    let shown =
        |args: &[&str]| text(&symbols("words.data"), &[&["--symfs", files, "--percent-limit", "4"], args].concat());
    assert_eq!(shown(&["--no-inline"]), include_str!("perf_report/words.txt"));
    assert!(shown(&[]).contains("--is_letter (inlined)\n"), "{}", shown(&[]));
}

#[test]
fn the_last_limit_of_calls_wins() {
    let calls = |args: &[&str]| text(&fixture("big-endian.data"), &[&["-s", "dso"], args].concat()).lines().count();
    assert_eq!(calls(&["-g", "graph,7", "--percent-limit", "20"]), calls(&["-g", "graph,20", "--percent-limit", "20"]));
    assert!(calls(&["--percent-limit", "20", "-g", "graph,7"]) > calls(&["--percent-limit", "20", "-g", "graph,20"]));
}

#[test]
fn header_precedes_the_report() {
    let header = text(&fixture("two-events.data"), &["--header-only"]);
    let both = text(&fixture("two-events.data"), &["--header"]);
    assert!(both.strip_prefix(&*header).is_some_and(|rest| rest.starts_with("#\n# Total Lost Samples: 0\n")), "{both}");
    let rows = text(&fixture("two-events.data"), &["-q", "-s", "dso"]);
    assert!(!rows.contains('#') && rows.contains("  100.00%  ") || rows.contains("%  forky"), "{rows}");
}

#[test]
fn samples_are_selected_by_time_and_cpu() {
    let part = text(&fixture("callgraph.data"), &["-s", "comm", "-g", "none", "--time", "1806.65,1806.70"]);
    assert!(part.contains("# Samples: 178  of event 'cpu-clock' (time slices: 1806.65,1806.70)\n"), "{part}");
    let cpu = text(&fixture("system-wide.data"), &["-s", "cpu", "-g", "none", "--cpu", "1"]);
    assert!(cpu.contains("\n   100.00%   100.00%  001\n") && cpu.contains("# Samples: 3 "), "{cpu}");
    let columns = text(&fixture("system-wide.data"), &["-q", "-g", "none", "-F", "cpu,sample", "-w", "5"]);
    assert_eq!(columns, "  00000             4\n  00001             3\n\n\n");
}

#[test]
fn events_without_a_group_are_one_on_request() {
    let names = |args: &[&str]| {
        let text = text(&fixture("two-events.data"), &[&["-s", "dso"], args].concat());
        text.lines().filter_map(|line| line.strip_prefix("# Samples: ").map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), ["12  of event 'cpu-clock'", "12  of event 'task-clock'"]);
    assert_eq!(names(&["--group"]), ["24  of events 'cpu-clock, task-clock'"]);
    // perf has the plural, too.
    assert_eq!(names(&["--no-group"]), ["12  of events 'cpu-clock'", "12  of event 'task-clock'"]);
}

#[test]
fn refuses_what_it_does_not_print() {
    for (recording, args, problem) in [
        ("callgraph.data", &["--tasks"][..], "--tasks is not supported: use 'perf script --show-task-events'"),
        ("callgraph.data", &["--stats", "--time", "10%"], "--stats counts all records; omit --time"),
        ("callgraph.data", &["-v"], "--verbose is not supported"),
        ("callgraph.data", &["-s", "srcline"], "--sort 'srcline' is not supported: use pid, comm, dso, symbol, cpu"),
        ("callgraph.data", &["-s", "bogus"], "unknown --sort key: 'bogus'"),
        ("callgraph.data", &["-F", "+sample"], "--fields '+sample' is not supported"),
        ("callgraph.data", &["-g", "fractal"], "--call-graph 'fractal' is not supported"),
        ("callgraph.data", &["-g", "bogus"], "--call-graph: unknown value 'bogus'"),
        ("callgraph.data", &["-t", "."], "'.' is the only non valid --field-separator argument"),
        ("callgraph.data", &["--no-skip-empty"], "--no-skip-empty is not supported"),
        ("callgraph.data", &["--stdio-color", "always"], "the text has no colors"),
        ("callgraph.data", &["operand"], "unexpected argument 'operand'"),
        ("group-read.data", &["--time", "10%-50%"], "has counters in samples"),
    ] {
        let output = report(&fixture(recording), args);
        assert_eq!((output.status, &output.stdout[..]), (129, &b""[..]), "{args:?}");
        assert!(output.stderr.contains(problem), "{args:?}: {}", output.stderr);
    }
    let without_chains = report(&fixture("two-events.data"), &["-g"]);
    assert_eq!(without_chains.status, 255);
    assert!(without_chains.stderr.contains("has no call chains"), "{}", without_chains.stderr);
    let by_text = text(&fixture("tracepoints.data"), &[]);
    assert!(by_text.contains("comm=forky pid=5921 child_comm=forky child_pid=5923"), "{by_text}");
    let tracepoints = text(&fixture("tracepoints.data"), &["-s", "comm,dso"]);
    assert!(tracepoints.contains("of event 'sched:sched_switch'"), "{tracepoints}");
}
