//! Progress of long work: lines of text or JSON if asked for.

use crate::common::files::fixture;
use crate::common::program::{perfconv, run};
use crate::common::progress::write_large;
use serde_json::Value;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A conversion to JSON Lines that waits until its output is read.
struct Waiting(Child);

impl Waiting {
    fn start(input: &Path, options: &[&str]) -> Self {
        let mut command = perfconv();
        command.arg(input).args(["-t", "jsonl", "-o", "-"]).args(options);
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for lines on standard error that show progress, reads the output, and returns the exit status and all lines.
    fn finish_after(mut self, count: usize, is_progress: fn(&str) -> bool) -> (Option<i32>, Vec<String>) {
        let mut messages = BufReader::new(self.0.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut lines: Vec<String> = Vec::new();
        while lines.iter().filter(|line| is_progress(line)).count() < count {
            lines.push(messages.next().expect("progress"));
        }
        let mut output = self.0.stdout.take().unwrap();
        let reader = thread::spawn(move || io::copy(&mut output, &mut io::sink()).unwrap());
        lines.extend(messages);
        assert!(reader.join().unwrap() > 1 << 20, "the output should not fit in a pipe");
        (self.0.wait().unwrap().code(), lines)
    }
}

#[test]
fn pipes_get_progress_only_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("large.data");
    write_large(&input);
    // They run as long as those with progress, of which each prints two lines before its output is read.
    let silent = [&[][..], &["--progress", "auto"], &["--progress", "never"]];
    let silent = silent.map(|options| (options, Waiting::start(&input, options)));
    let [text, json] = [&["--progress", "always"][..], &["--progress", "json", "--report", "json"]]
        .map(|options| Waiting::start(&input, options));

    // On a busy machine, lines before and after these show that nothing is read yet, and other work.
    let is_text = |line: &str| line.starts_with("perfconv: reading large.data: ") && line.contains("%, ");
    let (status, text) = text.finish_after(2, is_text);
    let lines: Vec<_> = text.iter().filter(|line| is_text(line)).collect();
    assert!(status == Some(0) && lines.len() >= 2, "{text:?}");
    assert!(lines.iter().all(|line| line.contains("iB of ")), "{lines:?}");

    let is_json = |line: &str| line.contains(r#""work":"reading""#) && !line.contains(r#""done":0,"#);
    let (status, json) = json.finish_after(2, is_json);
    for (options, silent) in silent {
        let (status, lines) = silent.finish_after(0, |_| true);
        assert_eq!((status, lines.len()), (Some(0), 1), "{options:?}: {lines:?}");
    }
    let report: Value = serde_json::from_str(json.last().expect("a report")).expect("JSON");
    let lines = json.iter().filter(|line| is_json(line));
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(status == Some(0) && lines.len() >= 2 && report["samples"].is_object(), "{json:?}");
    let size = std::fs::metadata(&input).unwrap().len();
    for line in &lines {
        let progress = &line["progress"];
        assert_eq!((&progress["work"], &progress["unit"]), (&"reading".into(), &"bytes".into()), "{line}");
        let (done, total) = (progress["done"].as_u64().unwrap(), progress["total"].as_u64().unwrap());
        assert!(0 < done && done <= total && total <= size && total > size / 2, "{line}");
        assert!(progress["elapsed_seconds"].as_f64().is_some_and(|seconds| seconds >= 1.0), "{line}");
    }
}

/// Work that takes less than a second shows nothing even if asked for.
#[test]
fn short_work_shows_nothing() {
    // On a busy machine it may take longer.
    let is_short = (0..100).any(|_| {
        let began = Instant::now();
        let run = run(perfconv().args(["info", "--progress", "always", "--events"]).arg(fixture("plain.data")));
        let is_short = began.elapsed() < Duration::from_secs(1);
        assert!(!is_short || (run.status, &*run.stderr) == (0, ""), "{run:?}");
        is_short
    });
    assert!(is_short, "it should take less than a second");
    let wrong = crate::common::program::run(Command::new(env!("CARGO_BIN_EXE_perfconv")).args(["--progress", "maybe"]));
    assert!(wrong.status == 2 && wrong.stderr.contains("invalid value 'maybe'"), "{}", wrong.stderr);
}
