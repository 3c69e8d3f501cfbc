//! Names in recordings that are made to need much memory or time, or that contradict each other.

use super::embedded_symbols::{embed, perfconv_in};
use super::memory::{limited_in_time, limited_to};
use crate::common::program::{perfconv, profile, run, succeed};
use crate::common::protobuf::{bytes, number};
use perf_data::abi::sample::Sample;
use perfconv::synth::{Event, Map, RecordingBuilder};
use std::fs;
use std::path::{Path, PathBuf};

/// The feature with names.
const FILE2: u32 = 132;

/// The path of the program in `words.data`.
const PROGRAM: &[u8] = b"/opt/words/bin/words";

/// An object of ELF type, whose symbols have their offsets in the file as addresses.
fn object(path: &[u8], build_id: Option<&[u8]>, symbols: &[(u64, u64, &[u8])]) -> Vec<u8> {
    let symbol = |&(address, size, name): &(u64, u64, &[u8])| {
        bytes(4, &[number(1, address), number(2, size), bytes(3, name)].concat())
    };
    let mut message = [bytes(1, path), number(2, 2)].concat();
    message.extend(symbols.iter().flat_map(symbol));
    message.extend(build_id.iter().flat_map(|id| bytes(1000, id)));
    [&(message.len() as u32).to_le_bytes()[..], &message].concat()
}

/// Replaces the contents of FILE2, which must exist.
fn replace_names(recording: &Path, section: &[u8]) {
    let mut file = fs::read(recording).expect("a recording");
    let word = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().expect("8 bytes"));
    let data_end = (word(&file, 40) + word(&file, 48)) as usize;
    // The bits of the features, and their sections after the records.
    let before = (0..FILE2).filter(|bit| file[72 + *bit as usize / 8] >> (bit % 8) & 1 == 1).count();
    assert_eq!(file[72 + FILE2 as usize / 8] >> (FILE2 % 8) & 1, 1, "there should be names");
    let entry = data_end + 16 * before;
    let start = file.len() as u64;
    file[entry..entry + 8].copy_from_slice(&start.to_le_bytes());
    file[entry + 8..entry + 16].copy_from_slice(&(section.len() as u64).to_le_bytes());
    file.extend_from_slice(section);
    fs::write(recording, file).expect("a recording");
}

/// `words.data` with these names.
fn with_names(directory: &Path, section: &[u8]) -> PathBuf {
    let path = directory.join("hostile.data");
    let _ = fs::remove_file(&path);
    embed("words", &[], &path);
    replace_names(&path, section);
    path
}

fn folded(recording: &Path, options: &[&str]) -> String {
    let mut command = perfconv_in(recording.parent().expect("a directory"));
    command.arg(recording).args(options).args(["--symbols", "embedded", "-q", "-t", "folded", "-o", "-"]);
    String::from_utf8(succeed(&mut command).stdout).expect("UTF-8")
}

#[test]
fn names_of_a_megabyte_are_truncated() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let names: Vec<_> = (0..8_u8).map(|nth| vec![b'a' + nth; 1 << 20]).collect();
    let symbols: Vec<_> = (0..8).map(|nth| (0x1000 + 0x40 * nth, 0x40, &names[nth as usize][..])).collect();
    let path = with_names(directory.path(), &object(PROGRAM, None, &symbols));
    let output = directory.path().join("out.pb.gz");
    succeed(limited_to(100).arg(&path).args(["--symbols", "embedded", "-q", "-o"]).arg(&output));
    let longest = profile(&output).string_table.into_iter().max_by_key(String::len).unwrap_or_default();
    assert_eq!(longest.len(), 16 << 10);
    assert!(longest.ends_with("..."));
    // They are kept by a copy.
    let copy = directory.path().join("copy.data");
    succeed(limited_to(100).arg("rewrite").arg(&path).args(["--comm", "words", "-q", "-o"]).arg(&copy));
    let bytes = fs::read(copy).expect("a recording");
    assert!(names.iter().all(|name| memchr::memmem::find(&bytes, name).is_some()));
}

#[test]
fn overlapping_functions_lose_no_samples() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let end = 1 << 20;
    let symbols: [(u64, u64, &[u8]); 4] =
        [(0, end, b"whole"), (0x1100, end, b"inner"), (0x1100, 8, b"same"), (u64::MAX - 3, u64::MAX, b"last")];
    let path = with_names(directory.path(), &object(PROGRAM, None, &symbols));
    let text = folded(&path, &[]);
    assert!(text.contains("inner") || text.contains("same"), "{text}");
    assert_eq!(text, folded(&path, &[]), "the functions of a sample should not vary");
    let samples =
        |text: &str| -> u64 { text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum() };
    let without = succeed(perfconv().arg(&path).args(["--symbols", "no", "-q", "-t", "folded", "-o", "-"])).stdout;
    assert_eq!(samples(&text), samples(&String::from_utf8_lossy(&without)));
}

/// An empty symbol takes two bytes of a section, an object with a build ID 37.
#[test]
fn many_symbols_and_objects_take_time_and_memory_in_proportion() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut symbols = [bytes(1, PROGRAM), number(2, 2)].concat();
    symbols.extend(bytes(4, b"").repeat(1 << 20));
    let symbols = [&(symbols.len() as u32).to_le_bytes()[..], &symbols].concat();
    let objects: Vec<u8> = (0..100_000_u32)
        .flat_map(|nth| object(PROGRAM, Some(&[&nth.to_le_bytes()[..], &[7; 16]].concat()), &[(0x1000, 1 << 20, b"f")]))
        .collect();
    // Minutes if the time were quadratic.
    let limited = || limited_in_time(300, 12);
    for (what, section) in [("symbols", symbols), ("objects", objects)] {
        let path = with_names(directory.path(), &section);
        for command in [&["-t", "folded", "-o", "-"][..], &["-t", "pprof", "-o", "-"]] {
            succeed(limited().arg(&path).args(["--symbols", "embedded", "-q"]).args(command));
        }
        for command in ["info", "check"] {
            let run = run(limited().arg(command).arg(&path));
            assert!([0, 3].contains(&run.status), "{command}: {}", run.stderr);
        }
        let again = directory.path().join("again.data");
        succeed(limited().arg("merge").args([&path, &path]).args(["-f", "-q", "-o"]).arg(&again));
        note!("{} bytes of {what}: five commands", section.len());
    }
}

/// Two versions of a program, of which one replaced the other while it was recorded.
#[test]
fn objects_of_one_path_are_distinguished_by_their_build_ids() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("two.data");
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cpu-clock:u").expect("an event").period(1000));
    for (pid, id) in [(7, 1_u8), (8, 2), (9, 3)] {
        let map = Map::new("/bin/app", 0x40_0000, 0x1000).pgoff(0x1000).build_id(&[id; 20]);
        recording.process(pid, "app").map(pid, map);
        let sample =
            Sample { ip: Some(0x40_0010), task: Some((pid, pid)), time: Some(u64::from(pid)), ..Sample::default() };
        recording.sample(event, sample);
    }
    // Names come from a merge, since there are no files of the programs.
    let named = directory.path().join("named.data");
    embed("words", &["--set", "hostname=synth", "--set", "osrelease=6.1.0"], &named);
    fs::write(&path, recording.to_bytes().expect("a recording")).expect("a file");
    let merged = directory.path().join("merged.data");
    succeed(perfconv().arg("merge").args([&path, &named]).args(["-q", "-o"]).arg(&merged));
    let shown = |objects: &[Vec<u8>]| {
        replace_names(&merged, &objects.concat());
        let text = folded(&merged, &["--comm", "app"]);
        text.lines().map(|line| line.rsplit_once(' ').expect("a value").0.to_owned()).collect::<Vec<_>>()
    };
    let app = |id: Option<u8>, name: &[u8]| {
        object(b"/bin/app", id.map(|id| [id; 20]).as_ref().map(|id| &id[..]), &[(0x1000, 0x20, name)])
    };
    let names = shown(&[app(Some(1), b"first"), app(Some(2), b"second")]);
    assert_eq!(names[1..], ["app;first", "app;second"], "{names:?}");
    assert_eq!(names[0], "app;[app]");
    // The last object counts, if it may be the recorded one.
    assert_eq!(shown(&[app(Some(1), b"first"), app(None, b"any")]), ["app;any"]);
    assert_eq!(shown(&[app(None, b"any"), app(Some(1), b"first")]), ["app;any", "app;first"]);
}
