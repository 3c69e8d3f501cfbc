//! Outputs that cannot be written completely: an error is reported, and the output is either the old one or
//! the complete new one.

use crate::common::branch_profiles::BRANCH_PROFILES;
use crate::common::files::{Files, files_in, fixture};
use crate::common::program::{for_each, perfconv, run, succeed};
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::container::write::frames::FrameOptions;
use perf_data::error::Error;
use perf_data::stream::source::Source;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::{CompressedFrames, Form};
use perf_data::stream::write::pipe::ToPipe;
use perf_data::stream::write::verbatim::Verbatim;
use perfconv::conversion::{convert_records, profile};
use perfconv::formats::framework::converter::ConvertOptions;
use perfconv::formats::framework::output::OutputFormat;
use perfconv::formats::{FORMATS, FormatWriter, pprof};
use perfconv::profile::options::ProfileOptions;
use perfconv::rewrite::framework::passes::Passes;
use perfconv::rewrite::sort::{SortPass, Untimed};
use std::fs;
use std::io::{self, Cursor, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// A simulated disk that accepts a limited number of bytes, counting overwrites.
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

/// Writes a fixture to a disk.
type Job = Box<dyn Fn(&Path, &mut Disk) -> perfconv::Result<()> + Sync>;

fn source(input: &Path) -> perfconv::Result<Source> {
    Source::open(Input::Path(input.to_owned()), ReadOptions::default())
}

fn converter_job(format: Box<dyn OutputFormat>) -> Job {
    Box::new(move |input, disk| {
        let FormatWriter::Converter(format) = format.writer() else { panic!("{format:?} is not written from records") };
        let (read, options) = (ReadOptions::default(), ConvertOptions::default());
        convert_records(Input::Path(input.to_owned()), &read, &options, &mut Passes::default(), format, disk).map(drop)
    })
}

/// All sinks that write to a `Write`.
fn jobs() -> Vec<(&'static str, Job)> {
    let compressed = Form { frames: CompressedFrames::Compressed(FrameOptions::default()), ..Form::default() };
    let plain = Form { frames: CompressedFrames::Plain, ..Form::default() };
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
    jobs.extend(FORMATS.iter().filter_map(|format| {
        let output = format.with_defaults()?;
        let is_of_records = matches!(output.writer(), FormatWriter::Converter(_));
        let is_of_records = is_of_records && !BRANCH_PROFILES.contains(&format.name);
        is_of_records.then(|| (format.name, converter_job(output)))
    }));
    jobs
}

#[test]
fn a_full_disk_is_an_error_at_any_byte() {
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
                other => panic!("{name} of {}, {room} of {needed} bytes available: {other:?}", input.display()),
            }
        }
        assert!(on_disk(needed).0.is_ok(), "{name} with exactly enough space");
        rooms.len()
    });
    let all: usize = counts.iter().sum();
    note!("{} sinks, {} recordings: all {all} full disks were reported", jobs.len(), inputs.len());
    assert!(jobs.len() >= 11 && all >= 1000, "too few: {} sinks, {all} full disks", jobs.len());
}

/// An output of the program: its name, and the options that produce it.
type Kind = (&'static str, &'static [&'static str]);

const KINDS: &[Kind] = &[
    ("out.data", &["--decompress"]),
    ("sorted.data", &["--sort"]),
    ("edited.data", &["--set", "hostname=elsewhere"]),
    ("pipe.data", &["--container", "pipe"]),
    ("directory.data", &["--container", "dir"]),
    ("out.jsonl", &[]),
    ("out.pb_data", &[]),
    ("out.pb.gz", &[]),
    ("tables", &["-t", "csv"]),
];

/// Other commands; `IN` stands for the input.
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
    ("in.dir", &["rewrite", "IN", "--container", "dir", "--sort"]),
];

/// Writes an output from another recording, to be replaced. Returns all files.
fn old_output((name, args): Kind, dir: &Path) -> Files {
    succeed(perfconv().arg(fixture("two-events.data")).args(args).arg("-o").arg(dir.join(name)));
    files_in(dir)
}

/// A command that runs the program with a limit on the size of files.
fn limited(kilobytes: &str) -> Command {
    let mut limited = Command::new("sh");
    // In POSIX, the limit is in blocks of 512 bytes.
    let run = "ulimit -f $(($0 * 2)); exec \"$@\"";
    limited.args(["-c", run, kilobytes, env!("CARGO_BIN_EXE_perfconv")]).stdin(Stdio::null());
    limited
}

#[test]
fn a_full_disk_keeps_the_old_output() {
    let mut failed = 0;
    for &(name, args) in KINDS {
        // The limit of file sizes in kilobytes.
        for limit in ["0", "1"] {
            let dir = tempfile::tempdir().unwrap();
            let before = old_output((name, args), dir.path());
            let mut limited = limited(limit);
            limited.arg(fixture("callgraph.data")).args(args).args(["-f", "-o"]).arg(dir.path().join(name));
            let run = run(&mut limited);
            let sentence = run.failure().unwrap_or_else(|error| panic!("{name} in {limit} KB: {error}"));
            assert!(sentence.contains("too large"), "{name} in {limit} KB: {sentence}");
            assert!(files_in(dir.path()) == before, "{name} in {limit} KB: files have changed");
            failed += 1;
        }
    }
    for &(name, args) in COMMANDS {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join(name);
        let command = |mut command: Command, input: &Path| {
            command.args(args.iter().map(|&arg| if arg == "IN" { input.as_os_str() } else { arg.as_ref() }));
            run(command.args(["-f", "-o"]).arg(&target))
        };
        let old = command(perfconv(), &fixture("two-events.data"));
        assert_eq!(old.status, 0, "{name}: {}", old.stderr);
        let before = files_in(dir.path());
        let run = command(limited("1"), &fixture("callgraph.data"));
        let sentence = run.failure().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(sentence.contains("too large"), "{name}: {sentence}");
        assert!(files_in(dir.path()) == before, "{name}: files have changed");
        failed += 1;
    }
    let kinds = KINDS.len() + COMMANDS.len();
    note!("{failed} failures on a full disk kept the old outputs of {kinds} kinds");
    assert_eq!(failed, 2 * KINDS.len() + COMMANDS.len());
}

#[test]
fn a_recording_and_its_images_are_written_together_or_not_at_all() {
    // Longer names are truncated.
    let names: Vec<_> = (0..8).map(|number| format!("{}{number}", "f".repeat(15_000))).collect();
    let folded = format!("main;{} 1\n", names.join(";"));
    let scenario = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml")).unwrap();
    let unused = format!("\"_start\", \"main\", \"ask\", \"{}\"", names.join("\", \""));
    let scenario = scenario.replace("\"2s\"", "\"20ms\"").replace("\"_start\", \"main\", \"ask\"", &unused);
    for (command, input, text) in [("convert", "in.folded", folded), ("synth", "in.toml", scenario)] {
        let dir = tempfile::tempdir().unwrap();
        let (input, output) = (dir.path().join(input), dir.path().join("out.data"));
        fs::write(&input, text).unwrap();
        old_output(("out.data", &[]), dir.path());
        let make = |mut perfconv: Command| {
            perfconv.arg(command).arg(&input).args(["-f", "-o"]).arg(&output);
            run(perfconv.arg("--images").arg(dir.path().join("images")))
        };
        let before = files_in(dir.path());
        let limited = make(limited("64"));
        let sentence = limited.failure().unwrap_or_else(|error| panic!("{command}: {error}"));
        assert!(sentence.contains("images") && sentence.contains("too large"), "{command}: {sentence}");
        assert!(files_in(dir.path()) == before, "{command}: files have changed");
        let unlimited = make(perfconv());
        assert_eq!(unlimited.status, 0, "{}", unlimited.stderr);
        let after = files_in(dir.path());
        let (images, others): (Vec<_>, Vec<_>) =
            after.keys().filter(|path| !path.ends_with('/')).partition(|path| path.starts_with("images/"));
        assert!(
            fs::metadata(&output).unwrap().len() < 64 << 10,
            "{command}: the recording itself should be below the limit"
        );
        assert!(!images.is_empty() && after["out.data"] != before["out.data"], "{command}: {others:?}");
    }
}

#[test]
fn a_full_device_is_reported() {
    for &(name, args) in KINDS.iter().filter(|(_, args)| !args.contains(&"dir") && !args.contains(&"csv")) {
        let format = if name.ends_with(".data") { "perf.data" } else { name.trim_start_matches("out.") };
        let format = match format {
            "pb_data" => "quipper",
            "pb.gz" => "pprof",
            other => other,
        };
        let run = run(perfconv().arg(fixture("callgraph.data")).args(args).args(["-t", format, "-o", "/dev/full"]));
        let sentence = run.failure().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(sentence.contains("/dev/full: cannot write: No space left on device"), "{name}: {sentence}");
    }
}
