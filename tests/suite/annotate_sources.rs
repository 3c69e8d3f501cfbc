//! `perfconv annotate`: sources in debug information, sources that are newer than the program, events as columns, and code that is in
//! no program.

use crate::common::jit::{dump_of_ours, ours};
use crate::common::program::{perfconv, succeed};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::Sample;
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// Where the library is mapped.
const START: u64 = 0x7f00_0000_0000;

/// A library with its source in the debug information (DWARF 5, with MD5).
const LIBRARY: &str = "/srv/blend/libblend.so";

/// Build ID of the library.
const BUILD_ID: &str = "52fca5eb536defa5367f166c3fcba02e7e7cb680";

/// Samples of two events in the library, at these addresses.
fn recording(directory: &Path, samples: &[(usize, u64)]) -> PathBuf {
    let mut recording = RecordingBuilder::new();
    let events = ["cycles:u", "cache-misses:u"].map(|name| recording.event(Event::named(name).expect("an event")));
    let id = (0..BUILD_ID.len()).step_by(2).map(|at| u8::from_str_radix(&BUILD_ID[at..at + 2], 16).expect("a digit"));
    recording.process(7, "app").map(7, Map::new(LIBRARY, START, 0x1000).build_id(&id.collect::<Vec<_>>()));
    for (number, &(event, address)) in samples.iter().enumerate() {
        let time = Some(1000 + number as u64);
        let sample =
            Sample { ip: Some(START + address), task: Some((7, 7)), time, period: Some(100), ..Sample::default() };
        recording.sample(events[event], sample);
    }
    let path = directory.join("in.data");
    fs::write(&path, recording.to_bytes().expect("a recording")).expect("a file");
    path
}

/// Samples at instructions of a line, of its inlined function, and of the loop.
const SAMPLES: [(usize, u64); 7] = [(0, 0x244), (0, 0x249), (0, 0x249), (0, 0x250), (1, 0x249), (1, 0x23a), (1, 0x23a)];

fn annotated(recording: &Path, root: &Path, arguments: &[&str]) -> String {
    let mut command = perfconv();
    command.args(["annotate", "blend", "-q", "-i"]).arg(recording).arg("--symfs").arg(root).args(arguments);
    let run = succeed(command.env("HOME", "/nonexistent"));
    String::from_utf8(run.stdout).expect("UTF-8")
}

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/files")
}

/// A copy of the library below a root directory.
fn root() -> TempDir {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir_all(root.path().join("srv/blend")).expect("a directory");
    fs::copy(files().join(&LIBRARY[1..]), root.path().join(&LIBRARY[1..])).expect("a copy");
    root
}

#[test]
fn sources_in_debug_information_are_shown() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recording = recording(directory.path(), &SAMPLES);
    let listing = annotated(&recording, &files(), &[]);
    assert!(listing.contains("source /srv/blend/./blend.c\n"), "{listing}");
    let inlined = "blend.c:3      return (unsigned char)((a + b + 1) / 2);  (inlined mean)";
    assert!(
        listing.contains(inlined) && listing.contains("blend.c:8          out[i] = mean(a[i], b[i]);"),
        "{listing}"
    );
    // Nothing is read on request, and a file that is found takes precedence.
    assert!(!annotated(&recording, &files(), &["--no-source"]).contains("return (unsigned char)"));
    let root = root();
    fs::write(root.path().join("srv/blend/blend.c"), "a line\n".repeat(20)).expect("a file");
    let listing = annotated(&recording, root.path(), &[]);
    assert!(listing.contains("blend.c:8  a line") && !listing.contains("return (unsigned char)"), "{listing}");
}

#[test]
fn sources_newer_than_the_program_are_said_to_be() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recording = recording(directory.path(), &SAMPLES);
    let root = root();
    let (library, source) = (root.path().join(&LIBRARY[1..]), root.path().join("srv/blend/blend.c"));
    fs::write(&source, "a line\n".repeat(20)).expect("a file");
    let now = SystemTime::now();
    let modify = |path: &Path, age: u64| {
        let file = File::options().append(true).open(path).expect("a file");
        file.set_modified(now - Duration::from_secs(age)).expect("a time");
    };
    for (library_age, source_age, is_newer) in [(1000, 10, true), (1000, 990, false), (10, 1000, false)] {
        modify(&library, library_age);
        modify(&source, source_age);
        let note = "source /srv/blend/./blend.c: newer than the program, so lines may differ";
        let listing = annotated(&recording, root.path(), &[]);
        assert_eq!(listing.contains(note), is_newer, "{library_age} {source_age}: {listing}");
    }
}

#[test]
fn events_are_columns() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let recording = recording(directory.path(), &SAMPLES);
    let listing = annotated(&recording, &files(), &["--context", "0"]);
    assert!(listing.contains("total 100.00%, self 100.00% of cycles:u; total 100.00%, self 100.00% of cache-misses:u"));
    let row = |address: &str| {
        let line = listing.lines().find(|line| line.split("  ").any(|word| word.trim() == address));
        line.unwrap_or_else(|| panic!("no {address} in {listing}")).split(address).next().unwrap_or_default()
    };
    let shares = |address: &str| row(address).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(shares("249"), ["50.00%", "50.00%", "33.33%", "33.33%"], "{listing}");
    assert_eq!((shares("23a"), row("23a").find('6')), (vec!["66.67%".to_owned(); 2], Some(18)), "{listing}");
    let one = annotated(&recording, &files(), &["--event", "cycles:u"]);
    assert!(!one.contains("cache-misses") && one.contains("source /srv/blend/./blend.c\n"), "{one}");
    let report: Value = serde_json::from_str(&annotated(&recording, &files(), &["--json"])).expect("JSON");
    let lines = report["lines"].as_array().expect("lines").iter();
    let counts = lines.filter(|line| line["address"] == "0x249").map(|line| (&line["event"], &line["self"]["samples"]));
    assert_eq!(
        format!("{:?}", counts.collect::<Vec<_>>()),
        r#"[(String("cycles:u"), Number(2)), (String("cache-misses:u"), Number(1))]"#
    );
}

/// Code of a jitdump, without `perf inject`.
#[test]
fn generated_code_is_that_of_its_jitdump() {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(root.path().join("tmp")).expect("a directory");
    fs::write(root.path().join("tmp/jit-11901.dump"), dump_of_ours()).expect("a file");
    let mut command = perfconv();
    command.args(["annotate", "Jit.loop", "--json", "-q", "-i"]).arg(ours("java.data")).arg("--symfs").arg(root.path());
    let run = succeed(command.env("HOME", "/nonexistent"));
    let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let lines = report["lines"].as_array().expect("lines");
    let samples: u64 = lines.iter().filter_map(|line| line["self"]["samples"].as_u64()).sum();
    assert!(samples == 7 && lines.iter().all(|line| line["instruction"].is_string()), "{samples} samples");
    assert!(report["functions"].as_array().is_some_and(Vec::is_empty), "{}", report["functions"]);
}

/// Code of a kernel from its image with the recorded build ID, and that of a copy of the vDSO.
#[test]
fn code_of_kernels_and_of_the_vdso_is_read_from_their_images() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (start, id) = (0xffff_ffff_8100_0000, "d10dec0a60a911c792655cc5e4f247295843b52b");
    let id: Vec<u8> =
        (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("a digit")).collect();
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles").expect("an event"));
    let kernel = Map::new("[kernel.kallsyms]_text", start, 0x100_0000).pgoff(start).build_id(&id);
    recording.mmap(CpuMode::KERNEL, Stamp::at(0, u32::MAX, 0), kernel).process(7, "app");
    for (number, address) in [0x1b, 0x1b, 0x28].into_iter().enumerate() {
        let time = Some(1000 + number as u64);
        recording.sample(event, Sample { ip: Some(start + address), task: Some((7, 7)), time, ..Sample::default() });
    }
    let path = directory.path().join("in.data");
    fs::write(&path, recording.to_bytes().expect("a recording")).expect("a file");
    let lines = |command: &mut Command| -> Vec<(String, u64, String)> {
        let run = succeed(command.args(["--json", "-q", "--context", "0"]).env("HOME", "/nonexistent"));
        let report: Value = serde_json::from_slice(&run.stdout).expect("JSON");
        let lines = report["lines"].as_array().expect("lines").iter().map(|line| {
            let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
            (text("address"), line["self"]["samples"].as_u64().unwrap_or(0), text("instruction"))
        });
        lines.collect()
    };
    let image = files().join("../vmlinux");
    let mut annotate = perfconv();
    let kernel = lines(annotate.args(["annotate", "checksum", "-i"]).arg(&path).arg("--vmlinux").arg(&image));
    let expected =
        [("0xffffffff8100001b", 2, "movzbl (%rdx),%eax"), ("0xffffffff81000028", 1, "jne 0xffffffff81000011")];
    let expected = expected.map(|(address, samples, text)| (address.to_owned(), samples, text.to_owned()));
    assert_eq!(kernel, expected);

    let mut annotate = perfconv();
    annotate.args(["annotate", "__vdso_clock_gettime", "-i"]).arg(files().join("../detour.data"));
    let vdso = lines(annotate.arg("--symfs").arg(files()).arg("--buildid-dir").arg(files().join("cache")));
    assert!(!vdso.is_empty() && vdso.iter().all(|(.., text)| !text.is_empty()), "{vdso:?}");
}
