//! Inputs that fail in the middle, and files that are cut while they are read: an error that says so, or what came before with a
//! word about what is missing.

use super::files::{fixture, fixtures};
use super::program::{Run, perfconv, perfconv_with_signals, run};
use perfconv::container::read::input::Input;
use perfconv::container::read::{ReadOptions, Reader};
use perfconv::formats::import::{ImportOptions, import};
use perfconv::formats::{FORMATS, Reads};
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use std::fs::{self, File};
use std::io::{self, Cursor, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What is said of a mapped input that cannot be read any more.
const CUT: &str = "perfconv: an input cannot be read any more: it was cut while it was read, or its disk fails\n";

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}

/// Counts records.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// A stream that fails behind some bytes.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::Error::other("the disk is gone")),
            read => Ok(read),
        }
    }
}

#[test]
fn a_stream_that_fails_anywhere_gives_what_came_before_and_a_word_about_it() {
    let (mut files, mut refused, mut read) = (0, 0, 0);
    for fixture in fixtures().iter().filter(|fixture| fixture.path.is_file()) {
        files += 1;
        let bytes = fs::read(&fixture.path).unwrap();
        for at in (0..=bytes.len()).step_by(bytes.len() / 60) {
            let stream = Box::new(Failing(Cursor::new(bytes[..at].to_vec())));
            let opened = Reader::from_stream("failing", stream, ReadOptions::default()).map(Source::new);
            match opened.and_then(|source| source.run(&mut Count::default())) {
                Err(error) => {
                    assert!(error.to_string().contains("failing"), "{} at {at}: {error}", fixture.name);
                    refused += 1;
                }
                Ok((_, ledger)) => {
                    let is_told = ledger.messages().iter().any(|damage| damage.what.contains("the disk is gone"));
                    assert!(is_told, "{} at {at}: {:?}", fixture.name, ledger.messages());
                    read += 1;
                }
            }
        }
    }
    say(format_args!(
        "{files} streams failed at {} places: {refused} were refused, of {read} what came before was read",
        refused + read
    ));
    assert!(files > 15 && refused > 10 && read > 500, "too few");
}

#[test]
fn what_carries_a_recording_and_fails_anywhere_is_refused_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let (mut formats, mut refused, mut told) = (0, 0, 0);
    for format in FORMATS {
        let Reads::Import(how) = format.reads else { continue };
        let bytes = match format.name {
            "folded" => (0..500).map(|number| format!("main;f{number};g 1\n")).collect::<String>().into_bytes(),
            "perf-script" => {
                let sample =
                    |n| format!("cat 7 [000] 1.{n:06}: 1000 cycles:\n\t{:16x} f+0x1 (/bin/cat)\n\n", 0x1000 + n);
                (0..300).map(sample).collect::<String>().into_bytes()
            }
            name => {
                let path = folder.path().join(name);
                let made = run(perfconv().arg(fixture("callgraph.data")).args(["-q", "-t", name, "-o"]).arg(&path));
                assert_eq!(made.status, 0, "{name}: {}", made.stderr);
                let bytes = fs::read(&path).unwrap();
                if bytes.starts_with(b"\x1f\x8b") { unpacked(&bytes) } else { bytes }
            }
        };
        formats += 1;
        assert!(import(how, stream(&bytes), &ImportOptions::default()).is_ok(), "{}", format.name);
        for at in (0..=bytes.len()).step_by((bytes.len() / 40).max(1)) {
            let mut stream = Failing(Cursor::new(bytes[..at].to_vec()));
            match how(&mut stream, "failing", &ImportOptions::default()) {
                Err(error) => {
                    assert!(error.to_string().contains("failing"), "{} at {at}: {error}", format.name);
                    refused += 1;
                }
                Ok(remade) => {
                    let is_told = remade.damage.iter().any(|damage| damage.what.contains("the disk is gone"));
                    assert!(is_told, "{} at {at}: {:?}", format.name, remade.damage);
                    told += 1;
                }
            }
        }
    }
    say(format_args!(
        "streams of {formats} formats failed at {} places: {refused} refused, {told} told",
        refused + told
    ));
    assert!(formats >= 7 && refused + told > 250, "too few");
}

/// A whole stream.
fn stream(bytes: &[u8]) -> Input {
    Input::Bytes { name: "whole".to_owned(), bytes: bytes.to_vec().into() }
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    all
}

#[test]
fn standard_input_that_cannot_be_read_is_told() {
    let mut command = perfconv();
    let folder = File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
    let run = run(command.args(["-", "-t", "pprof", "-o", "-"]).stdin(folder));
    assert!(run.failure().is_ok_and(|sentence| sentence.starts_with("standard input: ")), "{}", run.stderr);
}

/// A recording that takes longer to convert than to be stopped, in a file of its own.
fn long(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("in.data");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml");
    let made = run(perfconv().args(["synth", scenario, "--scale", "200", "-q", "-f", "-o"]).arg(&path));
    assert_eq!(made.status, 0, "{}", made.stderr);
    path
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}

/// Cuts a file that is read by a program which waits.
fn cut(path: &Path) {
    File::options().write(true).open(path).unwrap().set_len(5000).unwrap();
}

fn ended(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Run { status: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
}

#[test]
fn a_file_that_is_cut_while_a_slow_reader_takes_what_is_told_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["dump"][..], &["convert", "-t", "jsonl", "-o", "-"], &["convert", "-t", "perf-json", "-o", "-"]] {
        let path = long(folder.path());
        let mut command = perfconv_with_signals();
        command.args(args).arg(&path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It has begun to write, and waits as soon as the pipe is full.
        let mut first = [0; 100];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        sleep(Duration::from_millis(300));
        cut(&path);
        let run = ended(child);
        assert_eq!((run.status, &*run.stderr), (1, CUT), "{args:?}");
    }
}

#[test]
fn a_file_that_is_cut_while_it_is_converted_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let entries = || fs::read_dir(&out).unwrap().count();
    let mut met = 0;
    for (name, args) in [
        ("out.jsonl", &[][..]),
        ("out.pb.gz", &[]),
        ("out.data", &[]),
        ("sorted.data", &["--sort"]),
        ("dir.data", &["--container", "dir"]),
        ("tables", &["-t", "csv"]),
    ] {
        let path = long(folder.path());
        let mut command = perfconv_with_signals();
        command.arg(&path).args(args).arg("-o").arg(out.join(name)).args(["-q", "-f"]);
        let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while entries() == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name}: it does not begin to write");
        }
        signal(&child, "STOP");
        cut(&path);
        signal(&child, "CONT");
        let run = ended(child);
        // It may have been done before.
        if run.status != 0 {
            // The last page is still there, and reads as zeros behind the end.
            assert!(run.failure().is_ok(), "{name}: {run:?}");
            assert_eq!(entries(), 0, "{name}");
            met += usize::from(run.stderr == CUT);
        }
        fs::remove_dir_all(&out).and_then(|()| fs::create_dir(&out)).unwrap();
    }
    say(format_args!("{met} of 6 conversions met the end of a file that was cut"));
    assert!(met >= 2, "only {met} met it");
}

#[test]
fn a_private_copy_is_read_whatever_becomes_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for fixture in fixtures() {
        let path = folder.path().join(fixture.name.replace('/', "-"));
        if fixture.path.is_dir() {
            fs::create_dir(&path).unwrap();
            for entry in fs::read_dir(&fixture.path).unwrap().flatten() {
                fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
            }
        } else {
            fs::copy(&fixture.path, &path).unwrap();
        }
        let open = |private_copy| {
            let options = ReadOptions { private_copy, ..ReadOptions::default() };
            Source::open(Input::Path(path.clone()), options).unwrap()
        };
        let mut mapped = Count::default();
        open(false).run(&mut mapped).unwrap();
        let (source, mut copied) = (open(true), Count::default());
        for file in if path.is_dir() {
            fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()).collect()
        } else {
            vec![path.clone()]
        } {
            File::options().write(true).open(file).unwrap().set_len(0).unwrap();
        }
        source.run(&mut copied).unwrap();
        assert_eq!(copied.0, mapped.0, "{}", fixture.name);
        compared += 1;
    }
    say(format_args!("{compared} recordings were read from a copy, of which the files were cut to nothing"));
    assert!(compared >= 15);
}
