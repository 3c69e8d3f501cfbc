//! Ends every command that writes, and three that read, with signals at their start, while they write, and when they have
//! ended: the output is the old one or complete, inputs are unchanged, and temporary files are left only by SIGKILL, under
//! recognizable names.
//!
//! `PERFCONV_TEST_ALL=1` tests many more moments, some of them by the clock.

use crate::common::files::{Files, files_in, fixture, is_temporary};
use crate::common::program::{for_each, perfconv, perfconv_with_signals, run, send_signal, succeed};
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

/// The number of random moments of each command and signal.
fn random_moments() -> u64 {
    if env::var_os("PERFCONV_TEST_ALL").is_some() { 250 } else { 1 }
}

/// A directory with the inputs of all commands.
fn inputs() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    // Large enough to be interrupted while it is read.
    let merged = run(perfconv()
        .arg("merge")
        .args([&fixture("callgraph.data"); 4])
        .args(["--offset-pids", "-q", "-o"])
        .arg(path("IN")));
    assert_eq!(merged.status, 0, "{}", merged.stderr);
    fs::copy(fixture("callgraph.data"), path("OTHER")).unwrap();
    for name in ["IN", "OTHER"] {
        fs::copy(path(name), path(&format!("{name}2"))).unwrap();
        for (command, ending) in [("convert", "jsonl"), ("convert", "pb_data"), ("archive", "tar.zst")] {
            let converted = path(&format!("{name}.{ending}"));
            succeed(perfconv().arg(command).arg(path(name)).args(["-q", "-o"]).arg(converted));
        }
        // Each function is in a file of its own, so that many directories are created.
        let stack = |n| format!("\t1000 f{n}+0x0 (/bin/{n}/a)\n\n");
        let samples = (0..20_000).map(|n| format!("{name} 1 [000] {n}.000000: 5 cycles:\n{}", stack(n % 100)));
        fs::write(path(&format!("{name}.txt")), samples.collect::<String>()).unwrap();
    }
    fs::write(path("KEY"), [7; 32]).unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/callgraph.toml");
    fs::copy(scenario, path("SCENARIO")).unwrap();
    dir
}

/// A directory for the outputs and temporary files of a command.
struct WorkDir<'a> {
    inputs: &'a Path,
    dir: TempDir,
}

impl<'a> WorkDir<'a> {
    fn new(inputs: &'a Path) -> Self {
        let work = Self { inputs, dir: tempfile::tempdir().unwrap() };
        work.restore(&Files::new());
        work
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
                    command.arg(self.inputs.join(input.replacen("IN", "OTHER", 1)))
                }
                "OTHER" | "KEY" | "SCENARIO" => command.arg(self.inputs.join(arg)),
                input if input.starts_with("IN") => command.arg(self.inputs.join(input)),
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

    /// The output of an uninterrupted run, and how long it took.
    fn output(&self, args: &[&str], is_old: bool) -> (Files, Duration) {
        let started = Instant::now();
        let done = self.command(args, is_old).output().unwrap();
        assert!(
            done.status.code().is_some_and(|code| code <= 1),
            "{args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        (files_in(&self.path("out")), started.elapsed())
    }

    /// The output that an interrupted run would replace.
    fn old_output(&self, args: &[&str]) -> Files {
        match args[0] {
            // The only scenario would give the same output.
            "synth" => Files::from([("OUT.data".to_owned(), fs::read(self.inputs.join("OTHER")).unwrap())]),
            _ => self.output(args, true).0,
        }
    }

    /// Removes temporary files, and replaces the output.
    fn restore(&self, output: &Files) {
        for dir in ["out", "spool"] {
            let path = self.path(dir);
            if path.exists() {
                fs::remove_dir_all(&path).unwrap();
            }
            fs::create_dir(path).unwrap();
        }
        for (name, bytes) in output {
            let path = self.path("out").join(name);
            // Directories precede the files in them.
            if name.ends_with('/') { fs::create_dir(path) } else { fs::write(path, bytes) }.unwrap();
        }
    }

    /// The size of all temporary files; `None` if there are none.
    fn temporary_size(&self) -> Option<u64> {
        let sizes = ["out", "spool"].map(|dir| size_of_temporary(&self.path(dir), false));
        sizes.into_iter().flatten().reduce(|sum, size| sum + size)
    }
}

/// The size of temporary files below a directory. Files may be renamed and removed meanwhile.
fn size_of_temporary(path: &Path, is_inside: bool) -> Option<u64> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let is_temporary = is_inside || is_temporary(&entry.file_name().to_string_lossy());
        let metadata = entry.metadata().ok()?;
        match metadata.is_dir() {
            true => size_of_temporary(&entry.path(), is_temporary).or(is_temporary.then_some(0)),
            false => is_temporary.then_some(metadata.len()),
        }
    });
    sizes.reduce(|sum, size| sum + size)
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
fn is_mix(files: &Files, old: &Files, new: &Files) -> bool {
    let is_one =
        |(path, bytes): (&String, &Vec<u8>)| [old, new].iter().any(|expected| expected.get(path) == Some(bytes));
    files.iter().all(is_one) && old.keys().all(|path| files.contains_key(path) || !new.contains_key(path))
}

/// When a signal is sent.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Start,
    /// As soon as there are temporary files, of this size.
    Written(u64),
    After(Duration),
    End,
}

/// Whether a process has ended, while its status is left to its parent.
fn has_ended(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

/// Waits until a process has ended, or a condition holds. Without a pause, the process would wait for a CPU.
fn wait_until(process: u32, is_reached: impl Fn() -> bool) {
    while !is_reached() && !has_ended(process) {
        thread::sleep(Duration::from_micros(200));
    }
}

fn interrupt(&(name, args): &Run, inputs: &Path) -> Interrupted {
    let work = WorkDir::new(inputs);
    let old = work.old_output(args);
    work.restore(&old);
    let (new, duration) = work.output(args, false);
    work.restore(&old);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(name.len() as u64);
    let mut interrupted = Interrupted::default();
    let mut end = |(signal, number): (&str, i32), moment: Moment| {
        let context = format!("{name}, SIG{signal} {moment:?}");
        let child = work.command(args, false).spawn().unwrap();
        match moment {
            Moment::Start => {}
            Moment::Written(size) => {
                wait_until(child.id(), || work.temporary_size().is_some_and(|written| written >= size));
            }
            Moment::After(time) => thread::sleep(time),
            Moment::End => wait_until(child.id(), || false),
        }
        send_signal(&child, signal);
        let ended = child.wait_with_output().unwrap();
        assert!(
            ended.status.signal() == Some(number) || ended.status.code().is_some_and(|code| code <= 1),
            "{context}: {:?}",
            ended.status
        );
        // It may have printed its messages already.
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert!(!stderr.contains("panicked"), "{context}: {stderr}");
        let (temporary, files): (BTreeMap<_, _>, BTreeMap<_, _>) =
            files_in(&work.path("out")).into_iter().partition(|(file, _)| is_temporary(file));
        let spooled = files_in(&work.path("spool"));
        assert!(spooled.keys().all(|file| is_temporary(file)), "{context}: {:?}", spooled.keys());
        let has_temporary = !(temporary.is_empty() && spooled.is_empty());
        assert!(!has_temporary || number == 9, "{context}: {:?} are left, {:?}", temporary.keys(), spooled.keys());
        match (files == old, files == new) {
            (true, _) => interrupted.old += 1,
            (_, true) => interrupted.new += 1,
            // Each of several outputs is replaced at its own moment.
            _ if args.contains(&"--out-dir") && is_mix(&files, &old, &new) => interrupted.mixed += 1,
            _ => panic!("{context}: unexpected files: {:?}", files.keys()),
        }
        interrupted.temporary += usize::from(has_temporary);
        if files != old || has_temporary {
            work.restore(&old);
        }
        interrupted.old
    };
    let size: u64 = new.values().map(|bytes| bytes.len() as u64).sum();
    let is_written = args.iter().any(|arg| arg.starts_with("OUT"));
    for signal in SIGNALS {
        end(signal, Moment::Start);
        if is_written {
            end(signal, Moment::Written(0));
        }
        for number in 0..random_moments() {
            // Until the first write, nothing outside shows how far the program is: these moments are chosen by the clock.
            if is_written && number % 2 == 0 {
                end(signal, Moment::Written(random.next_u64() % (size + 1)));
            } else {
                end(signal, Moment::After(duration.mul_f64(1.5 * (random.next_u64() % 1000) as f64 / 1000.0)));
            }
        }
    }
    end(SIGNALS[0], Moment::End);
    // A busy machine may deliver all signals after the end of short runs.
    while is_written && end(SIGNALS[0], Moment::Start) == 0 {}
    interrupted
}

#[test]
fn a_signal_at_any_moment_leaves_the_old_or_the_complete_output() {
    let inputs = inputs();
    let files = files_in(inputs.path());
    let all = for_each(RUNS, |run| interrupt(run, inputs.path()));
    assert!(files_in(inputs.path()) == files, "inputs should be unchanged");
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
    assert!(old + new >= RUNS.len() * SIGNALS.len() * 2);
    assert!(temporary > 0, "no signal came during a write");
}
