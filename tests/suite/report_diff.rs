//! `report --diff`: functions before and after, noise, and the exit status of `--fail-above`.

use crate::common::program::{Run, perfconv, run};
use crate::common::scenarios::{with_names, work_and_wait};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Recordings of a program with shares that are known.
struct Recordings {
    directory: TempDir,
}

impl Recordings {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A recording of `app` with 100 samples of each event a second, of which these percentages are in `work`.
    fn recording(&self, name: &str, events: &[&str], seconds: u32, work: u32) -> PathBuf {
        work_and_wait(self.directory.path(), name, "app", (events, seconds, work))
    }

    fn report(&self, after: &Path, before: &Path, args: &[&str]) -> Run {
        let mut command = perfconv();
        command.arg("report").arg(after).arg("--diff").arg(before).arg("--symfs").arg(self.path("images")).arg("-q");
        run(command.args(args).env("HOME", "/nonexistent"))
    }
}

fn text(run: &Run) -> String {
    String::from_utf8(run.stdout.clone()).expect("UTF-8")
}

#[test]
fn changes_are_sorted_and_noise_is_marked() {
    let recordings = Recordings::new();
    let before = recordings.recording("before.data", &["cycles:u"], 10, 30);
    let after = recordings.recording("after.data", &["cycles:u"], 20, 41);
    let run = recordings.report(&after, &before, &[]);
    assert_eq!((run.status, &*run.stderr), (0, ""));
    // The noise of work, with one more sample of each kind: 2 sqrt(301 * 701 / 1002^3 + 821 * 1181 / 2002^3) = 3.6364 %.
    let expected = "\
cycles:u: 2000 samples, 200000000 events
before: cycles:u: 1000 samples, 100000000 events
 before    after   change    noise           value  sym
 30.00%   41.00%   +11.00     3.64       +52000000  work
 70.00%   59.00%   -11.00     3.64       +48000000  wait
100.00%  100.00%    +0.00~    0.22      +100000000  main
~ at most the noise: two standard errors of the samples
";
    assert_eq!(text(&run), expected);
    let similar = recordings.recording("similar.data", &["cycles:u"], 10, 33);
    let lines = text(&recordings.report(&similar, &before, &["--sort", "dso,sym", "--limit", "1"]));
    assert!(lines.contains("\n 30.00%   33.00%    +3.00~"), "{lines}");
    assert!(lines.contains("app  work\n2 more entries below the limit\n"), "{lines}");
    let colored = text(&recordings.report(&after, &before, &["--color", "always"]));
    assert!(colored.contains("\x1b[31m  +11.00 \x1b[0m") && colored.contains("\x1b[32m  -11.00 \x1b[0m"), "{colored}");
}

#[test]
fn functions_that_grew_have_an_exit_status() {
    let recordings = Recordings::new();
    let before = recordings.recording("before.data", &["cycles:u"], 10, 30);
    let after = recordings.recording("after.data", &["cycles:u"], 10, 41);
    let similar = recordings.recording("similar.data", &["cycles:u"], 10, 33);
    let status = |after: &Path, before: &Path, args: &[&str]| {
        let run = recordings.report(after, before, args);
        (run.status, run.stderr)
    };
    let message = "perfconv: cycles:u: work grew from 30.00% to 41.00%: +11.00 points, of which 4.25 can be noise\n";
    assert_eq!(status(&after, &before, &["--fail-above", "5"]), (4, message.to_owned()));
    assert_eq!(status(&after, &before, &["--fail-above", "12"]), (0, String::new()));
    assert_eq!(status(&similar, &before, &["--fail-above", "1"]), (0, String::new()), "three points can be noise");
    assert_eq!(status(&before, &before, &["--fail-above", "0"]), (0, String::new()));
    // Waits shrank for each, and grow the other way round.
    assert!(status(&before, &after, &["--fail-above", "5"]).1.contains(": wait grew from 59.00% to 70.00%: "));
    let longer = recordings.recording("longer.data", &["cycles:u"], 20, 41);
    let message = "perfconv: cycles:u: the sum grew from 100000000 to 200000000: +100.00%\n";
    assert_eq!(status(&longer, &before, &["--fail-above-total", "99"]), (4, message.to_owned()));
    assert_eq!(status(&longer, &before, &["--fail-above-total", "100%"]), (0, String::new()));
    assert_eq!(status(&before, &longer, &["--fail-above-total", "0"]), (0, String::new()));
    let both = status(&longer, &before, &["--fail-above-total", "0", "--fail-above", "5"]);
    assert_eq!((both.0, both.1.lines().count()), (4, 2), "{}", both.1);
    // Outputs of all forms are written all the same.
    for name in ["out.csv", "out.json", "out.md", "out.txt"] {
        let output = recordings.path(name);
        let args = ["--fail-above", "5", "-o", output.to_str().expect("a path")];
        assert_eq!(status(&after, &before, &args).0, 4, "{name}");
        assert!(fs::read_to_string(&output).expect("an output").contains("work"), "{name}");
    }
    let mut command = perfconv();
    let run = run(command.arg("report").arg(&after).args(["--fail-above", "5"]));
    assert!(run.status == 2 && run.stderr.contains("--diff"), "{}", run.stderr);
}

#[test]
fn other_forms_have_the_same_numbers() {
    let recordings = Recordings::new();
    let before = recordings.recording("before.data", &["cycles:u"], 10, 30);
    let after = recordings.recording("after.data", &["cycles:u"], 20, 41);
    let json: Value = serde_json::from_str(&text(&recordings.report(&after, &before, &["--json"]))).expect("JSON");
    let entry = &json["entries"][0];
    assert_eq!((&entry["sym"], &entry["is_noise"]), (&"work".into(), &false.into()));
    assert_eq!((entry["change"].as_f64(), entry["noise"].as_f64()), (Some(11.0), Some(3.6364)), "{entry}");
    assert_eq!((&entry["before"]["self"]["samples"], &entry["after"]["total"]["samples"]), (&300.into(), &820.into()));
    assert_eq!(json["events"][0]["before"]["samples"], 1000);
    let csv = text(&recordings.report(&after, &before, &["--csv", "--no-children"]));
    let mut lines = csv.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("of_event,sym,before_total_samples,")), "{csv}");
    let line = "cycles:u,work,300,30000000,300,30000000,820,82000000,820,82000000,11.0000,3.6364";
    assert_eq!(lines.next(), Some(line));
    let mut command = perfconv();
    command.arg(&after).args(["-t", "markdown", "-q", "--diff"]).arg(&before).arg("--symfs");
    let markdown = text(&run(command.arg(recordings.path("images")).env("HOME", "/nonexistent")));
    assert!(markdown.contains("\n| 30.0% | 41.0% | +11.0 | 3.6 | `work` |\n"), "{markdown}");
    assert!(markdown.contains("\n| 100.0% | 100.0% | ~ +0.0 | 0.2 | `main` |\n"), "{markdown}");
}

#[test]
fn events_are_compared_by_name_or_if_each_recording_has_one() {
    let recordings = Recordings::new();
    let cycles = recordings.recording("cycles.data", &["cycles:u"], 10, 30);
    let clock = recordings.recording("clock.data", &["instructions:u"], 10, 41);
    let both = recordings.recording("both.data", &["cycles:u", "instructions:u"], 10, 30);
    let neither = recordings.recording("neither.data", &["branches:u", "cache-misses:u"], 10, 30);
    let other = text(&recordings.report(&clock, &cycles, &[]));
    assert!(
        other.starts_with("instructions:u: 1000 samples") && other.contains("\nbefore: cycles:u: 1000 "),
        "{other}"
    );
    let common = text(&recordings.report(&both, &clock, &[]));
    assert!(common.starts_with("instructions:u: ") && !common.contains("cycles"), "{common}");
    let run = recordings.report(&neither, &both, &[]);
    let message =
        "the recordings have no event in common: cycles:u, instructions:u before, branches:u, cache-misses:u after";
    assert!(run.status == 1 && run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn images_compare_functions_of_renamed_programs() {
    let recordings = Recordings::new();
    let recording = |name: &str, program: &str, work: u32| {
        with_names(&work_and_wait(recordings.directory.path(), name, program, (&["cycles:u"], 10, work)))
    };
    let (before, after) = (recording("before.data", "app-old", 30), recording("after.data", "app-new", 41));
    let image = |args: &[&str]| {
        let mut command = perfconv();
        command.arg(&after).args(["-t", "flamegraph", "-q", "--diff"]).arg(&before);
        text(&run(command.args(args).env("HOME", "/nonexistent")))
    };
    let default = image(&[]);
    assert!(default.contains("<title>work (41,000,000 events, 41.00%; +11.00%)"), "{default}");
    assert!(
        default.contains("<title>main (100,000,000 events, 100.00%; 0.00%)") && !default.contains("app-new"),
        "{default}"
    );
    let with_names = image(&["--labels", "comm"]);
    assert!(with_names.contains("<title>app-new (100,000,000 events, 100.00%; 0.00%)"), "{with_names}");
}
