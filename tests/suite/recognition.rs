//! Inputs are recognized by content, whatever their names; outputs by name.

use crate::common::files::fixture;
use crate::common::program::{Run, perfconv, run, succeed};
use flate2::Compression;
use flate2::write::GzEncoder;
use perfconv::formats::FORMATS;
use perfconv::formats::framework::recognize::{START, by_content};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::tempdir;

const SCRIPT: &str = "# captured on: today\n#\nWeb Content 34/56 [003] 1806.624218: 9 cycles:u: \n\t401000 main+0x2 (/bin/a)\n\n\
                      Web Content 34/56 [003] 1806.724218: 9 cycles:u: \n\t401010 main+0x12 (/bin/a)\n\n";
const FOLDED: &str = "main;work;inner loop 2\nmain;other 1\n";

fn convert_fixture(dir: &Path, format: &str) -> Vec<u8> {
    let path = dir.join("written.pb");
    succeed(perfconv().arg(fixture("callgraph.data")).args(["-f", "-q", "-t", format, "-o"]).arg(&path));
    fs::read(path).expect("the file should have been written")
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(bytes).expect("writing to memory should succeed");
    gzip.finish().expect("writing to memory should succeed")
}

fn convert(input: &Path, stdin: Stdio, output: &Path) -> Run {
    run(perfconv().arg(input).stdin(stdin).args(["-f", "-o"]).arg(output))
}

#[test]
fn inputs_are_recognized_by_content_from_files_and_streams() {
    let dir = tempdir().expect("a directory");
    let output = dir.path().join("out.jsonl");
    let formats = [
        "perf.data",
        "pprof",
        "quipper",
        "quipper-text",
        "jsonl",
        "json",
        "firefox",
        "speedscope",
        "otlp",
        "otlp-json",
    ];
    let mut inputs: Vec<_> = formats.map(|format| (format, convert_fixture(dir.path(), format), 377)).into();
    inputs.push(("perf-script", SCRIPT.into(), 2));
    inputs.push(("folded", FOLDED.into(), 2));
    for (format, bytes, samples) in inputs {
        let packed = [
            bytes.clone(),
            gzipped(&bytes),
            zstd::encode_all(&bytes[..], 1).expect("writing to memory should succeed"),
        ];
        for (bytes, name) in packed.iter().zip(["recording", "x.perf", "x.txt"]) {
            let input = dir.path().join(name);
            fs::write(&input, bytes).expect("writing should succeed");
            let from_file = convert(&input, Stdio::null(), &output);
            let redirected =
                convert(Path::new("-"), File::open(&input).expect("the file should exist").into(), &output);
            let (reader, mut writer) = io::pipe().expect("a pipe");
            let bytes = bytes.clone();
            // Write two pieces, the first too short to recognize a format.
            let feed = std::thread::spawn(move || {
                let (first, rest) = bytes.split_at(3);
                writer.write_all(first).and_then(|()| writer.write_all(rest))
            });
            let piped = convert(Path::new("-"), reader.into(), &output);
            feed.join().expect("it should end").expect("everything should be read");
            for run in [from_file, redirected, piped] {
                let out = run.ledger().map(|ledger| ledger.samples_out);
                assert_eq!(out, Ok(samples), "{format} as {name}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn an_unknown_input_names_the_formats_and_the_option() {
    let dir = tempdir().expect("a directory");
    let (input, output) = (dir.path().join("notes.txt"), dir.path().join("out.data"));
    fs::write(&input, "Dear reader,\n").expect("writing should succeed");
    let said = convert(&input, Stdio::null(), &output);
    let sentence = said.failure().expect("a failure");
    let expected = "notes.txt: neither a perf.data file nor any other known format; if it is one of these, name it with --from: perf.data, pprof, quipper, ";
    assert!(
        sentence.contains(expected) && sentence.ends_with("folded, firefox, speedscope, otlp, otlp-json, perf-script"),
        "{sentence}"
    );
    fs::write(&input, convert_fixture(dir.path(), "perf-json")).expect("writing should succeed");
    let said = convert(&input, Stdio::null(), &output);
    assert!(said.failure().expect("a failure").ends_with("this is perf-json, which can be written but not read"));
}

#[test]
fn an_output_without_a_known_extension_names_common_ones() {
    let dir = tempdir().expect("a directory");
    let usage = |arguments: &[&str]| {
        let run = run(perfconv().current_dir(&dir).arg(fixture("callgraph.data")).args(arguments));
        assert_eq!(run.status, 2, "{}", run.stderr);
        run.stderr
    };
    let said = usage(&["-o", "out.xyz"]);
    assert!(said.contains("such as .pb.gz, .html, .svg") && said.contains("or --to FORMAT"), "{said}");
    assert!(said.contains("'perfconv help formats' lists all") && said.lines().count() == 1, "{said}");
    let said = usage(&["-o", "."]);
    assert!(said.contains("is a directory; name a file in it, such as ./out.pb.gz, or use --out-dir"), "{said}");
    let said = usage(&["-t", "nonsense"]);
    assert!(said.contains("unknown format 'nonsense'; expected one of: perf.data, pprof, "), "{said}");
}

#[test]
fn reports_corrupt_compression_and_content_in_one_line() {
    let dir = tempdir().expect("a directory");
    let (input, output) = (dir.path().join("in.pb.gz"), dir.path().join("out.data"));
    let garbage: Vec<u8> = (0..400_u32).map(|i| ((i * i * 31) >> 3) as u8 | 0x80).collect();
    let complete = gzipped(&convert_fixture(dir.path(), "pprof"));
    let header = [&b"\x1f\x8b\x08"[..], &garbage].concat();
    for (bytes, expected) in [
        (&garbage[..], "in.pb.gz: not a valid pprof profile: "),
        (&gzipped(&garbage), "in.pb.gz: not a valid pprof profile: "),
        (&header, "in.pb.gz: cannot read: the gzip data is corrupt: "),
        (&complete[..complete.len() / 2], "in.pb.gz: cannot read: the gzip data is truncated"),
    ] {
        fs::write(&input, bytes).expect("writing should succeed");
        let said = convert(&input, Stdio::null(), &output);
        let sentence = said.failure().expect("a failure");
        assert!(sentence.contains(expected) && !sentence.contains("failed to decode"), "{sentence}");
    }
}

/// Finds files of other programs by the end of their names.
fn files(dir: &Path, end: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => paths.extend(files(&path, end)),
            path if path.to_string_lossy().ends_with(end) => paths.push(path),
            _ => {}
        }
    }
    paths
}

#[test]
fn recognizes_files_of_other_programs() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles");
    let mut counts = Vec::new();
    for (dir, end, expected) in [
        (&profiles, ".pprof", "pprof"),
        (&corpus, ".pprof.zst", "pprof"),
        (&corpus, ".pb.zst", "quipper"),
        (&corpus, ".pb_data.zst", "quipper"),
        (&corpus, ".script.zst", "perf-script"),
    ] {
        let files = files(dir, end);
        let start = |path: &Path| -> io::Result<Vec<u8>> {
            let (file, mut start) = (File::open(path)?, Vec::new());
            let decompressed: Box<dyn Read> = match end.ends_with(".zst") {
                true => Box::new(zstd::Decoder::new(file)?),
                false => Box::new(flate2::read::GzDecoder::new(file)),
            };
            decompressed.take(START as u64).read_to_end(&mut start)?;
            Ok(start)
        };
        // Skip PerfDataProto messages that do not begin with events, and perf script output without samples (of perf stat, and
        // of trace decoding errors).
        let others = ["/schedstat.data.", "/stat", "/pt-itrace-bie.data."];
        let is_other = |path: &&PathBuf| others.iter().any(|other| path.to_string_lossy().contains(other));
        let unknown: Vec<_> = files
            .iter()
            .filter(|path| !is_other(path))
            .filter_map(|path| {
                let start = start(path).expect("reading should succeed");
                let recognized = by_content(FORMATS, &start).map(|format| format.name);
                (!start.is_empty() && recognized != Some(expected))
                    .then(|| format!("{}: {recognized:?}", path.display()))
            })
            .collect();
        assert!(unknown.is_empty(), "{expected}: {} of {}:\n{}", unknown.len(), files.len(), unknown.join("\n"));
        counts.push(format!("{} {expected}", files.len()));
    }
    // Not with the print macros, whose output the test harness captures.
    note!("recognized by content: {}", counts.join(", "));
}
