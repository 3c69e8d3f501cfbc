//! Compressed frames whose 16-bit record size is wrong, as perf 6.16 to 7.1 writes frames of more than 65,512 bytes: all their
//! records are read, and the same bytes come back.

use crate::common::files::{files_in, fixture, uses_all};
use crate::common::program::{for_each, perfconv, run};
use perf_data::abi::record::RecordType;
use perf_data::container::block::Origin;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perfconv::inspect::check::{Rule, check};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Sizes of compressed data around those that are stored wrong: 65,513 to 65,519 in one record, more in several.
const SIZES: Range<usize> = 65_504..65_528;

/// Those whose recordings are converted, which starts the program.
const CONVERTED: [usize; 3] = [65_513, 65_519, 65_520];

/// Maximum of compressed bytes that perf puts into one record.
const CHUNK: usize = 65_519;

/// Which frame has the size.
#[derive(Clone, Copy, Debug)]
enum Position {
    First,
    Middle,
    Last,
}

/// The container with the frames, by the fixture that it is built from.
#[derive(Clone, Copy, Debug)]
enum Container {
    File,
    BigEndianFile,
    Pipe,
    Directory,
}

impl Container {
    const ALL: [Self; 4] = [Self::File, Self::BigEndianFile, Self::Pipe, Self::Directory];

    fn is_big_endian(self) -> bool {
        matches!(self, Self::BigEndianFile)
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    size: usize,
    position: Position,
    container: Container,
    /// Whether all frames are of one zstd stream.
    is_one_stream: bool,
}

/// Integers of a byte order.
struct Words(bool);

impl Words {
    fn u16(&self, value: u16) -> [u8; 2] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u64(&self, value: u64) -> [u8; 8] {
        if self.0 { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn word(&self, bytes: &[u8], at: usize) -> u64 {
        let bytes = bytes[at..at + 8].try_into().unwrap();
        if self.0 { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
    }

    fn header(&self, kind: u32, size: u16) -> Vec<u8> {
        [&self.u32(kind)[..], &self.u16(0), &self.u16(size)].concat()
    }

    /// Encodes the frames of one push as perf does.
    fn push(&self, compressed: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for chunk in compressed.chunks(CHUNK) {
            bytes.extend(self.header(83, (16 + chunk.len()) as u16));
            // perf does not set the size of data in the records after the first.
            bytes.extend([0; 8]);
            bytes.extend(chunk);
        }
        let size = bytes.len().next_multiple_of(8);
        bytes[6..8].copy_from_slice(&self.u16(size as u16));
        let data_size = self.u64(bytes.len() as u64 - 16);
        bytes[8..16].copy_from_slice(&data_size);
        if size <= usize::from(u16::MAX) {
            bytes.resize(size, 0);
        }
        bytes
    }
}

/// A zstd stream of uncompressed blocks: the begin of the stream, and a block for each piece.
fn blocks(pieces: &[&[u8]], is_one_stream: bool) -> Vec<Vec<u8>> {
    let last = pieces.len() - 1;
    let block = |(index, piece): (usize, &&[u8])| {
        let begin: &[u8] = if index == 0 || !is_one_stream { &BEGIN } else { &[] };
        let is_last = u32::from(index == last || !is_one_stream);
        let header = (piece.len() as u32) << 3 | is_last;
        [begin, &header.to_le_bytes()[..3], piece].concat()
    };
    pieces.iter().enumerate().map(block).collect()
}

/// Magic number, descriptor and a window of 256 KiB.
const BEGIN: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x40];

impl Case {
    /// The records in the frames: unknown ones to reach the size, and those of a fixture.
    fn records(self, recorded: &[u8]) -> Vec<u8> {
        let words = Words(self.container.is_big_endian());
        let filler = [&words.header(200, 40_000)[..], &[0x5a; 39_992]].concat();
        [&filler.repeat(5)[..], recorded].concat()
    }

    /// The frames with these records.
    fn frames(self, records: &[u8]) -> Vec<u8> {
        let overhead = |begins: bool| 3 + if begins || !self.is_one_stream { BEGIN.len() } else { 0 };
        let (first, rest) = match self.position {
            Position::First => (0, 60_000),
            Position::Middle => (1001, 60_000),
            Position::Last => (0, 0),
        };
        let size = self.size - overhead(first == 0 && !matches!(self.position, Position::Last));
        let mut sizes = Vec::new();
        match self.position {
            Position::Last => {
                let mut before = records.len() - size;
                while before > 0 {
                    sizes.push(before.min(50_003));
                    before -= before.min(50_003);
                }
                sizes.push(size);
            }
            _ => {
                sizes.extend([first, size].into_iter().filter(|&size| size > 0));
                let mut left = records.len() - first - size;
                while left > 0 {
                    sizes.push(left.min(rest));
                    left -= left.min(rest);
                }
            }
        }
        let (mut pieces, mut left) = (Vec::new(), records);
        for size in sizes {
            let (piece, behind) = left.split_at(size);
            pieces.push(piece);
            left = behind;
        }
        let blocks = blocks(&pieces, self.is_one_stream);
        assert!(blocks.iter().any(|block| block.len() == self.size), "{self:?}");
        blocks.iter().flat_map(|block| Words(self.container.is_big_endian()).push(block)).collect()
    }

    /// Writes the recording; returns its path and the records in its frames.
    fn write(self, dir: &Path) -> (PathBuf, Vec<u8>) {
        let path = dir.join("in.data");
        match self.container {
            Container::File | Container::BigEndianFile => {
                let name = if self.container.is_big_endian() { "big-endian.data" } else { "callgraph.data" };
                let (bytes, words) = (fs::read(fixture(name)).unwrap(), Words(self.container.is_big_endian()));
                let [at, size] = [40, 48].map(|field| words.word(&bytes, field) as usize);
                let records = self.records(&bytes[at..at + size]);
                // The features would have to move.
                let mut file = [&bytes[..at], &self.frames(&records)].concat();
                let data_size = words.u64((file.len() - at) as u64);
                file[48..56].copy_from_slice(&data_size);
                file[72..104].fill(0);
                fs::write(&path, file).unwrap();
                (path, records)
            }
            Container::Pipe => {
                let bytes = fs::read(fixture("pipe.data")).unwrap();
                let mut at = 16;
                // After the metadata, which is not compressed.
                while bytes[at] >= 64 || bytes[at] == 0 {
                    at += usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
                }
                let mut end = at;
                while end < bytes.len() && bytes[end] < 64 {
                    end += usize::from(u16::from_le_bytes([bytes[end + 6], bytes[end + 7]]));
                }
                let records = self.records(&bytes[at..end]);
                fs::write(&path, [&bytes[..at], &self.frames(&records), &bytes[end..]].concat()).unwrap();
                (path, records)
            }
            Container::Directory => {
                fs::create_dir(&path).unwrap();
                let mut files = files_in(&fixture("threads.dir"));
                let (_, bytes) = files.iter_mut().find(|(name, bytes)| *name != "data" && !bytes.is_empty()).unwrap();
                let records = self.records(bytes);
                *bytes = self.frames(&records);
                files.iter().for_each(|(name, bytes)| fs::write(path.join(name), bytes).unwrap());
                (path, records)
            }
        }
    }

    /// What goes wrong, if anything.
    fn problem(self, is_converted: bool) -> Option<String> {
        let dir = tempfile::tempdir().unwrap();
        let (path, records) = self.write(dir.path());
        let (contents, ledger) = read(&path);
        if let Some(damage) = ledger.messages().first() {
            return Some(damage.to_string());
        }
        if contents.records != records {
            return Some(format!("{} of {} bytes of records", contents.records.len(), records.len()));
        }
        let mut rules = Vec::new();
        check(Input::Path(path.clone()), ReadOptions::default(), &mut |finding| rules.push(finding.rule)).unwrap();
        if rules.contains(&Rule::Misframed) != (self.size > CHUNK / 8 * 8) {
            return Some(format!("check finds {rules:?}"));
        }
        if !is_converted {
            return None;
        }
        let [json, back, copy] = ["out.jsonl", "back.data", "copy.data"].map(|name| dir.path().join(name));
        for (input, output) in [(&path, &json), (&json, &back), (&path, &copy)] {
            let run = run(perfconv().arg(input).args(["--strict", "-q", "-o"]).arg(output));
            if run.status != 0 {
                return Some(format!("{}: {}", output.display(), run.stderr));
            }
        }
        let bytes = |path: &Path| {
            if path.is_dir() { files_in(path) } else { [(String::new(), fs::read(path).unwrap())].into() }
        };
        let compressed = dir.path().join("compressed.data");
        let run = run(perfconv().arg("rewrite").arg(&path).args(["--compress", "-q", "-o"]).arg(&compressed));
        let (rewritten, _) = read(&compressed);
        if run.status != 0 || rewritten.has_wrong_frames || rewritten.kernel_records != contents.kernel_records {
            return Some(format!("rewritten: {}", run.stderr));
        }
        let is_same = [&back, &copy].into_iter().all(|output| bytes(output) == bytes(&path));
        (!is_same).then(|| "other bytes come back".to_owned())
    }
}

/// The contents of a recording.
#[derive(Default)]
struct FrameRecords {
    records: Vec<u8>,
    /// Records of the kernel in and between frames.
    kernel_records: Vec<u8>,
    /// Whether there are frames whose size is stored wrong.
    has_wrong_frames: bool,
}

impl Sink for FrameRecords {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if raw.header().kind < RecordType::USER_START {
            self.kernel_records.extend_from_slice(raw.bytes());
        }
        match raw.block().origin {
            Origin::Frame => self.records.extend_from_slice(raw.bytes()),
            origin => self.has_wrong_frames |= origin == Origin::Reframed,
        }
        Ok(())
    }
}

fn read(path: &Path) -> (FrameRecords, Ledger) {
    let mut records = FrameRecords::default();
    let source = Source::open(Input::Path(path.to_owned()), ReadOptions::default()).unwrap();
    let (_, ledger) = source.run(&mut records).unwrap();
    (records, ledger)
}

#[test]
fn frames_of_any_size_are_read_at_any_position() {
    let mut cases = Vec::new();
    // By default a share of them.
    let is_used = |size: &usize| uses_all() || CONVERTED.contains(size) || size.is_multiple_of(4);
    for size in SIZES.filter(is_used) {
        for position in [Position::First, Position::Middle, Position::Last] {
            for container in Container::ALL {
                let streams = [false, true];
                cases.extend(streams.map(|is_one_stream| Case { size, position, container, is_one_stream }));
            }
        }
    }
    let is_converted = |case: &Case| CONVERTED.contains(&case.size);
    let results = for_each(&cases, |case| case.problem(is_converted(case)));
    let problems: Vec<_> = cases.iter().zip(results).filter_map(|(case, problem)| Some((case, problem?))).collect();
    let converted = cases.iter().filter(|case| is_converted(case)).count();
    note!("{} recordings, {converted} of them converted and back", cases.len());
    assert!(problems.is_empty(), "{} of {}: {:#?}", problems.len(), cases.len(), &problems[..problems.len().min(5)]);
}

#[test]
fn truncated_frames_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let case = Case { size: 2 * CHUNK, position: Position::Middle, container: Container::File, is_one_stream: true };
    let (path, records) = case.write(dir.path());
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    let (contents, ledger) = read(&path);
    assert!(!contents.records.is_empty() && contents.records.len() < records.len(), "{} bytes", contents.records.len());
    assert!(ledger.is_incomplete());
    assert!(ledger.messages()[0].problem.starts_with("record is truncated: needs"), "{:?}", ledger.messages());
}
