//! Runs the program and reads what it says and writes.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use flate2::read::GzDecoder;
use perfconv::formats::pprof::proto::{Profile, ValueType};
use prost::Message;

/// The program, stopped where it hangs.
pub fn perfconv() -> Command {
    let mut command = with_time_limit(env!("CARGO_BIN_EXE_perfconv"));
    command.stdin(Stdio::null());
    command
}

/// The program as its own process, which signals end, also where whoever runs the tests has them ignored.
pub fn perfconv_with_signals() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_perfconv")]);
    command
}

/// Notes that a program is missing that outputs are compared with: a failure where all of them are required.
pub fn oracle_is_missing(program: &str) {
    let is_required = std::env::var_os("PERFCONV_REQUIRE_ORACLES").is_some_and(|value| value == "1");
    assert!(!is_required, "{program} is missing, and PERFCONV_REQUIRE_ORACLES=1 requires it");
}

/// A program that is stopped, with status 124, where it hangs; its status is 127 where it is missing.
pub fn with_time_limit(program: &str) -> Command {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&on_path).any(|directory| directory.join(program).is_file()) {
        oracle_is_missing(program);
    }
    let mut command = Command::new("timeout");
    command.args(["60", program]);
    command
}

/// `perfconv INPUT -o OUTPUT`.
pub fn convert(input: &Path, output: &Path) -> Run {
    run(perfconv().arg(input).arg("-o").arg(output))
}

/// What a run left behind.
#[derive(Debug)]
pub struct Run {
    /// The exit status; -1 where a signal ended the program.
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Runs the program to its end.
pub fn run(command: &mut Command) -> Run {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    Run {
        status: output.status.code().unwrap_or(-1),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Runs a program that is not ours to its end: what it says need not be UTF-8.
pub fn run_other(command: &mut Command) -> Run {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Run { status: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
}

impl Run {
    /// The ledger of a success: the last line, after nothing but warnings and the line about frames without names.
    pub fn ledger(&self) -> Result<Ledger, String> {
        if self.status != 0 && self.status != 3 {
            return Err(format!("exit status {}: {}", self.status, self.stderr));
        }
        let lines = self.lines();
        let (ledger, warnings) = lines.split_last().ok_or("no ledger")?;
        let is_known = |line: &&&str| line.starts_with(WARNING) || line.ends_with(UNNAMED);
        if let Some(other) = warnings.iter().find(|line| !is_known(line)) {
            return Err(format!("neither a warning nor the ledger: {other}"));
        }
        Ledger::parse(ledger).ok_or(format!("not a ledger: {ledger}"))
    }

    /// What the warnings say, without their prefix.
    pub fn warnings(&self) -> Vec<&str> {
        self.lines().iter().filter_map(|line| line.strip_prefix(WARNING)).collect()
    }

    /// The sentence of a failure: exit status 1, one line on standard error that names the program, nothing else.
    pub fn failure(&self) -> Result<&str, String> {
        let lines = self.lines();
        match (self.status, &lines[..], &self.stdout[..]) {
            (1, &[line], []) => line.strip_prefix("perfconv: ").ok_or(format!("the program is not named: {line}")),
            _ => Err(format!("not a failure with one sentence: {self:?}")),
        }
    }

    fn lines(&self) -> Vec<&str> {
        self.stderr.lines().collect()
    }
}

const WARNING: &str = "perfconv: warning: ";
/// How the line about frames without names ends.
const UNNAMED: &str = "; pprof can add names where the binaries are";

/// `[ perfconv: out.pb.gz: 712 samples in, 709 out, 3 dropped (2 of unknown event, 1 damaged), 80 bytes not readable ]`, and behind semicolons
/// what was dropped that is no sample and what the kernel lost.
#[derive(Debug, PartialEq)]
pub struct Ledger {
    pub output: String,
    pub samples_in: u64,
    pub samples_out: u64,
    pub dropped: u64,
    pub reasons: Vec<(u64, String)>,
    /// Bytes of the input that could not be read.
    pub unread: u64,
    /// Records other than samples that were dropped.
    pub others_dropped: u64,
    /// Records about lost events, and the samples lost by them.
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
        let (counts, unread) = match counts.strip_suffix(" bytes not readable").and_then(|rest| rest.rsplit_once(", "))
        {
            Some((counts, unread)) => (counts, unread.parse().ok()?),
            None => (counts, 0),
        };
        // What values sum to stands behind their number.
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
            samples_in: counted(samples_in, &["sample in", "samples in", "values in", "stacks in"])?,
            samples_out: counted(samples_out, &["out"])?,
            dropped: counted(dropped, &["dropped"])?,
            reasons: reasons.iter().map(|reason| number(reason)).collect::<Option<_>>()?,
            unread,
            others_dropped,
            lost,
        })
    }
}

/// `12 samples` as 12, if that is what is counted.
fn counted(text: &str, units: &[&str]) -> Option<u64> {
    let (count, unit) = number(text)?;
    units.contains(&&unit[..]).then_some(count)
}

fn number(text: &str) -> Option<(u64, String)> {
    let (count, what) = text.split_once(' ')?;
    Some((count.parse().ok()?, what.into()))
}

/// The profile in a gzip file.
pub fn profile(path: &Path) -> Profile {
    decode(&fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// The profile in gzipped bytes.
pub fn decode(bytes: &[u8]) -> Profile {
    let mut message = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut message).expect("the output is gzip");
    Profile::decode(&message[..]).expect("the output is a profile")
}

/// Type and unit of a column.
pub fn column<'a>(profile: &'a Profile, column: &ValueType) -> (&'a str, &'a str) {
    (&profile.string_table[column.r#type as usize], &profile.string_table[column.unit as usize])
}

/// Calls the function for each of the items, on two threads, and returns the results in their order.
pub fn for_each<T: Sync, R: Send>(items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
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
        let other = scope.spawn(worker);
        let mut results = worker();
        results.extend(other.join().expect("a worker ends"));
        results
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}
