//! Runs the program, and parses its messages and outputs.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::oracle::has_program;
use flate2::read::GzDecoder;
use perfconv::formats::pprof::proto::{Profile, ValueType};
use prost::Message;

/// A command of the program, with a time limit.
pub(crate) fn perfconv() -> Command {
    let mut command = with_time_limit(env!("CARGO_BIN_EXE_perfconv"));
    command.stdin(Stdio::null());
    command
}

/// A command of the program without a wrapper process, to be signalled, with default signal handling even if the test runner
/// ignores signals.
pub(crate) fn perfconv_with_signals() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_perfconv")]);
    command
}

/// A command with a time limit. The exit status is 124 on a timeout, and 127 if the program is missing.
pub(crate) fn with_time_limit(program: &str) -> Command {
    has_program(program);
    let mut command = Command::new("timeout");
    // For hangs: a busy machine takes many times as long.
    command.args(["300", program]);
    command
}

/// Runs `perfconv rewrite INPUT -o OUTPUT` with more arguments.
pub(crate) fn rewrite(input: &Path, output: &Path, args: &[&str]) -> Result<(), String> {
    try_run(perfconv().arg("rewrite").arg(input).args(["-f", "-q", "-o"]).arg(output).args(args)).map(drop)
}

/// Runs `perfconv INPUT -o OUTPUT`.
pub(crate) fn convert(input: &Path, output: &Path) -> Run {
    run(perfconv().arg(input).arg("-o").arg(output))
}

/// The results of a run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit status; -1 if a signal ended the program.
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Runs the program until it exits.
pub(crate) fn run(command: &mut Command) -> Run {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Run {
        status: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).expect("messages should be UTF-8"),
    }
}

/// Runs the program. Returns its messages if it fails.
pub(crate) fn try_run(command: &mut Command) -> Result<Run, String> {
    let run = run(command);
    if run.status == 0 { Ok(run) } else { Err(run.stderr) }
}

/// Runs the program, which must succeed.
#[track_caller]
pub(crate) fn succeed(command: &mut Command) -> Run {
    let run = run(command);
    assert_eq!(run.status, 0, "{command:?}: {}", run.stderr);
    run
}

/// Runs another program, whose messages need not be UTF-8.
pub(crate) fn run_other(command: &mut Command) -> Run {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Run { status: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
}

/// Sends a signal, such as TERM, to a process; returns whether it still existed. The shell has this command, which is a program of
/// its own in few containers.
pub(crate) fn send_signal(child: &Child, name: &str) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill -s \"$1\" \"$2\" 2>/dev/null", "sh", name, &child.id().to_string()]);
    shell.status().expect("a shell").success()
}

impl Run {
    /// The ledger of a success: the last line, preceded only by warnings and the line about frames without names.
    pub(crate) fn ledger(&self) -> Result<Ledger, String> {
        if self.status != 0 && self.status != 3 {
            return Err(format!("exit status {}: {}", self.status, self.stderr));
        }
        let lines = self.lines();
        let (ledger, warnings) = lines.split_last().ok_or("no ledger")?;
        let is_change = |line: &str| CHANGES.iter().any(|change| line.starts_with(change));
        let is_known = |line: &&&str| line.starts_with(WARNING) || is_unnamed(line) || is_change(line);
        if let Some(other) = warnings.iter().find(|line| !is_known(line)) {
            return Err(format!("neither a warning nor the ledger: {other}"));
        }
        Ledger::parse(ledger).ok_or(format!("not a ledger: {ledger}"))
    }

    /// The warnings, without their prefix.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.lines().iter().filter_map(|line| line.strip_prefix(WARNING)).collect()
    }

    /// The message of a failure: exit status 1, and a single line on standard error.
    pub(crate) fn failure(&self) -> Result<&str, String> {
        let lines = self.lines();
        match (self.status, &lines[..], &self.stdout[..]) {
            (1, &[line], []) => line.strip_prefix("perfconv: ").ok_or(format!("no program name: {line}")),
            _ => Err(format!("not a failure with one line: {self:?}")),
        }
    }

    fn lines(&self) -> Vec<&str> {
        self.stderr.lines().collect()
    }
}

const WARNING: &str = "perfconv: warning: ";
/// Lines about what passes changed.
const CHANGES: [&str; 3] =
    ["perfconv: anonymized: ", "perfconv: reconstructed from records: ", "perfconv: hardware trace ("];

/// Whether this is a line about frames without names: their share, or an object.
fn is_unnamed(line: &str) -> bool {
    line.contains(" of innermost frames have no function name (") || line.starts_with("perfconv:   ")
}

/// `[ perfconv: out.pb.gz: 712 samples in, 709 out, 3 dropped (2 of unknown event, 1 damaged), 80 bytes unreadable ]`. Dropped
/// records other than samples, and events lost by the kernel, follow after semicolons.
#[derive(Debug, PartialEq)]
pub(crate) struct Ledger {
    pub output: String,
    pub samples_in: u64,
    pub samples_out: u64,
    pub dropped: u64,
    pub reasons: Vec<(u64, String)>,
    /// Unreadable bytes of the input.
    pub unread: u64,
    /// Dropped records other than samples.
    pub others_dropped: u64,
    /// Records about lost events, and the number of lost samples.
    pub lost: Option<(u64, u64)>,
}

impl Ledger {
    fn parse(line: &str) -> Option<Ledger> {
        let line = line.strip_prefix("[ perfconv: ")?.strip_suffix(" ]")?;
        let mut parts = line.split("; ");
        let (output, counts) = parts.next()?.rsplit_once(": ")?;
        let (mut others_dropped, mut lost) = (0, None);
        for part in parts {
            if let Some((records, samples)) = part.strip_prefix("lost by the kernel: ").and_then(|p| p.split_once(", "))
            {
                lost = Some((counted(records, &["record", "records"])?, counted(samples, &["sample", "samples"])?));
            } else {
                let (count, _) = part.split_once(" (")?;
                others_dropped = counted(count, &["other record dropped", "other records dropped"])?;
            }
        }
        let unreadable = counts.strip_suffix(" bytes unreadable").or(counts.strip_suffix(" byte unreadable"));
        let (counts, unread) = match unreadable.and_then(|rest| rest.rsplit_once(", ")) {
            Some((counts, unread)) => (counts, unread.parse().ok()?),
            None => (counts, 0),
        };
        // Skip sums of values, in parentheses after the number of values.
        let without_sums = counts.split_once(" in (").map(|(values, rest)| {
            let rest = rest.split_once(')').map_or("", |(_, rest)| rest);
            format!("{values} in{rest}")
        });
        let counts = without_sums.as_deref().unwrap_or(counts);
        let (counts, reasons) = match counts.split_once(" (") {
            Some((counts, reasons)) => (counts, reasons.strip_suffix(")")?.split(", ").collect()),
            None => (counts, Vec::new()),
        };
        let &[samples_in, samples_out, dropped] = &counts.split(", ").collect::<Vec<_>>()[..] else { return None };
        Some(Ledger {
            output: output.into(),
            samples_in: counted(
                samples_in,
                &["sample in", "samples in", "value in", "values in", "stack in", "stacks in"],
            )?,
            samples_out: counted(samples_out, &["out"])?,
            dropped: counted(dropped, &["dropped"])?,
            reasons: reasons.iter().map(|reason| number(reason)).collect::<Option<_>>()?,
            unread,
            others_dropped,
            lost,
        })
    }
}

/// Parses `12 samples` as 12, if the unit matches.
fn counted(text: &str, units: &[&str]) -> Option<u64> {
    let (count, unit) = number(text)?;
    units.contains(&&unit[..]).then_some(count)
}

fn number(text: &str) -> Option<(u64, String)> {
    let (count, what) = text.split_once(' ')?;
    Some((count.parse().ok()?, what.into()))
}

/// Reads the profile in a gzip file.
pub(crate) fn profile(path: &Path) -> Profile {
    decode(&fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Decodes a gzipped profile.
pub(crate) fn decode(bytes: &[u8]) -> Profile {
    let mut message = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut message).expect("the output should be gzip");
    Profile::decode(&message[..]).expect("the output should be a profile")
}

/// The type and unit of a column.
pub(crate) fn column<'a>(profile: &'a Profile, column: &ValueType) -> (&'a str, &'a str) {
    (&profile.string_table[column.r#type as usize], &profile.string_table[column.unit as usize])
}

/// Calls a function for each item, on two threads, and returns the results in order. A comparison of nothing is a failure.
pub(crate) fn for_each<T: Sync, R: Send>(items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
    assert!(!items.is_empty(), "there is nothing to test");
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut results = Vec::new();
        while let Some((index, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, items.get(i)?)))
        {
            results.push((index, function(item)));
        }
        results
    };
    let mut results = thread::scope(|scope| {
        // Notes have the name of the test.
        let name = thread::current().name().unwrap_or_default().to_owned();
        let other = thread::Builder::new().name(name).spawn_scoped(scope, worker).expect("a thread should start");
        let mut results = worker();
        results.extend(other.join().expect("a worker should end"));
        results
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
