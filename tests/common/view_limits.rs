//! Recordings with very long or hostile names.

use crate::common::program::{Run, perfconv, run, succeed};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) const MEGABYTE: usize = 1 << 20;

/// A process that is always in `main`.
pub(crate) const PROCESS: &str = r#"
[[process]]
pid = 100
comm = "app"
programs = ["/app"]

[[process.thread]]
stack = [{ percent = 100, frames = ["main"] }]
"#;

/// A generated recording, with the files of its programs.
pub(crate) struct Recording {
    pub(crate) directory: TempDir,
}

impl Recording {
    /// The recording of a scenario.
    pub(crate) fn new(scenario: &str) -> Self {
        let recording = Self { directory: tempfile::tempdir().expect("a temporary directory") };
        fs::write(recording.at("in.toml"), scenario).expect("a scenario");
        let mut synth = perfconv();
        synth.arg("synth").arg(recording.at("in.toml")).arg("-o").arg(recording.at("in.data"));
        succeed(synth.arg("--images").arg(recording.at("images")));
        recording
    }

    /// A recording in which a thread of this name spends equal time in each of these functions.
    pub(crate) fn with_functions(comm: &str, functions: &[&str]) -> Self {
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
    pub(crate) fn with_threads() -> Self {
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
    pub(crate) fn with_events() -> Self {
        let event =
            |number| event(&format!("event{number}"), &format!("attr = {{ kind = 4, config = {} }}", number + 1));
        let events: String = (0..2000).map(event).collect();
        Self::new(&scenario(&events, "\"main\"", PROCESS).replace("\"1s\"", "\"10ms\""))
    }

    pub(crate) fn without_samples() -> Self {
        Self::new(&scenario(&event("cycles:u", "").replace("rate = 100", "rate = 0"), "\"main\"", PROCESS))
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Converts the recording.
    pub(crate) fn convert(&self, format: &str, args: &[&str]) -> Run {
        let mut command = perfconv();
        command.arg(self.at("in.data")).args(["-t", format, "-o", "-", "--symfs"]).arg(self.at("images"));
        run(command.args(args).env("HOME", "/nonexistent"))
    }

    /// The recording in a format that is text.
    pub(crate) fn text(&self, format: &str, args: &[&str]) -> String {
        let run = self.convert(format, &[&["-q"], args].concat());
        assert_eq!((run.status, &*run.stderr), (0, ""), "{format} {args:?}");
        String::from_utf8(run.stdout).expect("UTF-8")
    }
}

pub(crate) fn scenario(events: &str, functions: &str, processes: &str) -> String {
    let program = format!("[[program]]\npath = \"/app\"\nfunctions = [{functions}]\n");
    format!("about = \"Limits of views\"\nseed = 1\nduration = \"1s\"\n{events}{program}{processes}")
}

/// An event, with further keys.
pub(crate) fn event(name: &str, keys: &str) -> String {
    format!("[[event]]\nname = {}\nrate = 100\nfields = [\"CALLCHAIN\"]\n{keys}\n", quoted(name))
}

/// A string as in TOML, which has the escapes of JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\x7f', "\\u007f")
}

/// Whether a character could control a terminal or reverse a line.
pub(crate) fn is_unsafe(char: char) -> bool {
    !matches!(char, '\n' | '\t')
        && (char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
}
