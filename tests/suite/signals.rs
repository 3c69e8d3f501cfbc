//! Every command that writes, and two that read, ended by signals at random moments: what it was to write is as before or complete,
//! what it reads is as before, and nothing temporary is left but by SIGKILL, and then under a name that tells it.
//!
//! The moments are the same each time, as far as a clock can have it. `PERFCONV_TEST_ALL=1` tries many more.

use super::files::{Files, files_in, fixture, is_temporary};
use super::program::{for_each, perfconv, perfconv_with_signals, run};
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

/// What is run: what begins with `IN` is made of a long recording, what begins with `OTHER` of another one, `OUT` is a file or folder
/// in a folder of its own. What was there before is made with `OTHER` for `IN`.
type Run = (&'static str, &'static [&'static str]);

const RUNS: &[Run] = &[
    ("convert to pprof", &["convert", "IN", "-f", "-o", "OUT.pb.gz"]),
    ("convert to JSON", &["convert", "IN", "-f", "-o", "OUT.jsonl"]),
    ("convert to tables", &["convert", "IN", "-f", "-t", "csv", "-o", "OUT"]),
    ("convert to a PerfDataProto", &["convert", "IN", "-f", "-o", "OUT.pb_data"]),
    ("convert to profiles", &["convert", "IN", "--split-by", "pid", "-f", "-o", "OUT"]),
    ("convert several", &["convert", "IN", "IN2", "-J", "2", "-f", "--out-dir", "OUT"]),
    ("JSON to a recording", &["convert", "IN.jsonl", "-f", "-o", "OUT.data"]),
    ("PerfDataProto to a recording", &["convert", "IN.pb_data", "-f", "-o", "OUT.data"]),
    ("profile to a recording and images", &["convert", "IN.txt", "--from", "perf-script", "-f", "-o", "OUT.data"]),
    ("rewrite", &["rewrite", "IN", "--sort", "--compress", "-f", "-o", "OUT.data"]),
    ("rewrite to a folder", &["rewrite", "IN", "--container", "dir", "-f", "-o", "OUT.data"]),
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

/// How many moments are tried of each run and signal.
fn moments() -> u32 {
    if env::var_os("PERFCONV_TEST_ALL").is_some() { 250 } else { 8 }
}

/// A folder for what is read, one for what is written, and one for what is temporary.
struct Desk {
    folder: TempDir,
    inputs: Files,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["in", "out", "spool"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let inputs = folder.path().join("in");
        // Long enough to be met while it is read.
        let merged = run(perfconv()
            .arg("merge")
            .args([&fixture("callgraph.data"); 12])
            .args(["--offset-pids", "-q", "-o"])
            .arg(inputs.join("IN")));
        assert_eq!(merged.status, 0, "{}", merged.stderr);
        fs::copy(fixture("callgraph.data"), inputs.join("OTHER")).unwrap();
        for name in ["IN", "OTHER"] {
            let input = inputs.join(name);
            fs::copy(&input, inputs.join(format!("{name}2"))).unwrap();
            for (command, ending) in [("convert", "jsonl"), ("convert", "pb_data"), ("archive", "tar.zst")] {
                let output = inputs.join(format!("{name}.{ending}"));
                let made = run(perfconv().arg(command).arg(&input).args(["-q", "-o"]).arg(output));
                assert_eq!(made.status, 0, "{name}.{ending}: {}", made.stderr);
            }
            // Each function is in a file of its own, for which folders are made.
            let stack = |n| format!("\t1000 f{n}+0x0 (/bin/{n}/a)\n\n");
            let samples = (0..20_000).map(|n| format!("{name} 1 [000] {n}.000000: 5 cycles:\n{}", stack(n % 100)));
            fs::write(inputs.join(format!("{name}.txt")), samples.collect::<String>()).unwrap();
        }
        fs::write(inputs.join("KEY"), [7; 32]).unwrap();
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/callgraph.toml");
        fs::copy(scenario, inputs.join("SCENARIO")).unwrap();
        let inputs = files_in(&inputs);
        Self { folder, inputs }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str], is_old: bool) -> Command {
        let mut command = perfconv_with_signals();
        for &arg in args {
            match arg {
                // What is there before is made of another input.
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

    /// Has the output be as it was before.
    fn put_back(&self, args: &[&str]) -> Files {
        for folder in ["out", "spool"] {
            fs::remove_dir_all(self.path(folder)).unwrap();
            fs::create_dir(self.path(folder)).unwrap();
        }
        if !args.iter().any(|arg| arg.starts_with("OUT")) {
            return BTreeMap::new();
        }
        let made = self.command(args, true).output().unwrap();
        assert!(made.status.success(), "{args:?}: {}", String::from_utf8_lossy(&made.stderr));
        if args[0] == "synth" {
            // There is but one scenario.
            let out = self.path("out/OUT.data");
            fs::copy(self.path("in/OTHER"), out).unwrap();
        }
        files_in(&self.path("out"))
    }
}

/// How runs that were met by a signal ended.
#[derive(Default, Clone, Copy)]
struct Met {
    old: usize,
    new: usize,
    /// Of several outputs, some the old ones and some the new.
    both: usize,
    left_behind: usize,
}

/// Whether each file is an old one or a new one, and none is missing that was there and would be there again.
fn is_of_both(found: &Files, old: &Files, new: &Files) -> bool {
    let is_one = |(path, bytes): (&String, &Vec<u8>)| [old, new].iter().any(|files| files.get(path) == Some(bytes));
    found.iter().all(is_one) && old.keys().all(|path| found.contains_key(path) || !new.contains_key(path))
}

fn meet(&(name, args): &Run) -> Met {
    let desk = Desk::new();
    desk.put_back(args);
    let takes = (0..5).map(|_| {
        let begun = Instant::now();
        let done = desk.command(args, false).output().unwrap();
        assert!(done.status.code().is_some_and(|code| code <= 1), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        begun.elapsed()
    });
    let mut takes: Vec<_> = takes.collect();
    takes.sort();
    let takes = takes[takes.len() / 2];
    let new = files_in(&desk.path("out"));
    let mut old = desk.put_back(args);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(name.len() as u64);
    let mut met = Met::default();
    for (signal, number) in SIGNALS {
        for moment in 0..moments() {
            let place = format!("{name}, SIG{signal} number {moment}");
            let child = desk.command(args, false).spawn().unwrap();
            // Somewhere in each part of the time that it takes, and of as much again.
            let share = (f64::from(moment) + (random.next_u64() % 1000) as f64 / 1000.0) / f64::from(moments());
            thread::sleep(takes.mul_f64(2.0 * share).min(Duration::from_secs(10)));
            let killed =
                Command::new("kill").args(["-s", signal, &child.id().to_string()]).stderr(Stdio::null()).status();
            assert!(killed.is_ok());
            let ended = child.wait_with_output().unwrap();
            assert!(
                ended.status.signal() == Some(number) || ended.status.code().is_some_and(|code| code <= 1),
                "{place}: {:?}",
                ended.status
            );
            // It may have said already what it has done.
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(!said.contains("panicked"), "{place}: {said}");
            let (left_behind, found): (BTreeMap<_, _>, BTreeMap<_, _>) =
                files_in(&desk.path("out")).into_iter().partition(|(file, _)| is_temporary(file));
            let spooled = files_in(&desk.path("spool"));
            assert!(spooled.keys().all(|file| is_temporary(file)), "{place}: {:?}", spooled.keys());
            let is_left = !(left_behind.is_empty() && spooled.is_empty());
            assert!(!is_left || number == 9, "{place}: {:?} are left, {:?}", left_behind.keys(), spooled.keys());
            match (found == old, found == new) {
                (true, _) => met.old += 1,
                (_, true) => met.new += 1,
                // Each of them has its own moment.
                _ if args.contains(&"--out-dir") && is_of_both(&found, &old, &new) => met.both += 1,
                _ => panic!("{place}: something else is there: {:?}", found.keys()),
            }
            met.left_behind += usize::from(is_left);
            if found != old || is_left {
                old = desk.put_back(args);
            }
        }
    }
    assert!(files_in(&desk.path("in")) == desk.inputs, "{name}: the inputs have changed");
    met
}

#[test]
fn whenever_a_signal_comes_the_output_is_as_before_or_complete() {
    let all = for_each(RUNS, meet);
    let mut out = io::stderr();
    for ((name, args), Met { old, new, both, left_behind }) in RUNS.iter().zip(&all) {
        let some = if *both > 0 { format!(", {both} times some of each") } else { String::new() };
        let left = if *left_behind > 0 { format!(", {left_behind} times a temporary file too") } else { String::new() };
        writeln!(
            out,
            "{name}: {} signals; {old} times the old output was there, {new} times the new one{some}{left}",
            old + new + both
        )
        .unwrap();
        let writes = args.iter().any(|arg| arg.starts_with("OUT"));
        assert!(!writes || *old > 0 && *new > 0, "{name}: no signal came while it was at work, or none later");
    }
    let sum = |of: fn(&Met) -> usize| all.iter().map(of).sum::<usize>();
    let (old, new, left_behind) = (sum(|met| met.old), sum(|met| met.new + met.both), sum(|met| met.left_behind));
    writeln!(out, "{} signals: {old} old, {new} new, {left_behind} with a temporary file", old + new).unwrap();
    assert_eq!(old + new, RUNS.len() * SIGNALS.len() * moments() as usize);
    assert!(left_behind > 0, "no signal came while something was written");
}
