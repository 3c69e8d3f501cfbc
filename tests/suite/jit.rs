//! Names of code that was compiled at run time, beside those that `perf inject --jit` and perf's own reading of map files give.

use crate::suite::files::has_corpus;
use crate::suite::program::{Run, perfconv, run, run_other, with_time_limit};
use perfconv::abi::jitdump::header::Header;
use perfconv::abi::jitdump::record::UnwindingInfo;
use perfconv::abi::jitdump::record::{CodeLoad, CodeMove, DebugEntry, DebugInfo, RecordHeader, RecordKind, Terminated};
use perfconv::abi::record::mmap2::Mmap2;
use perfconv::abi::record::{CpuMode, RecordType};
use perfconv::abi::sample_view::SampleView;
use perfconv::abi::{self, Endian};
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::rewrite::jit::dump::{Dump, What};
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
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

fn path(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

/// Has perfconv rewrite a recording, and asserts that it can.
fn rewrite(input: &Path, output: &Path, args: &[&str]) -> Run {
    let run = run(perfconv().arg("rewrite").arg(input).args(["-f", "-o"]).arg(output).args(args));
    assert_eq!(run.status, 0, "{} {args:?}: {}", input.display(), run.stderr);
    run
}

/// What perf calls each frame, line by line, and how many are in a file whose name begins so; `None` where there is no perf.
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
    // The address is one within the object, and the object another one.
    let name = |line: &str| match line.strip_prefix('\t') {
        None => line.to_owned(),
        Some(frame) => {
            let (frame, _) = frame.rsplit_once(" (").expect("an object");
            frame.trim_start().split_once(' ').expect("an address and a name").1.to_owned()
        }
    };
    Some((text.lines().map(name).collect(), inside))
}

/// A recording and its jitdump in a folder, of which the recording says that it is there, as perf inject has to find it.
fn placed(folder: &TempDir, recording: &Path, name: &str, dump: &[u8]) -> PathBuf {
    fs::write(path(folder, name), dump).unwrap();
    rewrite(recording, &path(folder, "known.data"), &["--perf-version", "6.1"]);
    let json = path(folder, "known.jsonl");
    let run = run(perfconv().arg(path(folder, "known.data")).args(["-f", "-o"]).arg(&json));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = fs::read_to_string(&json).unwrap();
    let at = text.find(&format!("/{name}\"")).expect("the recording maps the dump");
    let start = text[..at].rfind('"').expect("a string") + 1;
    let text = text.replace(&text[start..at], folder.path().to_str().expect("a path of text"));
    fs::write(&json, text).unwrap();
    let placed = path(folder, "placed.data");
    let run = run_other(with_time_limit(env!("CARGO_BIN_EXE_perfconv")).arg(&json).args(["-f", "-o"]).arg(&placed));
    assert_eq!(run.status, 0, "{}", run.stderr);
    placed
}

fn dump_of_ours() -> Vec<u8> {
    zstd::decode_all(&fs::read(ours("jit-11901.dump.zst")).unwrap()[..]).expect("zstd")
}

/// A file in an archive of the corpus.
fn in_archive(archive: &str, name: &str) -> Vec<u8> {
    let archive = corpus(archive);
    let list = run_other(with_time_limit("tar").args(["--zstd", "-tf"]).arg(&archive));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let entry = list.lines().find(|line| line.ends_with(name)).expect("the corpus has the file");
    run_other(with_time_limit("tar").args(["--zstd", "-xOf"]).arg(&archive).arg(entry)).stdout
}

#[test]
fn functions_have_the_names_that_perf_inject_gives_them() {
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
        let folder = tempfile::tempdir().unwrap();
        let placed = placed(&folder, &recording, name, &dump);
        let injected = path(&folder, "perf.data");
        let mut perf = with_time_limit("perf");
        perf.args(["inject", "-f", "--jit", "-i"]).arg(&placed).arg("-o").arg(&injected).current_dir(folder.path());
        match run_other(&mut perf) {
            perf if perf.status == 127 => return say(format_args!("{test}: there is no perf, nothing is compared")),
            perf => assert_eq!(perf.status, 0, "{}", perf.stderr),
        }
        let (by_perf, inside) = names(&injected, "jitted-").expect("perf is there");
        assert!(inside >= 20, "{name}: perf finds {inside} frames alone");
        let object = name.replace(".dump", ".so");
        let form = path(&folder, "form.data");
        for args in [&[][..], &["--container", "pipe"], &["--compress"], &["--sort", "--container", "dir"]] {
            let _ = fs::remove_dir_all(&form);
            let _ = fs::remove_file(&form);
            rewrite(&placed, &form, args);
            let output = path(&folder, "ours.data");
            rewrite(&form, &output, &["--jit", "--container", "file"]);
            let (names, here) = names(&output, &object).expect("perf is there");
            assert_eq!((names == by_perf, here), (true, inside), "{name} {args:?}");
        }
        let output = path(&folder, "alias.data");
        let run = run(perfconv().args(["inject", "-j", "-i"]).arg(&placed).arg("-o").arg(&output));
        assert_eq!((run.status, names(&output, &object)), (0, Some((by_perf.clone(), inside))), "{}", run.stderr);
        say(format_args!("{test}: {name}: {} lines are the same, {inside} of them in compiled code", by_perf.len()));
    }
}

#[test]
fn functions_of_map_files_have_the_names_that_perf_gives_them() {
    let test = "map files";
    if !has_corpus(test) {
        return;
    }
    for (recording, file) in [("perfmap-node.data", "perf-9659.map"), ("perfmap-java.data", "perf-9854.map")] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(path(&folder, file), in_archive("jit-p612b.tar.zst", file)).unwrap();
        let output = path(&folder, "ours.data");
        let places = format!("--perf-map={}", folder.path().display());
        let recorded = corpus(&format!("p612b/{recording}"));
        rewrite(&recorded, &output, &[&places, "--perf-version", "6.1"]);
        let object = file.replace(".map", ".so");
        let Some((ours, inside)) = names(&output, &object) else {
            return say(format_args!("{test}: there is no perf, nothing is compared"));
        };
        let golden = fs::read(corpus(&format!("golden/p612b/{recording}.script.zst"))).unwrap();
        let golden = String::from_utf8(zstd::decode_all(&golden[..]).unwrap()).unwrap();
        let suffix = format!(" (/tmp/{file})");
        let of_map = |line: &str| Some(line.strip_suffix(&suffix)?.trim_start().split_once(' ')?.1.to_owned());
        let expected: Vec<_> = golden.lines().filter_map(of_map).collect();
        let mut left = ours.iter();
        let found = expected.iter().filter(|name| left.any(|ours| ours == *name)).count();
        assert_eq!((found, inside), (expected.len(), expected.len()), "{recording}");
        assert!(inside >= 50, "{recording}: {inside} alone");
        assert!(fs::metadata(path(&folder, &object)).unwrap().len() < 64 << 10, "no code is known");
        say(format_args!("{test}: {recording}: {inside} frames are as perf names them"));
    }
}

/// A jitdump that is made here.
struct MadeDump {
    bytes: Vec<u8>,
    endian: Endian,
}

impl MadeDump {
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

    /// A function; its size may lie.
    fn load(self, time: u64, index: u64, address: u64, size: u64, name: &str, code: &[u8]) -> Self {
        let (vma, code_addr, code_size, code_index) = (address, address, size, index);
        let name = Terminated::new(name.as_bytes());
        let load = CodeLoad { pid: PID, tid: PID, vma, code_addr, code_size, code_index, name };
        let load = abi::to_bytes(&load, self.endian).unwrap();
        self.record(RecordKind::CODE_LOAD, time, &[&load, code])
    }

    fn moved(self, time: u64, code_index: u64, to: u64, code_size: u64) -> Self {
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

/// Time, first address, bytes and offset of a map.
type Map = (u64, u64, u64, u64);

/// Maps of images in a recording, and the frames of its samples, by time.
#[derive(Default)]
struct Told {
    maps: Vec<Map>,
    frames: BTreeMap<u64, Vec<u64>>,
    newest: u64,
}

impl Sink for Told {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if let Some(time) = meta.events.time(raw) {
            assert!(time >= self.newest, "in the order of time");
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

fn told(path: &Path) -> Told {
    let (mut told, source) = (Told::default(), Source::open(Input::Path(path.to_owned()), ReadOptions::default()));
    source.unwrap().run(&mut told).unwrap();
    told
}

/// What perfconv makes of the recording here with such a jitdump.
fn with_dump(dump: &MadeDump) -> (TempDir, Run) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(path(&folder, "jit-11901.dump"), &dump.bytes).unwrap();
    let run = run(rewrite_with(&folder, &[]).arg("--jit-dump").arg(folder.path()));
    (folder, run)
}

fn rewrite_with(folder: &TempDir, args: &[&str]) -> std::process::Command {
    let mut command = perfconv();
    command.arg("rewrite").arg(ours("java.data")).args(["--perf-version", "6.1", "--jit", "-o"]);
    command.arg(path(folder, "out.data")).args(args);
    command
}

fn maps_and_warnings(dump: &MadeDump) -> (Vec<Map>, Vec<String>) {
    let (folder, run) = with_dump(dump);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let warnings = run.warnings().iter().map(|&warning| warning.to_owned()).collect();
    (told(&path(&folder, "out.data")).maps, warnings)
}

#[test]
fn what_is_moved_or_replaced_is_named_as_it_was_then() {
    let sorted = tempfile::tempdir().unwrap();
    rewrite(&ours("java.data"), &path(&sorted, "sorted.data"), &["--sort"]);
    let frames = told(&path(&sorted, "sorted.data")).frames;
    // Within the interpreter, which is all over the call chains.
    let mut count = BTreeMap::<u64, usize>::new();
    frames.values().flatten().for_each(|&ip| *count.entry(ip).or_default() += 1);
    let in_code = |ip: &u64| told_function(*ip).is_some_and(|name| name == "Interpreter");
    let (&address, _) = count.iter().filter(|(ip, _)| in_code(ip)).max_by_key(|(_, count)| **count).unwrap();
    let with_it: Vec<u64> = frames.iter().filter(|(_, ips)| ips.contains(&address)).map(|(time, _)| *time).collect();
    assert!(with_it.len() >= 3, "{with_it:?}");
    let (second, third) = (with_it[1], with_it[2]);
    let code = [0x90; 64];
    let dump = MadeDump::new(Endian::Little, |_| {})
        .load(with_it[0] - 1, 1, address - 0x10, 64, "first", &code)
        // It reaches into the other, and takes its place where it does.
        .load(second - 1, 2, address - 4, 8, "second", &code[..8])
        .moved(third, 1, address - 0x20, 64)
        .record(RecordKind::CODE_CLOSE, third, &[]);
    let (folder, run) = with_dump(&dump);
    assert_eq!((run.status, run.warnings().len()), (0, 1), "{}", run.stderr);
    let output = path(&folder, "out.data");
    let maps = told(&output).maps;
    let places: Vec<_> = maps.iter().map(|&(_, _, _, place)| place).collect();
    assert_eq!(places, [0x1000, 0x1040, 0x1000], "a function that is moved is where it was in the image");
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
    let at_address: Vec<_> = with_it.iter().flat_map(of_sample).collect();
    let all: Vec<_> = found.iter().filter(|name| at_address.contains(&name.as_str())).collect();
    assert!(inside >= at_address.len() && all.len() == at_address.len(), "{found:?}");
    assert!(all.iter().zip(&at_address).all(|(name, expected)| **name == expected), "{all:?}");
}

/// The name of the function of our jitdump that is at an address.
fn told_function(ip: u64) -> Option<String> {
    static DUMP: OnceLock<Dump> = OnceLock::new();
    let dump = DUMP.get_or_init(|| Dump::read(&dump_of_ours().into(), "dump").expect("a jitdump"));
    dump.events.iter().find_map(|event| match &event.what {
        What::Load(function) if (event.address..event.address + function.size).contains(&ip) => {
            Some(String::from_utf8_lossy(&function.name).into_owned())
        }
        _ => None,
    })
}

const ADDRESS: u64 = 0x7000_0000_0000;
const CODE: [u8; 16] = [0x90; 16];

#[test]
fn what_of_a_dump_cannot_be_used_is_told_and_the_rest_is_there() {
    let dump = || MadeDump::new(Endian::Little, |_| {}).load(1, 1, ADDRESS, 16, "before", &CODE);
    let whole = |dump: MadeDump| dump.load(9, 9, ADDRESS + 0x100, 16, "after", &CODE);
    let both = [(1, ADDRESS, 16, 0x1000), (9, ADDRESS + 0x100, 16, 0x1010)];
    assert_eq!(maps_and_warnings(&whole(dump())), (both.to_vec(), Vec::new()));
    let half = &bytes_of(|dump| dump.load(9, 9, ADDRESS, 16, "half", &CODE))[..40];
    let no_name = [&[0; 40][..], b"no end"].concat();
    for (odd, said) in [
        (dump().load(2, 2, ADDRESS, 17, "liar", &CODE), "liar says that it has 17 bytes of code, of 16"),
        (dump().load(2, 2, ADDRESS, u64::MAX, "liar", &CODE), "18446744073709551615 bytes of code, of 16"),
        (dump().load(2, 2, u64::MAX - 7, 16, "far", &CODE), "are beyond the last address"),
        (dump().moved(2, 77, ADDRESS, 16), "1 functions are too large, or moved without being there: number 77"),
        (dump().record(RecordKind(99), 2, &[b"new"]), "99 is left out: its type is not known"),
        (dump().record(RecordKind::CODE_LOAD, 2, &[b"short"]), "CODE_LOAD is left out: its fields do not fit its size"),
        (dump().record(RecordKind::CODE_LOAD, 2, &[&no_name]), "its fields do not fit its size"),
        (dump().record(RecordKind::CODE_DEBUG_INFO, 2, &[&[0xff; 16]]), "CODE_DEBUG_INFO is left out"),
        (dump().unwinding(&[0; 8], &[0; 4], u64::MAX), "it says that it has 18446744073709551615 bytes, of 12"),
    ] {
        let (maps, warnings) = maps_and_warnings(&whole(odd));
        assert_eq!(maps, both, "{said}");
        assert!(warnings.len() == 1 && warnings[0].contains(said), "{said}: {warnings:?}");
    }
    // Empty functions, and unwinding and lines that mean nothing, are no reason for words.
    let empty = whole(dump().load(2, 2, ADDRESS, 0, "empty", &[]).unwinding(&[7; 24], &[0; 20], 44));
    assert_eq!(maps_and_warnings(&empty), (both.to_vec(), Vec::new()));
    // What is cut is there up to the cut.
    for cut in [&half[..7], half, &[0; 16]] {
        let mut odd = dump();
        odd.bytes.extend(cut);
        let (maps, warnings) = maps_and_warnings(&odd);
        assert_eq!(maps, both[..1], "{cut:?}");
        assert!(warnings.len() == 1 && warnings[0].contains("jit-11901.dump: at offset 119"), "{warnings:?}");
    }
    let twice = MadeDump::new(Endian::Little, |_| {}).load(1, 1, ADDRESS, 16, "one", &CODE).load(
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
    assert!(warnings[0].contains("1 functions are where others were, and take their place"), "{warnings:?}");
}

fn bytes_of(make: impl FnOnce(MadeDump) -> MadeDump) -> Vec<u8> {
    make(MadeDump { bytes: Vec::new(), endian: Endian::Little }).bytes
}

#[test]
fn a_dump_that_is_not_of_the_recording_is_refused() {
    for (change, said) in [
        ((|header| header.elf_mach = 183) as fn(&mut Header), "another machine (little-endian, e_machine 183)"),
        (|header| header.elf_mach = 62 + (1 << 16), "another machine"),
        (|header| header.pid = 7, "is the jitdump of process 7, and not of 11901"),
        (|header| header.version = 2, "is a jitdump of version 2, and 1 is known"),
        (|header| header.flags = 4, "flags 0x4"),
        (|header| header.flags = 1, "record without -k"),
        (|header| header.magic = 1, "is no jitdump"),
    ] {
        let dump = MadeDump::new(Endian::Little, change).load(1, 1, ADDRESS, 16, "f", &CODE);
        assert_refused(&dump, said);
    }
    let big = MadeDump::new(Endian::Big, |_| {}).load(1, 1, ADDRESS, 16, "f", &CODE);
    assert_refused(&big, "another machine (big-endian, e_machine 62): the recording is of x86_64");
    let bytes = MadeDump::new(Endian::Little, |_| {}).bytes;
    for len in [0, 3, 39] {
        assert_refused(&MadeDump { bytes: bytes[..len].to_vec(), endian: Endian::Little }, "jit-11901.dump: ");
    }
}

/// Asserts that nothing is written, and that it is said why.
fn assert_refused(dump: &MadeDump, said: &str) {
    let (folder, run) = with_dump(dump);
    let failure = run.failure().expect("one line");
    assert!(failure.contains(said), "{said}: {failure}");
    assert_eq!(entries(folder.path()), ["jit-11901.dump"], "{said}");
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

#[test]
fn a_recording_without_dumps_or_by_another_clock_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |input: &Path, args: &[&str], said: &str| {
        let mut command = perfconv();
        let run = run(command.arg("rewrite").arg(input).args(args).arg("-o").arg(path(&folder, "out.data")));
        let failure = run.failure().expect("one line");
        assert!(failure.contains(said), "{said}: {failure}");
        assert!(!path(&folder, "out.data").exists());
    };
    let plain = crate::suite::files::fixture("plain.data");
    refused(&plain, &["--jit"], "maps no jit-PID.dump");
    refused(&plain, &["--perf-map"], "--perf-map: ");
    refused(&ours("java.data"), &["--jit"], "jit-11901.dump: there is no such jitdump; --jit-dump DIR tells");
    let json = path(&folder, "clock.jsonl");
    assert_eq!(run(perfconv().arg(ours("java.data")).arg("-o").arg(&json)).status, 0);
    let text = fs::read_to_string(&json).unwrap();
    let others = text.replace("\"clockid\":1", "\"clockid\":7");
    assert_ne!(others, text);
    fs::write(&json, others).unwrap();
    fs::write(path(&folder, "jit-11901.dump"), dump_of_ours()).unwrap();
    let place = folder.path().to_str().unwrap();
    refused(&json, &["--jit", "--jit-dump", place], "record with -k 1 (perf record -k mono)");
    for (args, said) in
        [(&["--jit-dump", "/"][..], "--jit-dump is for --jit"), (&["--jit-dir", "/"], "--jit-dir is for")]
    {
        let run = run(perfconv().arg("rewrite").arg(&plain).args(args).arg("-o").arg(path(&folder, "out.data")));
        assert_eq!((run.status, run.stderr.contains(said)), (2, true), "{}", run.stderr);
    }
}

#[test]
fn images_appear_with_the_output_and_take_no_others_place() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(path(&folder, "jit-11901.dump"), dump_of_ours()).unwrap();
    let (image, images) = (path(&folder, "jit-11901.so"), path(&folder, "images"));
    fs::create_dir(&images).unwrap();
    let place = folder.path().to_str().unwrap().to_owned();
    let go = |args: &[&str]| run(rewrite_with(&folder, args).args(["--jit-dump", &place]));

    fs::write(&image, "another's").unwrap();
    let refused = go(&[]);
    assert!(
        refused.failure().unwrap().contains("jit-11901.so: exists already; -f overwrites it"),
        "{}",
        refused.stderr
    );
    assert_eq!(entries(folder.path()), ["images", "jit-11901.dump", "jit-11901.so"]);
    assert_eq!(fs::read(&image).unwrap(), b"another's");
    assert_eq!(go(&["--jit-dir", images.to_str().unwrap()]).status, 0);
    assert_eq!(entries(&images), ["jit-11901.so"]);
    let refused = go(&["-f"]);
    assert!(refused.failure().unwrap().contains("is no image, and is not overwritten by one"), "{}", refused.stderr);
    assert_eq!(fs::read(&image).unwrap(), b"another's", "it may be the recording");
    fs::write(&image, b"\x7fELF another's").unwrap();
    fs::remove_file(path(&folder, "out.data")).unwrap();
    assert_eq!(go(&["-f"]).status, 0);
    let made = fs::read(&image).unwrap();
    assert_eq!(made, fs::read(images.join("jit-11901.so")).unwrap());
    // The same image is there already.
    fs::remove_file(path(&folder, "out.data")).unwrap();
    assert_eq!(go(&[]).status, 0);
    assert_eq!(fs::read(&image).unwrap(), made);
    fs::remove_file(&image).unwrap();

    let full = Path::new("/dev/full");
    if full.exists() {
        let mut command = perfconv();
        command.arg("rewrite").arg(ours("java.data")).args(["--jit", "--jit-dump", &place, "-o"]).arg(full);
        let run = run(command.args(["--jit-dir", images.to_str().unwrap(), "--jit-dir", &place]).env("LC_ALL", "C"));
        assert_eq!(run.status, 2, "one folder: {}", run.stderr);
        let mut command = perfconv();
        command.arg("rewrite").arg(ours("java.data")).args(["--jit", "--jit-dump", &place, "--jit-dir", &place]);
        let run = self::run(command.arg("-o").arg(full));
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert_eq!(entries(folder.path()), ["images", "jit-11901.dump", "out.data"]);
    }
}

#[test]
fn lines_are_those_of_the_dump_and_those_of_v8_too() {
    // V8 counts from behind a header of 64 bytes.
    for shift in [0, 0x40] {
        let lines = [(shift, 7, &b"/src/a.js"[..]), (shift + 4, 9, b"\xff")];
        let dump = MadeDump::new(Endian::Little, |_| {}).lines(ADDRESS, &lines).load(1, 1, ADDRESS, 16, "f", &CODE);
        let (folder, run) = with_dump(&dump);
        assert_eq!((run.status, run.warnings().len()), (0, 0), "{}", run.stderr);
        let mut addr2line = with_time_limit("addr2line");
        addr2line.args(["-f", "-e"]).arg(path(&folder, "jit-11901.so"));
        let run = run_other(addr2line.args(["0x1000", "0x1003", "0x1004", "0x100f"]));
        if run.status != 0 {
            return say(format_args!("lines: there is no addr2line, nothing is compared"));
        }
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let found: Vec<_> = text.lines().collect();
        let (seven, nine) = ("/src/a.js:7", "/src/a.js:9");
        assert_eq!(found, ["f", seven, "f", seven, "f", nine, "f", nine], "{shift}");
    }
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}
