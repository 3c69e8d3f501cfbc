//! Bad inputs: an error if nothing is readable, otherwise a warning and all that can be read.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::common::files::{self, fixture};
use crate::common::independent_scan::Scan;
use crate::common::program::{self, Ledger, Run, perfconv, run, succeed};

const HEADER_SIZE: usize = 8;
const ATTR_SIZE: usize = 16;
const ATTRS_OFFSET: usize = 24;
const ATTRS_SIZE: usize = 32;
const DATA_OFFSET: usize = 40;
const DATA_SIZE: usize = 48;
const EVENT_TYPES_OFFSET: usize = 56;
const EVENT_TYPES_SIZE: usize = 64;
const FEATURES: Range<usize> = 72..104;
const COMPRESSED: u32 = 81;
const SAMPLE: u32 = 9;

#[test]
fn rejects_inputs_that_are_no_recordings() {
    rejected(b"", "an empty file");
    rejected(b"Not a recording, but a text.\n".repeat(100).as_slice(), "text");
    rejected(b"PERF", "half a magic number");
    rejected(&[0; 4096], "zeros");
    let dir = tempfile::tempdir().unwrap();
    rejected_path(&dir.path().join("missing.data"), "a missing file");
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    rejected_path(&empty, "an empty directory");
    let texts = dir.path().join("texts");
    fs::create_dir(&texts).unwrap();
    fs::write(texts.join("data"), "text").unwrap();
    rejected_path(&texts, "a directory whose data file is text");
}

#[test]
fn unsupported_compression_is_reported() {
    let once = zstd::encode_all(&read("callgraph.data")[..], 3).unwrap();
    let twice = zstd::encode_all(&once[..], 3).unwrap();
    for bytes in [&twice[..], b"\xfd7zXZ\0\0\x04"] {
        let sentence = rejected(bytes, "unsupported compression");
        assert!(sentence.contains("decompress it first"), "{sentence}");
    }
}

#[test]
fn rejects_a_file_truncated_before_its_first_record() {
    for name in ["callgraph.data", "compressed2.data", "big-endian.data"] {
        let bytes = read(name);
        let data = if name == "big-endian.data" {
            u64::from_be_bytes(bytes[DATA_OFFSET..DATA_OFFSET + 8].try_into().unwrap()) as usize
        } else {
            word(&bytes, DATA_OFFSET)
        };
        for length in [8, 12, 60, 103, 104, 110, data - 17, data - 1, data, data + 7] {
            assert_has_number(&rejected(&bytes[..length], &format!("{name}, {length} bytes")));
        }
    }
    let bytes = read("pipe.data");
    for length in [8, 15, 16, 23, 100] {
        assert_has_number(&rejected(&bytes[..length], &format!("a pipe of {length} bytes")));
    }
}

#[test]
fn all_commands_read_a_file_without_records() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("empty.data"), without_records(&read("callgraph.data"))).unwrap();
    let run_ok = |arguments: &[&str]| succeed(perfconv().current_dir(&dir).args(arguments));
    let info = String::from_utf8(run_ok(&["info", "empty.data"]).stdout).unwrap();
    assert!(info.contains("# hostname : ") && info.contains("event : name = cpu-clock"), "{info}");
    run_ok(&["check", "empty.data"]);
    run_ok(&["dump", "empty.data"]);
    run_ok(&["empty.data"]);
    for carrier in ["copy.data", "carried.pb_data", "carried.jsonl"] {
        run_ok(&["empty.data", "-o", carrier]);
        run_ok(&[carrier, "-f", "-o", "restored.data"]);
        assert!(fs::read(at("restored.data")).unwrap() == fs::read(at("empty.data")).unwrap(), "via {carrier}");
    }
    for args in
        [&["--sort"][..], &["--container", "pipe"], &["--container", "dir"], &["--endian", "big"], &["--compress"]]
    {
        let other = format!("other{}.data", args.concat());
        run_ok(&[&["rewrite", "empty.data", "-o", &other], args].concat());
        let info = String::from_utf8(run_ok(&["info", &other]).stdout).unwrap();
        assert!(info.contains("# hostname : "), "{args:?}: {info}");
    }
    run_ok(&["repair", "empty.data", "-o", "repaired.data"]);
    let profile = run_ok(&["empty.data", "-o", "empty.pb.gz"]);
    assert!(profile.warnings().iter().any(|line| line.contains("the recording has no samples")), "{}", profile.stderr);
    assert!(program::profile(&at("empty.pb.gz")).sample.is_empty());
    // A rewrite that drops all records leaves a recording without records.
    let data = read("plain.data");
    let unknown = records(&data).fold(data.clone(), |mut bytes, record| {
        bytes[record.at..record.at + 4].copy_from_slice(&200_u32.to_le_bytes());
        bytes
    });
    fs::write(at("unknown.data"), unknown).unwrap();
    run_ok(&["rewrite", "unknown.data", "--perf-version", "6.1", "-o", "known.data"]);
    run_ok(&["known.data", "-o", "known.pb.gz"]);
}

/// Removes all records from a little-endian file, and keeps its metadata.
fn without_records(bytes: &[u8]) -> Vec<u8> {
    let (start, size) = (word(bytes, DATA_OFFSET), word(bytes, DATA_SIZE));
    let slots: u32 = bytes[FEATURES].iter().map(|bits| bits.count_ones()).sum();
    let shifted = (0..slots as usize).fold(bytes.to_vec(), |bytes, slot| {
        let at = start + size + 16 * slot;
        let offset = word(&bytes, at) - size;
        with(&bytes, at, offset as u64)
    });
    let mut empty = with(&shifted, DATA_SIZE, 0);
    empty.drain(start..start + size);
    empty
}

#[test]
fn rejects_version_1_if_truncated_or_of_unknown_byte_order() {
    let bytes = [b"PERFFILE", &read("callgraph.data")[8..]].concat();
    for length in [8, 12, 16, 60, 103, 110] {
        assert_has_number(&rejected(&bytes[..length], &format!("version 1, {length} bytes")));
    }
    for size in [0, 17, u64::MAX] {
        let sentence = rejected(&with(&bytes, HEADER_SIZE, size), &format!("a header of {size} bytes"));
        assert!(sentence.contains("unknown byte order"), "{sentence}");
    }
    let event_types = with(&with(&bytes, EVENT_TYPES_OFFSET, 104), EVENT_TYPES_SIZE, u64::MAX);
    assert!(salvaged(&event_types, Some(EVENT_TYPES_OFFSET)).samples_in > 0);
}

#[test]
fn rejects_attrs_outside_of_the_file() {
    let bytes = read("callgraph.data");
    let length = bytes.len() as u64;
    for attr_size in [0, 16, 64, 79] {
        assert_has_number(&rejected(&with(&bytes, ATTR_SIZE, attr_size), &format!("attr_size {attr_size}")));
    }
    for (field, value) in [
        (ATTRS_OFFSET, length),
        (ATTRS_OFFSET, length - 100),
        (ATTRS_OFFSET, u64::MAX - 8),
        (ATTRS_SIZE, length),
        (ATTRS_SIZE, u64::MAX),
        (ATTRS_SIZE, 40),
        (ATTR_SIZE, length),
        (ATTR_SIZE, u64::MAX),
    ] {
        assert_has_number(&rejected(&with(&bytes, field, value), &format!("{value} at {field} of the header")));
    }
}

#[test]
fn reads_attrs_of_other_sizes() {
    let bytes = read("callgraph.data");
    let attr = &bytes[word(&bytes, ATTRS_OFFSET)..][..word(&bytes, ATTR_SIZE) - 16];
    let unchanged = converted(&of_one_event(&bytes, attr), &[]);
    let oldest = converted(&of_one_event(&bytes, &sized(&attr[..64], 0)), &[]);
    let newer = [attr, &[0; 64]].concat();
    let newer = converted(&of_one_event(&bytes, &sized(&newer, newer.len() as u32)), &[]);
    for (run, output) in [&oldest, &newer] {
        assert_eq!(run.stderr, unchanged.0.stderr);
        assert_eq!(*output, unchanged.1);
    }
    assert_eq!(unchanged.0.ledger().unwrap().samples_in, 377);
}

#[test]
fn keeps_all_records_before_a_corrupt_one() {
    let bytes = read("callgraph.data");
    let samples: Vec<usize> = records(&bytes).filter(|record| record.kind == SAMPLE).map(|record| record.at).collect();
    let at = samples[200];
    for size in [0_u16, 4, u16::MAX] {
        let mut corrupted = bytes.clone();
        corrupted[at + 6..at + 8].copy_from_slice(&size.to_le_bytes());
        let ledger = salvaged(&corrupted, Some(at));
        assert!((200..377).contains(&ledger.samples_in), "size {size}: {ledger:?}");
    }
}

#[test]
fn drops_only_the_sample_that_exceeds_its_record() {
    let bytes = read("callgraph.data");
    let sample = records(&bytes).filter(|record| record.kind == SAMPLE).nth(200).unwrap();
    // IP, TID, TIME and PERIOD precede the length of the call chain.
    let corrupted = with(&bytes, sample.at + 8 + 4 * 8, u64::MAX);
    let ledger = salvaged(&corrupted, Some(sample.at));
    assert_eq!((ledger.samples_in, ledger.samples_out, ledger.dropped), (377, 376, 1));
}

#[test]
fn keeps_all_records_before_a_corrupt_frame() {
    let bytes = read("lost.data");
    let frames: Vec<Record> = records(&bytes).filter(|record| record.kind == COMPRESSED).collect();
    let frame = &frames[frames.len() / 2];
    let mut corrupted = bytes.clone();
    corrupted[frame.at + 8..frame.at + frame.size].fill(0xff);
    let before = with(&bytes[..frame.at], DATA_SIZE, (frame.at - word(&bytes, DATA_OFFSET)) as u64);
    let before = Scan::read(temporary(&before).as_ref()).samples;
    let ledger = salvaged(&corrupted, Some(frame.at));
    assert!(before > 100 && ledger.samples_in >= before, "{before} samples before the frame: {ledger:?}");
}

#[test]
fn reads_what_is_left_of_truncated_files() {
    for recording in files::fixtures().iter().filter(|recording| recording.path.is_file()) {
        let bytes = fs::read(&recording.path).unwrap();
        for length in [bytes.len() * 2 / 3 + 3, bytes.len() - 5] {
            let file = temporary(&bytes[..length]);
            let scan = Scan::read(file.as_ref());
            let (run, _) = converted(&bytes[..length], &[]);
            let ledger = run.ledger().unwrap_or_else(|error| panic!("{}: {error}", recording.name));
            assert!(!run.warnings().is_empty(), "{} truncated to {length} bytes: {}", recording.name, run.stderr);
            assert_eq!(ledger.samples_in, scan.samples, "{} truncated to {length} bytes: {scan:?}", recording.name);
        }
    }
}

#[test]
fn strict_fails_for_truncated_files_and_interrupted_recordings() {
    // An interrupted recording lacks only data in the recorder's buffers, which has no offset in the file.
    salvaged(&read("killed.data"), None);
    let truncated = read("truncated.data");
    let last = records(&truncated).last().unwrap();
    salvaged(&truncated, Some(last.at + last.size));
}

#[test]
fn random_corruption_causes_no_panic_or_hang() {
    // Reproducible corruption: positions and values from a linear congruential generator.
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    let mut corrupted = Vec::new();
    for recording in files::fixtures().iter().filter(|recording| recording.path.is_file()) {
        let bytes = fs::read(&recording.path).unwrap();
        for _ in 0..4 {
            let mut bytes = bytes.clone();
            let at = random() % bytes.len();
            let length = (random() % 9).min(bytes.len() - at);
            let value = [0, 1, 0x7f, 0x80, 0xff][random() % 5];
            bytes[at..at + length].fill(value);
            let what = format!("{}: {length} bytes at {at} are {value}", recording.name);
            corrupted.push((what, bytes));
        }
        for _ in 0..2 {
            let length = random() % bytes.len();
            corrupted.push((format!("{}: {length} bytes", recording.name), bytes[..length].to_vec()));
        }
    }
    let runs = program::for_each(&corrupted, |(_, bytes)| converted(bytes, &[]).0);
    for ((what, _), run) in corrupted.iter().zip(runs) {
        match run.status {
            0 => drop(run.ledger().unwrap_or_else(|error| panic!("{what}: {error}"))),
            _ => drop(run.failure().unwrap_or_else(|error| panic!("{what}: {error}"))),
        }
    }
}

/// Converts bytes that are partly corrupt, and asserts a warning with the offset. With `--strict`, the output must be the same,
/// and the exit status 3.
fn salvaged(bytes: &[u8], offset: Option<usize>) -> Ledger {
    let (run, output) = converted(bytes, &[]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let has_offset = |warning: &&str| offset.is_none_or(|offset| warning.contains(&format!("offset {offset:#x}:")));
    assert!(run.warnings().iter().any(has_offset), "no warning for offset {offset:?}: {}", run.stderr);
    let (strict, strict_output) = converted(bytes, &["--strict"]);
    assert_eq!(strict.status, 3, "{}", strict.stderr);
    assert_eq!(strict_output, output);
    run.ledger().unwrap()
}

/// Asserts that bytes in a file are rejected. Returns the error without the file name.
fn rejected(bytes: &[u8], what: &str) -> String {
    rejected_path(temporary(bytes).as_ref(), what)
}

fn rejected_path(input: &Path, what: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let run = program::convert(input, &dir.path().join("out.pb.gz"));
    let sentence = run.failure().unwrap_or_else(|error| panic!("{what}: {error}"));
    let sentence = sentence.strip_prefix(&*input.to_string_lossy()).unwrap_or_else(|| panic!("{what}: {sentence}"));
    assert!(sentence.len() > 20, "{what}: {sentence}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{what}: an output is left");
    sentence.into()
}

/// Asserts that a message contains an offset or a size.
fn assert_has_number(sentence: &str) {
    assert!(sentence.contains(|letter: char| letter.is_ascii_digit()), "no offset or size: {sentence}");
}

/// Converts bytes in a file, always under the same name. Returns the run and the output.
fn converted(bytes: &[u8], arguments: &[&str]) -> (Run, Vec<u8>) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("in.data"), bytes).unwrap();
    let run = run(perfconv().current_dir(&dir).args(["in.data", "-o", "out.pb.gz"]).args(arguments));
    (run, fs::read(dir.path().join("out.pb.gz")).unwrap_or_default())
}

fn temporary(bytes: &[u8]) -> tempfile::TempPath {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    file.into_temp_path()
}

fn read(name: &str) -> Vec<u8> {
    fs::read(fixture(name)).unwrap()
}

/// Replaces the word at an offset.
fn with(bytes: &[u8], at: usize, word: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    bytes
}

fn word(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Sets the `size` field of an attr.
fn sized(attr: &[u8], size: u32) -> Vec<u8> {
    [&attr[..4], &size.to_le_bytes(), &attr[8..]].concat()
}

/// A file with the header and data of another one, and a single attr without IDs or features.
fn of_one_event(bytes: &[u8], attr: &[u8]) -> Vec<u8> {
    let data = &bytes[word(bytes, DATA_OFFSET)..][..word(bytes, DATA_SIZE)];
    let mut header = bytes[..104].to_vec();
    header[FEATURES].fill(0);
    let attr_size = attr.len() as u64 + 16;
    for (field, value) in
        [(ATTR_SIZE, attr_size), (ATTRS_OFFSET, 104), (ATTRS_SIZE, attr_size), (DATA_OFFSET, 104 + attr_size)]
    {
        header = with(&header, field, value);
    }
    [&header, attr, &[0; 16], data].concat()
}

struct Record {
    at: usize,
    kind: u32,
    size: usize,
}

/// The complete records in the data of a little-endian file.
fn records(bytes: &[u8]) -> impl Iterator<Item = Record> {
    let start = word(bytes, DATA_OFFSET);
    let end = bytes.len().min(start + word(bytes, DATA_SIZE));
    let mut at = start;
    std::iter::from_fn(move || {
        let header = bytes[at..end].first_chunk::<8>()?;
        let size = u16::from_le_bytes([header[6], header[7]]) as usize;
        let record = Record { at, kind: u32::from_le_bytes([header[0], header[1], header[2], header[3]]), size };
        at += size;
        (at <= end).then_some(record)
    })
}
