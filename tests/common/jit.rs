//! Jitdumps, built and recorded, and recordings with their functions.

use crate::common::program::{Run, perfconv, run, run_other, succeed, with_time_limit};
use perf_data::abi::jitdump::header::JitDumpHeader;
use perf_data::abi::jitdump::record::UnwindingInfo;
use perf_data::abi::jitdump::record::{
    CodeLoad, CodeMove, DebugEntry, DebugInfo, RecordHeader, RecordKind, Terminated,
};
use perf_data::abi::record::mmap2::Mmap2;
use perf_data::abi::record::{CpuMode, RecordType};
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::{self, Endian};
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The process of the recording in this repository.
pub(crate) const PID: u32 = 11901;

pub(crate) fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/jit").join(name)
}

pub(crate) fn path(dir: &TempDir, name: &str) -> PathBuf {
    dir.path().join(name)
}

/// Rewrites a recording with perfconv.
pub(crate) fn rewrite(input: &Path, output: &Path, args: &[&str]) -> Run {
    succeed(perfconv().arg("rewrite").arg(input).args(["-f", "-o"]).arg(output).args(args))
}

/// Puts a jitdump into a directory, and the recording with the dump's path changed to it, as perf inject requires.
pub(crate) fn relocate(dir: &TempDir, recording: &Path, name: &str, dump: &[u8]) -> PathBuf {
    fs::write(path(dir, name), dump).unwrap();
    rewrite(recording, &path(dir, "known.data"), &["--perf-version", "6.1"]);
    let json = path(dir, "known.jsonl");
    succeed(perfconv().arg(path(dir, "known.data")).args(["-f", "-o"]).arg(&json));
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

pub(crate) fn dump_of_ours() -> Vec<u8> {
    zstd::decode_all(&fs::read(ours("jit-11901.dump.zst")).unwrap()[..]).expect("zstd")
}

/// Builder of jitdumps.
pub(crate) struct DumpBuilder {
    pub(crate) bytes: Vec<u8>,
    pub(crate) endian: Endian,
}

impl DumpBuilder {
    pub(crate) fn new(endian: Endian, change: impl FnOnce(&mut JitDumpHeader)) -> Self {
        let (magic, version, total_size) = (JitDumpHeader::MAGIC, JitDumpHeader::VERSION, JitDumpHeader::SIZE as u32);
        let mut header =
            JitDumpHeader { magic, version, total_size, elf_mach: 62, pad1: 0, pid: PID, timestamp: 0, flags: 0 };
        change(&mut header);
        Self { bytes: abi::to_bytes(&header, endian).unwrap(), endian }
    }

    pub(crate) fn record(mut self, kind: RecordKind, timestamp: u64, parts: &[&[u8]]) -> Self {
        let body = parts.concat();
        let total_size = (RecordHeader::SIZE + body.len()) as u32;
        self.bytes.extend(abi::to_bytes(&RecordHeader { kind, total_size, timestamp }, self.endian).unwrap());
        self.bytes.extend(body);
        self
    }

    /// Adds a function, whose size may be wrong.
    pub(crate) fn load(self, time: u64, index: u64, address: u64, size: u64, name: &str, code: &[u8]) -> Self {
        let (vma, code_addr, code_size, code_index) = (address, address, size, index);
        let name = Terminated::new(name.as_bytes());
        let load = CodeLoad { pid: PID, tid: PID, vma, code_addr, code_size, code_index, name };
        let load = abi::to_bytes(&load, self.endian).unwrap();
        self.record(RecordKind::CODE_LOAD, time, &[&load, code])
    }

    pub(crate) fn move_code(self, time: u64, code_index: u64, to: u64, code_size: u64) -> Self {
        let (vma, old_code_addr, new_code_addr) = (to, 0, to);
        let moved = CodeMove { pid: PID, tid: PID, vma, old_code_addr, new_code_addr, code_size, code_index };
        let moved = abi::to_bytes(&moved, self.endian).unwrap();
        self.record(RecordKind::CODE_MOVE, time, &[&moved])
    }

    pub(crate) fn lines(self, address: u64, lines: &[(u64, u32, &[u8])]) -> Self {
        let entry = |&(offset, line, name): &(u64, u32, &[u8])| {
            let (code_addr, discrim, name) = (address + offset, 0, Terminated::new(name));
            DebugEntry { code_addr, line, discrim, name }
        };
        let info = DebugInfo { code_addr: address, entries: lines.iter().map(entry).collect() };
        let info = abi::to_bytes(&info, self.endian).unwrap();
        self.record(RecordKind::CODE_DEBUG_INFO, 0, &[&info])
    }

    pub(crate) fn unwinding(self, eh_frame: &[u8], header: &[u8], unwinding_size: u64) -> Self {
        let eh_frame_hdr_size = header.len() as u64;
        let info = UnwindingInfo { unwinding_size, eh_frame_hdr_size, mapped_size: 0 };
        let info = abi::to_bytes(&info, self.endian).unwrap();
        self.record(RecordKind::CODE_UNWINDING_INFO, 0, &[&info, eh_frame, header])
    }
}

/// A mapping: time, first address, size and offset.
pub(crate) type Map = (u64, u64, u64, u64);

/// Mappings of images in a recording, and the frames of its samples by time.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) maps: Vec<Map>,
    pub(crate) frames: BTreeMap<u64, Vec<u64>>,
    pub(crate) newest: u64,
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
                let (_, event) = meta.events.find(raw).unwrap();
                let sample = SampleView::read(raw.body(), &event.layout, raw.endian()).unwrap();
                let frames = sample.callchain.unwrap().iter().filter(|&ip| ip < 1 << 63).collect();
                self.frames.insert(sample.time.unwrap(), frames);
            }
            _ => {}
        }
        Ok(())
    }
}

pub(crate) fn contents(path: &Path) -> Contents {
    let (mut contents, source) =
        (Contents::default(), Source::open(Input::Path(path.to_owned()), ReadOptions::default()));
    source.unwrap().run(&mut contents).unwrap();
    contents
}

/// Rewrites the recording of this repository with a jitdump.
pub(crate) fn with_dump(dump: &DumpBuilder) -> (TempDir, Run) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(path(&dir, "jit-11901.dump"), &dump.bytes).unwrap();
    let run = run(rewrite_with(&dir, &[]).arg("--jit-dump").arg(dir.path()));
    (dir, run)
}

pub(crate) fn rewrite_with(dir: &TempDir, args: &[&str]) -> std::process::Command {
    let mut command = perfconv();
    command.arg("rewrite").arg(ours("java.data")).args(["--perf-version", "6.1", "--jit", "-o"]);
    command.arg(path(dir, "out.data")).args(args);
    command
}

pub(crate) const ADDRESS: u64 = 0x7000_0000_0000;

pub(crate) const CODE: [u8; 16] = [0x90; 16];
