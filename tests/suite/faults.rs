//! Outputs that cannot be written to the end, and a program that is killed: an error that says so, and the old output or the
//! complete new one.

use super::files::{Files, files_in, fixture, is_temporary};
use super::program::{for_each, perfconv, run};
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::container::write::frames::FrameOptions;
use perfconv::convert::{carry, profile};
use perfconv::error::Error;
use perfconv::formats::carry::{BeginCarry, CarryOptions};
use perfconv::formats::{FORMATS, Writes, pprof};
use perfconv::profile::options::ProfileOptions;
use perfconv::rewrite::passes::Passes;
use perfconv::rewrite::sort::{SortPass, Untimed};
use perfconv::stream::source::Source;
use perfconv::stream::write::file::ToFile;
use perfconv::stream::write::form::{Form, Frames};
use perfconv::stream::write::pipe::ToPipe;
use perfconv::stream::write::verbatim::Verbatim;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

/// A disk with room for so many bytes, counting those that are written over.
struct Disk {
    bytes: Cursor<Vec<u8>>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 && !bytes.is_empty() {
            return Err(ErrorKind::StorageFull.into());
        }
        let written = self.bytes.write(&bytes[..bytes.len().min(self.room)])?;
        self.room -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

/// What writes a fixture to a disk.
type Job = Box<dyn Fn(&Path, &mut Disk) -> perfconv::Result<()> + Sync>;

fn source(input: &Path) -> perfconv::Result<Source> {
    Source::open(Input::Path(input.to_owned()), ReadOptions::default())
}

fn carried(begin: BeginCarry) -> Job {
    Box::new(move |input, disk| {
        let (read, options) = (ReadOptions::default(), CarryOptions::default());
        carry(Input::Path(input.to_owned()), &read, &options, &mut Passes::default(), begin, disk).map(drop)
    })
}

/// Every sink that takes a writer.
fn jobs() -> Vec<(&'static str, Job)> {
    let compressed = Form { frames: Frames::Compressed(FrameOptions::default()), ..Form::default() };
    let plain = Form { frames: Frames::Plain, ..Form::default() };
    let mut jobs: Vec<(&str, Job)> = vec![
        ("verbatim", Box::new(|input, disk| source(input)?.run(&mut Verbatim::new(vec![disk])).map(drop))),
        ("file", Box::new(move |input, disk| source(input)?.run(&mut ToFile::new(disk, plain)).map(drop))),
        (
            "compressed file",
            Box::new(move |input, disk| source(input)?.run(&mut ToFile::new(disk, compressed)).map(drop)),
        ),
        ("pipe", Box::new(move |input, disk| source(input)?.run(&mut ToPipe::new(disk, plain)).map(drop))),
        (
            "compressed pipe",
            Box::new(move |input, disk| source(input)?.run(&mut ToPipe::new(disk, compressed)).map(drop)),
        ),
        (
            "sorted file",
            Box::new(move |input, disk| {
                let read = ReadOptions::default();
                let mut passes = Passes::default();
                passes.push(SortPass::new(Untimed::InPlace, read.clone()));
                passes.run(Input::Path(input.to_owned()), &read, &mut ToFile::new(disk, plain)).map(drop)
            }),
        ),
        ("pprof", Box::new(|input, disk| pprof::write(&profile(source(input)?, &ProfileOptions::default())?.0, disk))),
    ];
    jobs.extend(FORMATS.iter().filter_map(|format| match format.writes {
        Writes::Carry(begin) => Some((format.name, carried(begin))),
        _ => None,
    }));
    jobs
}

#[test]
fn a_disk_that_is_full_at_any_byte_is_an_error() {
    let inputs = ["callgraph.data", "pipe-compressed.data", "two-events.data"].map(fixture);
    let jobs = jobs();
    let pairs: Vec<_> = inputs.iter().flat_map(|input| jobs.iter().map(move |job| (input, job))).collect();
    let counts = for_each(&pairs, |(input, (name, job))| {
        let on_disk = |room| {
            let mut disk = Disk { bytes: Cursor::new(Vec::new()), room };
            let outcome = job(input, &mut disk);
            (outcome, room - disk.room)
        };
        let (outcome, needed) = on_disk(usize::MAX);
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        let steps = (0..needed).step_by((needed / 40).max(1));
        let rooms: Vec<_> =
            steps.chain([1, 8, 16, 103, 104, 105, needed - 1].into_iter().filter(|&at| at < needed)).collect();
        for &room in &rooms {
            match on_disk(room).0 {
                Err(Error::Output(error)) => assert_eq!(error.kind(), ErrorKind::StorageFull, "{name} after {room}"),
                other => panic!("{name} of {} on a disk of {room} of {needed} bytes: {other:?}", input.display()),
            }
        }
        assert!(on_disk(needed).0.is_ok(), "{name} with just enough room");
        rooms.len()
    });
    let all: usize = counts.iter().sum();
    say(format_args!(
        "{} sinks, {} recordings: {all} times the disk was full, and each was told",
        jobs.len(),
        inputs.len()
    ));
    assert!(jobs.len() >= 11 && all >= 1000, "too few: {} sinks, {all}", jobs.len());
}

/// An output of the program: its name, and the options that make it.
type Kind = (&'static str, &'static [&'static str]);

const KINDS: &[Kind] = &[
    ("out.data", &["--decompress"]),
    ("sorted.data", &["--sort"]),
    ("edited.data", &["--set", "hostname=elsewhere"]),
    ("pipe.data", &["--container", "pipe"]),
    ("folder.data", &["--container", "dir"]),
    ("out.jsonl", &[]),
    ("out.pb_data", &[]),
    ("out.pb.gz", &[]),
    ("tables", &["-t", "csv"]),
];

/// Other commands, whose input is `IN`.
const COMMANDS: &[Kind] = &[
    ("repaired.data", &["repair", "IN"]),
    ("injected.data", &["inject", "-b", "-i", "IN"]),
    ("merged.data", &["merge", "IN", "IN", "--offset-pids"]),
    ("parts", &["split", "IN", "--by", "samples=50"]),
    ("in.tar", &["archive", "IN"]),
    ("in.tar.zst", &["archive", "IN"]),
    ("profiles", &["convert", "IN", "--split-by", "comm"]),
    ("packed.jsonl.zst", &["convert", "IN"]),
    ("packed.data.gz", &["convert", "IN"]),
    ("in.folder", &["rewrite", "IN", "--container", "dir", "--sort"]),
];

/// An output that is to be replaced, made of another recording.
fn old_output((name, args): Kind, folder: &Path) -> Files {
    let run = run(perfconv().arg(fixture("two-events.data")).args(args).arg("-o").arg(folder.join(name)));
    assert_eq!(run.status, 0, "{name}: {}", run.stderr);
    files_in(folder)
}

/// The program where no file may have more than some kilobytes.
fn limited(kilobytes: &str) -> Command {
    let mut limited = Command::new("bash");
    let run = "ulimit -f \"$0\"; exec \"$@\"";
    limited.args(["-c", run, kilobytes, env!("CARGO_BIN_EXE_perfconv")]).stdin(Stdio::null());
    limited
}

#[test]
fn a_full_disk_leaves_the_old_output() {
    let mut failed = 0;
    for &(name, args) in KINDS {
        // Kilobytes that a file may have.
        for limit in ["0", "1"] {
            let folder = tempfile::tempdir().unwrap();
            let before = old_output((name, args), folder.path());
            let mut limited = limited(limit);
            limited.arg(fixture("callgraph.data")).args(args).args(["-f", "-o"]).arg(folder.path().join(name));
            let run = run(&mut limited);
            let sentence = run.failure().unwrap_or_else(|wrong| panic!("{name} in {limit} KB: {wrong}"));
            assert!(sentence.contains("too large"), "{name} in {limit} KB: {sentence}");
            assert!(files_in(folder.path()) == before, "{name} in {limit} KB: something else is there");
            failed += 1;
        }
    }
    for &(name, args) in COMMANDS {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join(name);
        let command = |mut command: Command, input: &Path| {
            command.args(args.iter().map(|&arg| if arg == "IN" { input.as_os_str() } else { arg.as_ref() }));
            run(command.args(["-f", "-o"]).arg(&target))
        };
        let old = command(perfconv(), &fixture("two-events.data"));
        assert_eq!(old.status, 0, "{name}: {}", old.stderr);
        let before = files_in(folder.path());
        let run = command(limited("1"), &fixture("callgraph.data"));
        let sentence = run.failure().unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        assert!(sentence.contains("too large"), "{name}: {sentence}");
        assert!(files_in(folder.path()) == before, "{name}: something else is there");
        failed += 1;
    }
    let kinds = KINDS.len() + COMMANDS.len();
    say(format_args!("{failed} times a disk was full, and the old output of {kinds} kinds stayed"));
    assert_eq!(failed, 2 * KINDS.len() + COMMANDS.len());
}

#[test]
fn a_recording_appears_with_its_images_alone() {
    let name = "f".repeat(100_000);
    let folded = format!("main;{name} 1\n");
    let scenario = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml")).unwrap();
    let unused = format!("\"_start\", \"main\", \"ask\", \"{name}\"");
    let scenario = scenario.replace("\"2s\"", "\"20ms\"").replace("\"_start\", \"main\", \"ask\"", &unused);
    for (command, input, text) in [("convert", "in.folded", folded), ("synth", "in.toml", scenario)] {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join(input), folder.path().join("out.data"));
        fs::write(&input, text).unwrap();
        old_output(("out.data", &[]), folder.path());
        let make = |mut perfconv: Command| {
            perfconv.arg(command).arg(&input).args(["-f", "-o"]).arg(&output);
            run(perfconv.arg("--images").arg(folder.path().join("images")))
        };
        let before = files_in(folder.path());
        let limited = make(limited("64"));
        let sentence = limited.failure().unwrap_or_else(|wrong| panic!("{command}: {wrong}"));
        assert!(sentence.contains("images") && sentence.contains("too large"), "{command}: {sentence}");
        assert!(files_in(folder.path()) == before, "{command}: something else is there");
        let made = make(perfconv());
        assert_eq!(made.status, 0, "{}", made.stderr);
        let after = files_in(folder.path());
        let (images, others): (Vec<_>, Vec<_>) =
            after.keys().filter(|path| !path.ends_with('/')).partition(|path| path.starts_with("images/"));
        assert!(fs::metadata(&output).unwrap().len() < 64 << 10, "{command}: the recording itself was too large");
        assert!(!images.is_empty() && after["out.data"] != before["out.data"], "{command}: {others:?}");
    }
}

#[test]
fn a_device_that_is_full_is_told() {
    for &(name, args) in KINDS.iter().filter(|(_, args)| !args.contains(&"dir") && !args.contains(&"csv")) {
        let format = if name.ends_with(".data") { "perf.data" } else { name.trim_start_matches("out.") };
        let format = match format {
            "pb_data" => "quipper",
            "pb.gz" => "pprof",
            other => other,
        };
        let run = run(perfconv().arg(fixture("callgraph.data")).args(args).args(["-t", format, "-o", "/dev/full"]));
        let sentence = run.failure().unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        assert!(sentence.contains("/dev/full: cannot write: No space left on device"), "{name}: {sentence}");
    }
}

/// How a run that was killed left the output.
#[derive(Default)]
struct Killed {
    old: usize,
    new: usize,
    left_behind: usize,
}

fn killed((name, args): Kind, moments: u32) -> Killed {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join(name);
    let command = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfconv"));
        command.arg(fixture("lost.data")).args(args).args(["-f", "-q", "-o"]).arg(&target);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let begun = Instant::now();
    assert!(command().status().unwrap().success(), "{name}");
    let takes = begun.elapsed();
    let new = files_in(folder.path());
    let put_back = || {
        for entry in fs::read_dir(folder.path()).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
        old_output((name, args), folder.path())
    };
    let mut old = put_back();
    let mut killed = Killed::default();
    for moment in 0..moments {
        let mut child = command().spawn().unwrap();
        sleep(takes * moment / moments * 5 / 4);
        child.kill().unwrap();
        child.wait().unwrap();
        let (left_behind, found): (BTreeMap<_, _>, BTreeMap<_, _>) =
            files_in(folder.path()).into_iter().partition(|(file, _)| is_temporary(file));
        match (found == old, found == new) {
            (true, _) => killed.old += 1,
            (_, true) => killed.new += 1,
            _ => panic!("{name}, killed at moment {moment} of {moments}: {:?}", found.keys()),
        }
        killed.left_behind += usize::from(!left_behind.is_empty());
        if found == new || !left_behind.is_empty() {
            old = put_back();
        }
    }
    killed
}

#[test]
fn whoever_is_killed_leaves_the_old_output_or_the_new_one() {
    let mut all = Killed::default();
    for &kind in KINDS {
        let killed = killed(kind, 40);
        all = Killed {
            old: all.old + killed.old,
            new: all.new + killed.new,
            left_behind: all.left_behind + killed.left_behind,
        };
    }
    let Killed { old, new, left_behind } = all;
    say(format_args!(
        "killed {} times: {old} times the old output was there, {new} times the new one, {left_behind} times a temporary file too",
        old + new
    ));
    assert_eq!(old + new, 40 * KINDS.len());
    assert!(old >= KINDS.len() && left_behind > 0, "it was never killed while it wrote");
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}
