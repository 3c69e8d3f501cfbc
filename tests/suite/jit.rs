//! Names of JIT code, compared with `perf inject --jit` and with perf's own reading of map files.

use crate::suite::files::has_corpus;
use crate::suite::program::{Run, perfconv, run, run_other, with_time_limit};
use perf_data::abi::jitdump::header::Header;
use perf_data::abi::jitdump::record::UnwindingInfo;
use perf_data::abi::jitdump::record::{
    CodeLoad, CodeMove, DebugEntry, DebugInfo, RecordHeader, RecordKind, Terminated,
};
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample_view::SampleView;
use perf_data::abi::{self, Endian};
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_symbols::object::jit_dump::{Dump, EventKind};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// The process of the recording in this repository.
const PID: u32 = 11901;

fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/jit").join(name)
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/own").join(name)
}

fn path(dir: &TempDir, name: &str) -> PathBuf {
    dir.path().join(name)
}

/// Rewrites a recording with perfconv.
fn rewrite(input: &Path, output: &Path, args: &[&str]) -> Run {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-o"]).arg(output).args(args));
    assert_eq!(run.status, 0, "{} {args:?}: {}", input.display(), run.stderr);
    run
}

/// The symbols of frames that perf prints, and the number of frames in files with a name prefix; `None` if perf is not installed.
fn names(path: &Path, object: &str) -> Option<(Vec<String>, usize)> {
    let mut perf = with_time_limit("perf");
    perf.args(["script", "-f", "-F", "comm,tid,time,ip,sym,symoff,dso", "-i"]).arg(path).env("LC_ALL", "C");
    let run = run_other(perf.env_remove("DEBUGINFOD_URLS"));
    if run.status == 127 {
        return None;
    }
    assert_eq!(run.status, 0, "{}: {}", path.display(), run.stderr);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let is_inside = |line: &&str| line.rsplit('/').next().is_some_and(|file| file.starts_with(object));
    let inside = text.lines().filter(is_inside).count();
    // Skip the address, which is relative to the object, and the object, which differs.
    let name = |line: &str| match line.strip_prefix('\t') {
        None => line.to_owned(),
        Some(frame) => {
            let (frame, _) = frame.rsplit_once(" (").expect("an object");
            frame.trim_start().split_once(' ').expect("an address and a name").1.to_owned()
        }
    };
    Some((text.lines().map(name).collect(), inside))
}

/// Puts a jitdump into a directory, and the recording with the dump's path changed to it, as perf inject requires.
fn relocate(dir: &TempDir, recording: &Path, name: &str, dump: &[u8]) -> PathBuf {
    fs::write(path(dir, name), dump).unwrap();
    rewrite(recording, &path(dir, "known.data"), &["--perf-version", "6.1"]);
    let json = path(dir, "known.jsonl");
    let run = run(perfconv().arg(path(dir, "known.data")).args(["-f", "-o"]).arg(&json));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = fs::read_to_string(&json).unwrap();
    let at = text.find(&format!("/{name}\"")).expect("the recording should map the dump");
    let start = text[..at].rfind('"').expect("a string") + 1;
    let text = text.replace(&text[start..at], dir.path().to_str().expect("a UTF-8 path"));
    fs::write(&json, text).unwrap();
    let relocated = path(dir, "relocated.data");
    let run = run_other(with_time_limit(env!("CARGO_BIN_EXE_perfconv")).arg(&json).args(["-f", "-o"]).arg(&relocated));
    assert_eq!(run.status, 0, "{}", run.stderr);
    relocated
}

fn dump_of_ours() -> Vec<u8> {
    zstd::decode_all(&fs::read(ours("jit-11901.dump.zst")).unwrap()[..]).expect("zstd")
}

/// Reads a file in an archive of the corpus.
fn in_archive(archive: &str, name: &str) -> Vec<u8> {
    let archive = corpus(archive);
    let list = run_other(with_time_limit("tar").args(["--zstd", "-tf"]).arg(&archive));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let entry = list.lines().find(|line| line.ends_with(name)).expect("the corpus should contain the file");
    run_other(with_time_limit("tar").args(["--zstd", "-xOf"]).arg(&archive).arg(entry)).stdout
}

#[test]
fn jitdump_names_match_perf_inject() {
    let test = "jit";
    let mut cases = vec![(ours("java.data"), "jit-11901.dump", dump_of_ours())];
    if has_corpus(test) {
        let of = |archive, name: &'static str| (name, in_archive(archive, name));
        let (name, dump) = of("jit-p612b.tar.zst", "jit-11887.dump");
        cases.push((corpus("p612b/jit-node.data"), name, dump));
        let (name, dump) = of("jit-p72-java.tar.zst", "jit-21363.dump");
        cases.push((corpus("p72/jit-java.data"), name, dump));
    }
    for (recording, name, dump) in cases {
        let dir = tempfile::tempdir().unwrap();
        let relocated = relocate(&dir, &recording, name, &dump);
        let injected = path(&dir, "perf.data");
        let mut perf = with_time_limit("perf");
        perf.args(["inject", "-f", "--jit", "-i"]).arg(&relocated).arg("-o").arg(&injected).current_dir(dir.path());
        match run_other(&mut perf) {
            perf if perf.status == 127 => return print_note(format_args!("{test}: skipped: no perf")),
            perf => assert_eq!(perf.status, 0, "{}", perf.stderr),
        }
        let (by_perf, inside) = names(&injected, "jitted-").expect("perf should be installed");
        assert!(inside >= 20, "{name}: perf finds only {inside} frames");
        let object = name.replace(".dump", ".so");
        let converted = path(&dir, "converted.data");
        for args in [&[][..], &["--container", "pipe"], &["--compress"], &["--sort", "--container", "dir"]] {
            let _ = fs::remove_dir_all(&converted);
            let _ = fs::remove_file(&converted);
            rewrite(&relocated, &converted, args);
            let output = path(&dir, "ours.data");
            rewrite(&converted, &output, &["--jit", "--container", "file"]);
            let (names, inside_ours) = names(&output, &object).expect("perf should be installed");
            assert_eq!((names == by_perf, inside_ours), (true, inside), "{name} {args:?}");
        }
        let output = path(&dir, "alias.data");
        let run = run(perfconv().args(["inject", "-j", "-i"]).arg(&relocated).arg("-o").arg(&output));
        assert_eq!((run.status, names(&output, &object)), (0, Some((by_perf.clone(), inside))), "{}", run.stderr);
        print_note(format_args!("{test}: {name}: {} lines are equal, {inside} of them in JIT code", by_perf.len()));
    }
}

#[test]
fn map_file_names_match_perf() {
    let test = "map files";
    if !has_corpus(test) {
        return;
    }
    for (recording, file) in [("perfmap-node.data", "perf-9659.map"), ("perfmap-java.data", "perf-9854.map")] {
        let dir = tempfile::tempdir().unwrap();
        fs::write(path(&dir, file), in_archive("jit-p612b.tar.zst", file)).unwrap();
        let output = path(&dir, "ours.data");
        let map_dir = format!("--perf-map={}", dir.path().display());
        let recorded = corpus(&format!("p612b/{recording}"));
        rewrite(&recorded, &output, &[&map_dir, "--perf-version", "6.1"]);
        let object = file.replace(".map", ".so");
        let Some((ours, inside)) = names(&output, &object) else {
            return print_note(format_args!("{test}: skipped: no perf"));
        };
        let golden = fs::read(corpus(&format!("golden/p612b/{recording}.script.zst"))).unwrap();
        let golden = String::from_utf8(zstd::decode_all(&golden[..]).unwrap()).unwrap();
        let suffix = format!(" (/tmp/{file})");
        let of_map = |line: &str| Some(line.strip_suffix(&suffix)?.trim_start().split_once(' ')?.1.to_owned());
        let expected: Vec<_> = golden.lines().filter_map(of_map).collect();
        let mut remaining = ours.iter();
        let found = expected.iter().filter(|name| remaining.any(|ours| ours == *name)).count();
        assert_eq!((found, inside), (expected.len(), expected.len()), "{recording}");
        assert!(inside >= 50, "{recording}: only {inside} frames");
        assert!(fs::metadata(path(&dir, &object)).unwrap().len() < 64 << 10, "the image should have no code");
        print_note(format_args!("{test}: {recording}: {inside} frames have the names that perf prints"));
    }
}

/// Builder of jitdumps.
struct DumpBuilder {
    bytes: Vec<u8>,
    endian: Endian,
}

impl DumpBuilder {
    fn new(endian: Endian, change: impl FnOnce(&mut Header)) -> Self {
        let (magic, version, total_size) = (Header::MAGIC, Header::VERSION, Header::SIZE as u32);
        let mut header = Header { magic, version, total_size, elf_mach: 62, pad1: 0, pid: PID, timestamp: 0, flags: 0 };
        change(&mut header);
        Self { bytes: abi::to_bytes(&header, endian).unwrap(), endian }
    }

    fn record(mut self, kind: RecordKind, timestamp: u64, parts: &[&[u8]]) -> Self {
        let body = parts.concat();
        let total_size = (RecordHeader::SIZE + body.len()) as u32;
        self.bytes.extend(abi::to_bytes(&RecordHeader { kind, total_size, timestamp }, self.endian).unwrap());
        self.bytes.extend(body);
        self
    }

    /// Adds a function, whose size may be wrong.
    fn load(self, time: u64, index: u64, address: u64, size: u64, name: &str, code: &[u8]) -> Self {
        let (vma, code_addr, code_size, code_index) = (address, address, size, index);
        let name = Terminated::new(name.as_bytes());
        let load = CodeLoad { pid: PID, tid: PID, vma, code_addr, code_size, code_index, name };
        let load = abi::to_bytes(&load, self.endian).unwrap();
        self.record(RecordKind::CODE_LOAD, time, &[&load, code])
    }

    fn move_code(self, time: u64, code_index: u64, to: u64, code_size: u64) -> Self {
        let (vma, old_code_addr, new_code_addr) = (to, 0, to);
        let moved = CodeMove { pid: PID, tid: PID, vma, old_code_addr, new_code_addr, code_size, code_index };
        let moved = abi::to_bytes(&moved, self.endian).unwrap();
        self.record(RecordKind::CODE_MOVE, time, &[&moved])
    }

    fn lines(self, address: u64, lines: &[(u64, u32, &[u8])]) -> Self {
        let entry = |&(offset, line, name): &(u64, u32, &[u8])| {
            let (code_addr, discrim, name) = (address + offset, 0, Terminated::new(name));
            DebugEntry { code_addr, line, discrim, name }
        };
        let info = DebugInfo { code_addr: address, entries: lines.iter().map(entry).collect() };
        let info = abi::to_bytes(&info, self.endian).unwrap();
        self.record(RecordKind::CODE_DEBUG_INFO, 0, &[&info])
    }

    fn unwinding(self, eh_frame: &[u8], header: &[u8], unwinding_size: u64) -> Self {
        let eh_frame_hdr_size = header.len() as u64;
        let info = UnwindingInfo { unwinding_size, eh_frame_hdr_size, mapped_size: 0 };
        let info = abi::to_bytes(&info, self.endian).unwrap();
        self.record(RecordKind::CODE_UNWINDING_INFO, 0, &[&info, eh_frame, header])
    }
}

/// A mapping: time, first address, size and offset.
type Map = (u64, u64, u64, u64);

/// Mappings of images in a recording, and the frames of its samples by time.
#[derive(Default)]
struct Contents {
    maps: Vec<Map>,
    frames: BTreeMap<u64, Vec<u64>>,
    newest: u64,
}

impl Sink for Contents {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if let Some(time) = meta.events.time(raw) {
            assert!(time >= self.newest, "should be in time order");
            self.newest = time;
        }
        match raw.header().kind {
            RecordType::MMAP2 => {
                let (body, id) = meta.events.split(raw);
                let (map, _) = abi::parse::<Mmap2>(body, raw.endian(), (raw.header().misc,)).unwrap();
                if map.filename.text().ends_with(b"/jit-11901.so") {
                    assert!(map.file.build_id().is_some() && raw.header().misc.cpu_mode() == CpuMode::USER);
                    self.maps.push((id.unwrap().time.unwrap(), map.addr, map.len, map.pgoff));
                }
            }
            RecordType::SAMPLE => {
                let (_, event) = meta.events.of(raw).unwrap();
                let sample = SampleView::read(raw.body(), &event.layout, raw.endian()).unwrap();
                let frames = sample.callchain.unwrap().iter().filter(|&ip| ip < 1 << 63).collect();
                self.frames.insert(sample.time.unwrap(), frames);
            }
            _ => {}
        }
        Ok(())
    }
}

fn contents(path: &Path) -> Contents {
    let (mut contents, source) =
        (Contents::default(), Source::open(Input::Path(path.to_owned()), ReadOptions::default()));
    source.unwrap().run(&mut contents).unwrap();
    contents
}

/// Rewrites the recording of this repository with a jitdump.
fn with_dump(dump: &DumpBuilder) -> (TempDir, Run) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(path(&dir, "jit-11901.dump"), &dump.bytes).unwrap();
    let run = run(rewrite_with(&dir, &[]).arg("--jit-dump").arg(dir.path()));
    (dir, run)
}

fn rewrite_with(dir: &TempDir, args: &[&str]) -> std::process::Command {
    let mut command = perfconv();
    command.arg("rewrite").arg(ours("java.data")).args(["--perf-version", "6.1", "--jit", "-o"]);
    command.arg(path(dir, "out.data")).args(args);
    command
}

fn maps_and_warnings(dump: &DumpBuilder) -> (Vec<Map>, Vec<String>) {
    let (dir, run) = with_dump(dump);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let warnings = run.warnings().iter().map(|&warning| warning.to_owned()).collect();
    (contents(&path(&dir, "out.data")).maps, warnings)
}

#[test]
fn moved_and_replaced_functions_have_their_names_at_the_time() {
    let sorted = tempfile::tempdir().unwrap();
    rewrite(&ours("java.data"), &path(&sorted, "sorted.data"), &["--sort"]);
    let frames = contents(&path(&sorted, "sorted.data")).frames;
    // An address in the interpreter, which occurs in most call chains.
    let mut count = BTreeMap::<u64, usize>::new();
    frames.values().flatten().for_each(|&ip| *count.entry(ip).or_default() += 1);
    let in_code = |ip: &u64| function_at(*ip).is_some_and(|name| name == "Interpreter");
    let (&address, _) = count.iter().filter(|(ip, _)| in_code(ip)).max_by_key(|(_, count)| **count).unwrap();
    let times: Vec<u64> = frames.iter().filter(|(_, ips)| ips.contains(&address)).map(|(time, _)| *time).collect();
    assert!(times.len() >= 3, "{times:?}");
    let (second, third) = (times[1], times[2]);
    let code = [0x90; 64];
    let dump = DumpBuilder::new(Endian::Little, |_| {})
        .load(times[0] - 1, 1, address - 0x10, 64, "first", &code)
        // Overlaps the first one, and replaces it there.
        .load(second - 1, 2, address - 4, 8, "second", &code[..8])
        .move_code(third, 1, address - 0x20, 64)
        .record(RecordKind::CODE_CLOSE, third, &[]);
    let (dir, run) = with_dump(&dump);
    assert_eq!((run.status, run.warnings().len()), (0, 1), "{}", run.stderr);
    let output = path(&dir, "out.data");
    let maps = contents(&output).maps;
    let offsets: Vec<_> = maps.iter().map(|&(_, _, _, offset)| offset).collect();
    assert_eq!(offsets, [0x1000, 0x1040, 0x1000], "a moved function keeps its offset in the image");
    assert_eq!(maps[2], (third, address - 0x20, 64, 0x1000));
    let Some((names, inside)) = names(&output, "jit-11901.so") else { return };
    let expected = |time: u64| match time {
        time if time < second => "first+0x10",
        time if time < third => "second+0x4",
        _ => "first+0x20",
    };
    let found: Vec<_> = names.iter().filter(|name| name.starts_with("first+") || name.starts_with("second+")).collect();
    let of_sample = |time: &u64| {
        let count = frames[time].iter().filter(|&&ip| ip == address).count();
        std::iter::repeat_n(expected(*time), count)
    };
    let at_address: Vec<_> = times.iter().flat_map(of_sample).collect();
    let all: Vec<_> = found.iter().filter(|name| at_address.contains(&name.as_str())).collect();
    assert!(inside >= at_address.len() && all.len() == at_address.len(), "{found:?}");
    assert!(all.iter().zip(&at_address).all(|(name, expected)| **name == expected), "{all:?}");
}

/// The name of the function at an address in the jitdump of this repository.
fn function_at(ip: u64) -> Option<String> {
    static DUMP: OnceLock<Dump> = OnceLock::new();
    let dump = DUMP.get_or_init(|| Dump::read(&dump_of_ours().into(), "dump").expect("a jitdump"));
    dump.events.iter().find_map(|event| match &event.kind {
        EventKind::Load(function) if (event.address..event.address + function.size).contains(&ip) => {
            Some(String::from_utf8_lossy(&function.name).into_owned())
        }
        _ => None,
    })
}

const ADDRESS: u64 = 0x7000_0000_0000;
const CODE: [u8; 16] = [0x90; 16];

/// CPython 3.13 writes machine 0. perf does not read the field, and the recorded architecture is known.
#[test]
fn the_machine_of_a_dump_may_be_missing_or_wrong() {
    let dump = dump_of_ours();
    let names = [62_u32, 0, 183].map(|machine| {
        let dir = tempfile::tempdir().unwrap();
        let mut dump = dump.clone();
        dump[12..16].copy_from_slice(&machine.to_le_bytes());
        let recording = relocate(&dir, &ours("java.data"), "jit-11901.dump", &dump);
        let output = path(&dir, "out.data");
        rewrite(&recording, &output, &["--jit"]);
        let run = run(perfconv().arg(&output).args(["-t", "folded", "-q", "-o", "-"]));
        String::from_utf8(run.stdout).unwrap().replace(&dir.path().display().to_string(), "")
    });
    assert!(names[0].contains("Interpreter") && names[0] == names[1] && names[0] == names[2], "{names:?}");
}

#[test]
fn reports_unusable_records_of_a_dump_and_uses_the_rest() {
    let dump = || DumpBuilder::new(Endian::Little, |_| {}).load(1, 1, ADDRESS, 16, "before", &CODE);
    let complete = |dump: DumpBuilder| dump.load(9, 9, ADDRESS + 0x100, 16, "after", &CODE);
    let both = [(1, ADDRESS, 16, 0x1000), (9, ADDRESS + 0x100, 16, 0x1010)];
    assert_eq!(maps_and_warnings(&complete(dump())), (both.to_vec(), Vec::new()));
    let half = &bytes_of(|dump| dump.load(9, 9, ADDRESS, 16, "half", &CODE))[..40];
    let no_name = [&[0; 40][..], b"no end"].concat();
    for (dump_with_error, said) in [
        (dump().load(2, 2, ADDRESS, 17, "liar", &CODE), "liar has 17 bytes of code, but the record contains 16"),
        (
            dump().load(2, 2, ADDRESS, u64::MAX, "liar", &CODE),
            "18446744073709551615 bytes of code, but the record contains 16",
        ),
        (dump().load(2, 2, u64::MAX - 7, 16, "far", &CODE), "exceed the address space"),
        (dump().move_code(2, 77, ADDRESS, 16), "1 functions are too large, or moved without being loaded: number 77"),
        (dump().record(RecordKind(99), 2, &[b"new"]), "99 record skipped: unknown type"),
        (dump().record(RecordKind::CODE_LOAD, 2, &[b"short"]), "CODE_LOAD record skipped: too short for its fields"),
        (dump().record(RecordKind::CODE_LOAD, 2, &[&no_name]), "too short for its fields"),
        (dump().record(RecordKind::CODE_DEBUG_INFO, 2, &[&[0xff; 16]]), "CODE_DEBUG_INFO record skipped"),
        (
            dump().unwinding(&[0; 8], &[0; 4], u64::MAX),
            "18446744073709551615 bytes of unwinding data, but the record contains 12",
        ),
    ] {
        let (maps, warnings) = maps_and_warnings(&complete(dump_with_error));
        assert_eq!(maps, both, "{said}");
        assert!(warnings.len() == 1 && warnings[0].contains(said), "{said}: {warnings:?}");
    }
    // Empty functions, and meaningless unwinding and line records, cause no warning.
    let empty = complete(dump().load(2, 2, ADDRESS, 0, "empty", &[]).unwinding(&[7; 24], &[0; 20], 44));
    assert_eq!(maps_and_warnings(&empty), (both.to_vec(), Vec::new()));
    // A truncated dump is used up to the end of its last complete record.
    for cut in [&half[..7], half, &[0; 16]] {
        let mut dump_with_error = dump();
        dump_with_error.bytes.extend(cut);
        let (maps, warnings) = maps_and_warnings(&dump_with_error);
        assert_eq!(maps, both[..1], "{cut:?}");
        assert!(warnings.len() == 1 && warnings[0].contains("jit-11901.dump: offset 0x"), "{warnings:?}");
    }
    let twice = DumpBuilder::new(Endian::Little, |_| {}).load(1, 1, ADDRESS, 16, "one", &CODE).load(
        2,
        2,
        ADDRESS + 8,
        16,
        "other",
        &CODE,
    );
    let later = vec![(1, ADDRESS, 16, 0x1000), (2, ADDRESS + 8, 16, 0x1010)];
    let (maps, warnings) = maps_and_warnings(&twice);
    assert_eq!((maps, warnings.len()), (later, 1));
    assert!(warnings[0].contains("1 functions replace others at the same addresses"), "{warnings:?}");
}

fn bytes_of(make: impl FnOnce(DumpBuilder) -> DumpBuilder) -> Vec<u8> {
    make(DumpBuilder { bytes: Vec::new(), endian: Endian::Little }).bytes
}

#[test]
fn rejects_dumps_of_other_recordings() {
    for (change, said) in [
        ((|header| header.pid = 7) as fn(&mut Header), "jitdump of process 7, expected 11901"),
        (|header| header.version = 2, "unsupported jitdump version 2; expected 1"),
        (|header| header.flags = 4, "flags 0x4"),
        (|header| header.flags = 1, "record without -k"),
        (|header| header.magic = 1, "not a jitdump"),
    ] {
        let dump = DumpBuilder::new(Endian::Little, change).load(1, 1, ADDRESS, 16, "f", &CODE);
        assert_rejected(&dump, said);
    }
    let big = DumpBuilder::new(Endian::Big, |_| {}).load(1, 1, ADDRESS, 16, "f", &CODE);
    assert_rejected(&big, "another machine (big-endian); the recording has the other byte order");
    let bytes = DumpBuilder::new(Endian::Little, |_| {}).bytes;
    for len in [0, 3, 39] {
        assert_rejected(&DumpBuilder { bytes: bytes[..len].to_vec(), endian: Endian::Little }, "jit-11901.dump: ");
    }
}

/// Asserts that the error contains a text, and that no files are written.
fn assert_rejected(dump: &DumpBuilder, said: &str) {
    let (dir, run) = with_dump(dump);
    let failure = run.failure().expect("one line");
    assert!(failure.contains(said), "{said}: {failure}");
    assert_eq!(entries(dir.path()), ["jit-11901.dump"], "{said}");
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

#[test]
fn rejects_recordings_without_dumps_or_with_another_clock() {
    let dir = tempfile::tempdir().unwrap();
    let assert_error = |input: &Path, args: &[&str], said: &str| {
        let mut command = perfconv();
        let run = run(command.arg("rewrite").arg(input).args(args).arg("-o").arg(path(&dir, "out.data")));
        let failure = run.failure().expect("one line");
        assert!(failure.contains(said), "{said}: {failure}");
        assert!(!path(&dir, "out.data").exists());
    };
    let plain = crate::suite::files::fixture("plain.data");
    assert_error(&plain, &["--jit"], "maps no jit-PID.dump");
    assert_error(&plain, &["--perf-map"], "--perf-map: ");
    assert_error(&ours("java.data"), &["--jit"], "jit-11901.dump: jitdump not found; use --jit-dump DIR");
    let json = path(&dir, "clock.jsonl");
    assert_eq!(run(perfconv().arg(ours("java.data")).arg("-o").arg(&json)).status, 0);
    let text = fs::read_to_string(&json).unwrap();
    let others = text.replace("\"clockid\":1", "\"clockid\":7");
    assert_ne!(others, text);
    fs::write(&json, others).unwrap();
    fs::write(path(&dir, "jit-11901.dump"), dump_of_ours()).unwrap();
    let dir_name = dir.path().to_str().unwrap();
    assert_error(&json, &["--jit", "--jit-dump", dir_name], "record with -k 1 (perf record -k mono)");
    for (args, said) in
        [(&["--jit-dump", "/"][..], "--jit-dump requires --jit"), (&["--jit-dir", "/"], "--jit-dir requires")]
    {
        let run = run(perfconv().arg("rewrite").arg(&plain).args(args).arg("-o").arg(path(&dir, "out.data")));
        assert_eq!((run.status, run.stderr.contains(said)), (2, true), "{}", run.stderr);
    }
}

#[test]
fn images_are_written_with_the_output_and_overwrite_only_images() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(path(&dir, "jit-11901.dump"), dump_of_ours()).unwrap();
    let (image, images) = (path(&dir, "jit-11901.so"), path(&dir, "images"));
    fs::create_dir(&images).unwrap();
    let dir_name = dir.path().to_str().unwrap().to_owned();
    let rewrite = |args: &[&str]| run(rewrite_with(&dir, args).args(["--jit-dump", &dir_name]));

    fs::write(&image, "another's").unwrap();
    let rejected = rewrite(&[]);
    assert!(
        rejected.failure().unwrap().contains("jit-11901.so: already exists; use -f to overwrite it"),
        "{}",
        rejected.stderr
    );
    assert_eq!(entries(dir.path()), ["images", "jit-11901.dump", "jit-11901.so"]);
    assert_eq!(fs::read(&image).unwrap(), b"another's");
    assert_eq!(rewrite(&["--jit-dir", images.to_str().unwrap()]).status, 0);
    assert_eq!(entries(&images), ["jit-11901.so"]);
    let rejected = rewrite(&["-f"]);
    assert!(rejected.failure().unwrap().contains("exists and is not an image"), "{}", rejected.stderr);
    assert_eq!(fs::read(&image).unwrap(), b"another's", "other files should be kept");
    fs::write(&image, b"\x7fELF another's").unwrap();
    fs::remove_file(path(&dir, "out.data")).unwrap();
    assert_eq!(rewrite(&["-f"]).status, 0);
    let written = fs::read(&image).unwrap();
    assert_eq!(written, fs::read(images.join("jit-11901.so")).unwrap());
    // An identical image exists already.
    fs::remove_file(path(&dir, "out.data")).unwrap();
    assert_eq!(rewrite(&[]).status, 0);
    assert_eq!(fs::read(&image).unwrap(), written);
    fs::remove_file(&image).unwrap();

    let full = Path::new("/dev/full");
    if full.exists() {
        let mut command = perfconv();
        command.arg("rewrite").arg(ours("java.data")).args(["--jit", "--jit-dump", &dir_name, "-o"]).arg(full);
        let run = run(command.args(["--jit-dir", images.to_str().unwrap(), "--jit-dir", &dir_name]).env("LC_ALL", "C"));
        assert_eq!(run.status, 2, "--jit-dir given twice: {}", run.stderr);
        let mut command = perfconv();
        command.arg("rewrite").arg(ours("java.data")).args(["--jit", "--jit-dump", &dir_name, "--jit-dir", &dir_name]);
        let run = self::run(command.arg("-o").arg(full));
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert_eq!(entries(dir.path()), ["images", "jit-11901.dump", "out.data"]);
    }
}

#[test]
fn line_numbers_match_the_dump_also_from_v8() {
    // V8 counts offsets from after a header of 64 bytes.
    for shift in [0, 0x40] {
        let lines = [(shift, 7, &b"/src/a.js"[..]), (shift + 4, 9, b"\xff")];
        let dump = DumpBuilder::new(Endian::Little, |_| {}).lines(ADDRESS, &lines).load(1, 1, ADDRESS, 16, "f", &CODE);
        let (dir, run) = with_dump(&dump);
        assert_eq!((run.status, run.warnings().len()), (0, 0), "{}", run.stderr);
        let mut addr2line = with_time_limit("addr2line");
        addr2line.args(["-f", "-e"]).arg(path(&dir, "jit-11901.so"));
        let run = run_other(addr2line.args(["0x1000", "0x1003", "0x1004", "0x100f"]));
        if run.status != 0 {
            return print_note(format_args!("lines: skipped: no addr2line"));
        }
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let found: Vec<_> = text.lines().collect();
        let (seven, nine) = ("/src/a.js:7", "/src/a.js:9");
        assert_eq!(found, ["f", seven, "f", seven, "f", nine, "f", nine], "{shift}");
    }
}

/// Prints a line to standard error, not with the print macros, whose output the test harness captures.
fn print_note(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error should be writable");
}
