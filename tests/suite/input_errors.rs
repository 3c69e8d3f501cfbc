//! Inputs that fail while they are read, and files that are truncated meanwhile: the result is an error, or everything up to the
//! failure with a warning.

use super::fuzz_corpus::fuzz::record_count::RecordCount;
use crate::common::files::{fixture, fixtures};
use crate::common::program::{Run, perfconv, perfconv_with_signals, run, send_signal, succeed};
use crate::common::work_dir::WorkDir;
use perf_data::container::read::input::Input;
use perf_data::container::read::{ContainerReader, ReadOptions};
use perf_data::stream::source::Source;
use perfconv::formats::import::{ImportOptions, import};
use perfconv::formats::{self, FORMATS};
use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// The message about a memory-mapped input that was truncated.
const TRUNCATED: &str = "perfconv: an input can no longer be read: it was truncated while in use, or its disk failed\n";

/// A stream that fails after some bytes.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::Error::other("simulated failure")),
            read => Ok(read),
        }
    }
}

#[test]
fn failures_are_json_if_asked_for() {
    let failure = |arguments: &[&str]| -> serde_json::Value {
        let Run { stderr, .. } = run(perfconv().env("PERFCONV_ERRORS", "json").args(arguments));
        serde_json::from_str(&stderr).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {stderr}"))
    };
    let missing = failure(&["missing.data", "-o", "x.pb.gz"]);
    assert_eq!((&missing["kind"], &missing["file"]), (&"io".into(), &"missing.data".into()), "{missing}");
    let work = WorkDir::new();
    let path = work.path("broken.data");
    let bytes = fs::read(fixture("callgraph.data")).unwrap();
    fs::write(&path, &bytes[..60]).unwrap();
    let broken = failure(&[path.to_str().unwrap(), "-o", "x.pb.gz"]);
    assert_eq!(broken["kind"], "input", "{broken}");
    assert!(broken["message"].as_str().is_some_and(|message| message.contains("broken.data")), "{broken}");
    assert_eq!(failure(&["-o"])["kind"], "arguments");
    assert_eq!(failure(&["info", "a", "b", "--json", "--no-such"])["kind"], "arguments");
    assert_eq!(failure(&["check", "missing.data"])["kind"], "io");
    assert_eq!(failure(&["diff", "missing.data", "other.data"])["kind"], "io");
}

#[test]
fn a_failing_stream_is_read_up_to_the_failure() {
    let (mut files, mut rejected, mut read) = (0, 0, 0);
    for fixture in fixtures().iter().filter(|fixture| fixture.path.is_file()) {
        files += 1;
        let bytes = fs::read(&fixture.path).unwrap();
        for at in (0..=bytes.len()).step_by(bytes.len() / 60) {
            let stream = Box::new(Failing(Cursor::new(bytes[..at].to_vec())));
            let opened = ContainerReader::from_stream("failing", stream, ReadOptions::default()).map(Source::new);
            match opened.and_then(|source| source.run(&mut RecordCount::default())) {
                Err(error) => {
                    assert!(error.to_string().contains("failing"), "{} at {at}: {error}", fixture.name);
                    rejected += 1;
                }
                Ok((_, ledger)) => {
                    let is_reported =
                        ledger.messages().iter().any(|damage| damage.problem.contains("simulated failure"));
                    assert!(is_reported, "{} at {at}: {:?}", fixture.name, ledger.messages());
                    read += 1;
                }
            }
        }
    }
    note!("{files} streams failed at {} offsets: {rejected} rejected, {read} read up to the failure", rejected + read);
    assert!(files > 15 && rejected > 10 && read > 500, "too few offsets");
}

#[test]
fn a_failing_import_is_rejected_or_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (mut formats, mut rejected, mut reported) = (0, 0, 0);
    for format in FORMATS {
        let formats::FormatReader::Import(importer) = format.reader else { continue };
        let bytes = match format.name {
            "folded" => (0..500).map(|number| format!("main;f{number};g 1\n")).collect::<String>().into_bytes(),
            "perf-script" => {
                let sample =
                    |n| format!("cat 7 [000] 1.{n:06}: 1000 cycles:\n\t{:16x} f+0x1 (/bin/cat)\n\n", 0x1000 + n);
                (0..300).map(sample).collect::<String>().into_bytes()
            }
            name => {
                let path = dir.path().join(name);
                succeed(perfconv().arg(fixture("callgraph.data")).args(["-q", "-t", name, "-o"]).arg(&path));
                let bytes = fs::read(&path).unwrap();
                if bytes.starts_with(b"\x1f\x8b") { decompress(&bytes) } else { bytes }
            }
        };
        formats += 1;
        assert!(import(importer, stream(&bytes), &ImportOptions::default()).is_ok(), "{}", format.name);
        for at in (0..=bytes.len()).step_by((bytes.len() / 40).max(1)) {
            let mut stream = Failing(Cursor::new(bytes[..at].to_vec()));
            match importer(&mut stream, "failing", &ImportOptions::default()) {
                Err(error) => {
                    assert!(error.to_string().contains("failing"), "{} at {at}: {error}", format.name);
                    rejected += 1;
                }
                Ok(imported) => {
                    let is_reported = imported.damage.iter().any(|damage| damage.problem.contains("simulated failure"));
                    assert!(is_reported, "{} at {at}: {:?}", format.name, imported.damage);
                    reported += 1;
                }
            }
        }
    }
    note!(
        "streams of {formats} formats failed at {} offsets: {rejected} rejected, {reported} read up to the failure",
        rejected + reported
    );
    assert!(formats >= 7 && rejected + reported > 250, "too few offsets");
}

/// A stream that does not fail.
fn stream(bytes: &[u8]) -> Input {
    Input::Bytes { name: "complete".to_owned(), bytes: bytes.to_vec().into() }
}

fn decompress(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    all
}

#[test]
fn reports_unreadable_standard_input() {
    let mut command = perfconv();
    let dir = File::open(env!("CARGO_MANIFEST_DIR")).unwrap();
    let run = run(command.args(["-", "-t", "pprof", "-o", "-"]).stdin(dir));
    assert!(run.failure().is_ok_and(|sentence| sentence.starts_with("standard input: ")), "{}", run.stderr);
}

/// Creates a recording large enough that its conversion can be interrupted, from a copy of it if there is one.
fn create_large(dir: &Path) -> PathBuf {
    let [whole, path] = ["whole.data", "in.data"].map(|name| dir.join(name));
    if !whole.exists() {
        let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml");
        succeed(perfconv().args(["synth", scenario, "--scale", "200", "-q", "-o"]).arg(&whole));
    }
    fs::copy(whole, &path).unwrap();
    path
}

fn signal(child: &Child, name: &str) {
    assert!(send_signal(child, name), "{name}");
}

/// Truncates a file that a stopped program is reading.
fn truncate(path: &Path) {
    File::options().write(true).open(path).unwrap().set_len(5000).unwrap();
}

fn wait(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Run { status: output.status.code().unwrap_or(-1), stdout: output.stdout, stderr }
}

#[test]
fn truncating_an_input_during_a_slow_write_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["dump"][..], &["convert", "-t", "jsonl", "-o", "-"], &["convert", "-t", "perf-json", "-o", "-"]] {
        let path = create_large(dir.path());
        let mut command = perfconv_with_signals();
        command.args(args).arg(&path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // The program is beyond the part that remains, and blocks when the pipe is full.
        let mut first = vec![0; 1 << 18];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        truncate(&path);
        let run = wait(child);
        assert_eq!((run.status, &*run.stderr), (1, TRUNCATED), "{args:?}");
    }
}

#[test]
fn truncating_an_input_during_a_conversion_leaves_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    let entries = || fs::read_dir(&out).unwrap().count();
    let (mut failed, mut tried) = (0, 0);
    let conversions = [
        ("out.jsonl", &[][..]),
        ("out.pb.gz", &[]),
        ("out.data", &[]),
        ("sorted.data", &["--sort"]),
        ("dir.data", &["--container", "dir"]),
        ("tables", &["-t", "csv"]),
    ];
    // Some may have finished before the signal, the more the busier the machine is.
    for (name, args) in conversions.iter().cycle().take(10 * conversions.len()) {
        if tried >= conversions.len() && failed >= 2 {
            break;
        }
        tried += 1;
        let path = create_large(dir.path());
        let mut command = perfconv_with_signals();
        command.arg(&path).args(*args).arg("-o").arg(out.join(name)).args(["-q", "-f"]);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        while entries() == 0 {
            let is_running = child.try_wait().unwrap().is_none();
            assert!(is_running || entries() > 0, "{name}: should start writing");
        }
        signal(&child, "STOP");
        truncate(&path);
        signal(&child, "CONT");
        let run = wait(child);
        if run.status != 0 {
            // The last page is still mapped, and reads as zeros beyond the end.
            assert!(run.failure().is_ok(), "{name}: {run:?}");
            assert_eq!(entries(), 0, "{name}");
            failed += usize::from(run.stderr == TRUNCATED);
        }
        fs::remove_dir_all(&out).and_then(|()| fs::create_dir(&out)).unwrap();
    }
    note!("{failed} of {tried} conversions failed on the truncated file");
    assert!(failed >= 2, "only {failed} failed");
}

#[test]
fn a_private_copy_survives_truncation_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for fixture in fixtures() {
        let path = dir.path().join(fixture.name.replace('/', "-"));
        if fixture.path.is_dir() {
            fs::create_dir(&path).unwrap();
            for entry in fs::read_dir(&fixture.path).unwrap().flatten() {
                fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
            }
        } else {
            fs::copy(&fixture.path, &path).unwrap();
        }
        let open = |private_copy| {
            let mut options = ReadOptions::default();
            options.private_copy = private_copy;
            Source::open(Input::Path(path.clone()), options).unwrap()
        };
        let mut mapped = RecordCount::default();
        open(false).run(&mut mapped).unwrap();
        let (source, mut copied) = (open(true), RecordCount::default());
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
    note!("{compared} recordings read from private copies after their files were truncated");
    assert!(compared >= 15);
}
