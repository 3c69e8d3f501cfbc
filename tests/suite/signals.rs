//! Ends every command that writes, and three that read, with signals at random moments: the output is the old one or complete,
//! inputs are unchanged, and temporary files are left only by SIGKILL, under recognizable names.
//!
//! The moments are reproducible within the clock's accuracy. `PERFCONV_TEST_ALL=1` tests many more.

use crate::common::files::{Files, files_in, fixture, has_temporary, is_temporary};
use crate::common::program::{for_each, perfconv, perfconv_with_signals, run};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};
use tempfile::TempDir;

/// A command: `IN` stands for a large recording and files converted from it, `OTHER` for another recording, `OUT` for the
/// output. The old output is written with `OTHER` in place of `IN`.
type Run = (&'static str, &'static [&'static str]);

const RUNS: &[Run] = &[
    ("convert to pprof", &["convert", "IN", "-f", "-o", "OUT.pb.gz"]),
    ("convert to JSON", &["convert", "IN", "-f", "-o", "OUT.jsonl"]),
    ("convert to tables", &["convert", "IN", "-f", "-t", "csv", "-o", "OUT"]),
    ("convert to a PerfDataProto", &["convert", "IN", "-f", "-o", "OUT.pb_data"]),
    ("convert to profiles", &["convert", "IN", "--split-by", "pid", "-f", "-o", "OUT"]),
    ("convert several", &["convert", "IN", "IN2", "-J", "2", "-f", "--out-dir", "OUT"]),
    #[cfg(feature = "parquet")]
    ("convert to a dataset", &["convert", "IN", "OTHER", "-J", "2", "-f", "-t", "parquet", "-o", "OUT"]),
    #[cfg(feature = "parquet")]
    ("convert to one Parquet table", &["convert", "IN", "-f", "-o", "OUT.parquet"]),
    ("JSON to a recording", &["convert", "IN.jsonl", "-f", "-o", "OUT.data"]),
    ("PerfDataProto to a recording", &["convert", "IN.pb_data", "-f", "-o", "OUT.data"]),
    ("profile to a recording and images", &["convert", "IN.txt", "--from", "perf-script", "-f", "-o", "OUT.data"]),
    ("rewrite", &["rewrite", "IN", "--sort", "--compress", "-f", "-o", "OUT.data"]),
    ("rewrite to a directory", &["rewrite", "IN", "--container", "dir", "-f", "-o", "OUT.data"]),
    ("rewrite, anonymized", &["rewrite", "IN", "--anonymize", "--key", "KEY", "-f", "-o", "OUT.data"]),
    ("inject", &["inject", "-b", "-i", "IN", "-f", "-o", "OUT.data"]),
    ("repair", &["repair", "IN", "-f", "-o", "OUT.data"]),
    ("merge", &["merge", "IN", "OTHER", "-f", "-o", "OUT.data"]),
    ("split", &["split", "IN", "--by", "samples=100", "-f", "-o", "OUT"]),
    ("synth", &["synth", "SCENARIO", "-f", "-o", "OUT.data"]),
    ("archive", &["archive", "IN", "-f", "-o", "OUT.tar.zst"]),
    ("unpack", &["archive", "--unpack", "IN.tar.zst", "-f", "-o", "OUT"]),
    ("check", &["check", "IN"]),
    ("dump", &["dump", "IN", "--order", "time"]),
    ("diff", &["diff", "IN", "OTHER"]),
];

const SIGNALS: [(&str, i32); 3] = [("INT", 2), ("TERM", 15), ("KILL", 9)];

/// The number of moments of each command and signal.
fn moments() -> u32 {
    if env::var_os("PERFCONV_TEST_ALL").is_some() { 250 } else { 4 }
}

/// A directory with inputs, outputs and temporary files.
struct WorkDir {
    dir: TempDir,
    inputs: Files,
}

impl WorkDir {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["in", "out", "spool"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let inputs = dir.path().join("in");
        // Large enough to be interrupted while it is read.
        let merged = run(perfconv()
            .arg("merge")
            .args([&fixture("callgraph.data"); 4])
            .args(["--offset-pids", "-q", "-o"])
            .arg(inputs.join("IN")));
        assert_eq!(merged.status, 0, "{}", merged.stderr);
        fs::copy(fixture("callgraph.data"), inputs.join("OTHER")).unwrap();
        for name in ["IN", "OTHER"] {
            let input = inputs.join(name);
            fs::copy(&input, inputs.join(format!("{name}2"))).unwrap();
            for (command, ending) in [("convert", "jsonl"), ("convert", "pb_data"), ("archive", "tar.zst")] {
                let converted = inputs.join(format!("{name}.{ending}"));
                let output = run(perfconv().arg(command).arg(&input).args(["-q", "-o"]).arg(converted));
                assert_eq!(output.status, 0, "{name}.{ending}: {}", output.stderr);
            }
            // Each function is in a file of its own, so that many directories are created.
            let stack = |n| format!("\t1000 f{n}+0x0 (/bin/{n}/a)\n\n");
            let samples = (0..20_000).map(|n| format!("{name} 1 [000] {n}.000000: 5 cycles:\n{}", stack(n % 100)));
            fs::write(inputs.join(format!("{name}.txt")), samples.collect::<String>()).unwrap();
        }
        fs::write(inputs.join("KEY"), [7; 32]).unwrap();
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/callgraph.toml");
        fs::copy(scenario, inputs.join("SCENARIO")).unwrap();
        let inputs = files_in(&inputs);
        Self { dir, inputs }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str], is_old: bool) -> Command {
        let mut command = perfconv_with_signals();
        for &arg in args {
            match arg {
                // The old output is written from another input.
                input if input.starts_with("IN") && is_old => {
                    command.arg(self.path("in").join(input.replacen("IN", "OTHER", 1)))
                }
                "OTHER" | "KEY" | "SCENARIO" => command.arg(self.path("in").join(arg)),
                input if input.starts_with("IN") => command.arg(self.path("in").join(input)),
                out if out.starts_with("OUT") => command.arg(self.path("out").join(out)),
                other => command.arg(other),
            };
        }
        if !["check", "inject"].contains(&args[0]) {
            command.arg("--spool-dir").arg(self.path("spool"));
        }
        command.env("TMPDIR", self.path("spool")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Restores the old output.
    fn restore_output(&self, args: &[&str]) -> Files {
        for dir in ["out", "spool"] {
            fs::remove_dir_all(self.path(dir)).unwrap();
            fs::create_dir(self.path(dir)).unwrap();
        }
        if !args.iter().any(|arg| arg.starts_with("OUT")) {
            return BTreeMap::new();
        }
        let output = self.command(args, true).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        if args[0] == "synth" {
            // The only scenario would give the same output.
            let out = self.path("out/OUT.data");
            fs::copy(self.path("in/OTHER"), out).unwrap();
        }
        files_in(&self.path("out"))
    }
}

/// The results of interrupted runs.
#[derive(Default, Clone, Copy)]
struct Interrupted {
    old: usize,
    new: usize,
    /// Among several outputs, some are old and some new.
    mixed: usize,
    temporary: usize,
}

/// Whether every file is an old or a new one, and no file that should exist is missing.
fn is_mix(found: &Files, old: &Files, new: &Files) -> bool {
    let is_one = |(path, bytes): (&String, &Vec<u8>)| [old, new].iter().any(|files| files.get(path) == Some(bytes));
    found.iter().all(is_one) && old.keys().all(|path| found.contains_key(path) || !new.contains_key(path))
}

/// When a signal is sent.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Start,
    /// As soon as there is a temporary file.
    Writing,
    After(Duration),
    End,
}

/// Whether a process has ended, while its status is left to its parent.
fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

fn wait_for_end(process: u32) {
    while !has_ended(process) {
        thread::sleep(Duration::from_millis(1));
    }
}

fn interrupt(&(name, args): &Run) -> Interrupted {
    let work = WorkDir::new();
    work.restore_output(args);
    let duration = (0..5).map(|_| {
        let started = Instant::now();
        let done = work.command(args, false).output().unwrap();
        assert!(done.status.code().is_some_and(|code| code <= 1), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        started.elapsed()
    });
    let mut duration: Vec<_> = duration.collect();
    duration.sort();
    let duration = duration[duration.len() / 2];
    let new = files_in(&work.path("out"));
    let mut old = work.restore_output(args);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(name.len() as u64);
    let mut interrupted = Interrupted::default();
    let mut end = |(signal, number): (&str, i32), moment: Moment| {
        let context = format!("{name}, SIG{signal} {moment:?}");
        let child = work.command(args, false).spawn().unwrap();
        match moment {
            Moment::Start => {}
            Moment::After(time) => thread::sleep(time.min(Duration::from_secs(10))),
            Moment::Writing => {
                let is_writing = || ["out", "spool"].iter().any(|dir| has_temporary(&work.path(dir)));
                while !is_writing() && !has_ended(child.id()) {}
            }
            Moment::End => wait_for_end(child.id()),
        }
        let killed = Command::new("kill").args(["-s", signal, &child.id().to_string()]).stderr(Stdio::null()).status();
        assert!(killed.is_ok());
        let ended = child.wait_with_output().unwrap();
        assert!(
            ended.status.signal() == Some(number) || ended.status.code().is_some_and(|code| code <= 1),
            "{context}: {:?}",
            ended.status
        );
        // It may have printed its messages already.
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(!stderr.contains("panicked"), "{context}: {stderr}");
        let (temporary, found): (BTreeMap<_, _>, BTreeMap<_, _>) =
            files_in(&work.path("out")).into_iter().partition(|(file, _)| is_temporary(file));
        let spooled = files_in(&work.path("spool"));
        assert!(spooled.keys().all(|file| is_temporary(file)), "{context}: {:?}", spooled.keys());
        let has_temporary = !(temporary.is_empty() && spooled.is_empty());
        assert!(!has_temporary || number == 9, "{context}: {:?} are left, {:?}", temporary.keys(), spooled.keys());
        match (found == old, found == new) {
            (true, _) => interrupted.old += 1,
            (_, true) => interrupted.new += 1,
            // Each of several outputs is replaced at its own moment.
            _ if args.contains(&"--out-dir") && is_mix(&found, &old, &new) => interrupted.mixed += 1,
            _ => panic!("{context}: unexpected files: {:?}", found.keys()),
        }
        interrupted.temporary += usize::from(has_temporary);
        if found != old || has_temporary {
            old = work.restore_output(args);
        }
        interrupted.old
    };
    for signal in SIGNALS {
        end(signal, Moment::Start);
        end(signal, Moment::Writing);
        // At a random moment in each part of twice the duration.
        for moment in 2..moments() - 1 {
            let share = (f64::from(moment) + (random.next_u64() % 1000) as f64 / 1000.0) / f64::from(moments());
            end(signal, Moment::After(duration.mul_f64(2.0 * share)));
        }
        end(signal, Moment::End);
    }
    // A busy machine may deliver all signals after the end of short runs.
    let is_written = args.iter().any(|arg| arg.starts_with("OUT"));
    while is_written && end(SIGNALS[0], Moment::Start) == 0 {}
    assert!(files_in(&work.path("in")) == work.inputs, "{name}: inputs should be unchanged");
    interrupted
}

#[test]
fn a_signal_at_any_moment_leaves_the_old_or_the_complete_output() {
    let all = for_each(RUNS, interrupt);
    let mut out = io::stderr();
    for ((name, args), Interrupted { old, new, mixed, temporary }) in RUNS.iter().zip(&all) {
        let some = if *mixed > 0 { format!(", {mixed} mixed") } else { String::new() };
        let left = if *temporary > 0 { format!(", {temporary} with temporary files") } else { String::new() };
        writeln!(out, "{name}: {} signals: {old} old outputs, {new} new ones{some}{left}", old + new + mixed).unwrap();
        let writes = args.iter().any(|arg| arg.starts_with("OUT"));
        assert!(!writes || *old > 0 && *new > 0, "{name}: signals should come both before and after completion");
    }
    let sum = |of: fn(&Interrupted) -> usize| all.iter().map(of).sum::<usize>();
    let (old, new, temporary) = (
        sum(|interrupted| interrupted.old),
        sum(|interrupted| interrupted.new + interrupted.mixed),
        sum(|interrupted| interrupted.temporary),
    );
    writeln!(out, "{} signals: {old} old, {new} new, {temporary} with a temporary file", old + new).unwrap();
    assert!(old + new >= RUNS.len() * SIGNALS.len() * moments() as usize);
    assert!(temporary > 0, "no signal came during a write");
}
