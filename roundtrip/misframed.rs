//! COMPRESSED2 frames that perf 6.16 to 7.1 wrote as one record: their contents are read, a copy is verbatim, and other outputs
//! have correct frames.

use perf_data::abi::Endian;
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::container::block::Origin;
use perf_data::container::read::{Container, ReadOptions, input::Input};
use perf_data::container::write::file::FileWriter;
use perf_data::container::write::pipe;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use perf_data::stream::write::verbatim::Verbatim;
use perfconv::inspect::check::{Rule, Severity, check};
use std::io::{Cursor, Write};
use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};

/// The number of compressed bytes that perf puts into a record.
const CHUNK: usize = 65519;

/// COMM records whose bytes do not compress.
fn records() -> Vec<u8> {
    let mut state = 1_u64;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..300)
        .flat_map(|_| [&[3, 0, 0, 0, 0, 0, 0, 4][..], &Vec::from_iter((0..1015).map(|_| noise() | 1)), &[0]].concat())
        .collect()
}

/// Compresses bytes to one zstd stream, flushed once.
fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 2 * plain.len()];
    let (mut input, mut output) = (InBuffer::around(plain), OutBuffer::around(&mut out));
    let mut encoder = Encoder::new(1).expect("zstd should work");
    encoder.run(&mut input, &mut output).expect("zstd should work");
    assert_eq!(encoder.flush(&mut output).expect("zstd should work"), 0);
    let len = output.pos();
    out.truncate(len);
    out
}

/// The records as perf meant to write them, with the first header overwritten as perf did.
fn misframed(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for chunk in data.chunks(CHUNK) {
        bytes.extend([83, 0, 0, 0, 0, 0]);
        bytes.extend(((16 + chunk.len()) as u16).to_le_bytes());
        bytes.extend([0xaa; 8]);
        bytes.extend(chunk);
    }
    let size = bytes.len().next_multiple_of(8) as u16;
    bytes[6..8].copy_from_slice(&size.to_le_bytes());
    let data_size = bytes.len() as u64 - 16;
    bytes[8..16].copy_from_slice(&data_size.to_le_bytes());
    bytes
}

/// The kernel's records, and the origin of each frame.
#[derive(Default)]
struct Collected {
    records: Vec<u8>,
    frames: Vec<(Origin, RecordHeader)>,
}

impl Sink for Collected {
    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        match raw.header().kind {
            RecordType::COMPRESSED2 => self.frames.push((raw.block().origin, raw.header())),
            _ if raw.header().kind < RecordType::USER_START => self.records.extend_from_slice(raw.bytes()),
            _ => {}
        }
        Ok(())
    }
}

fn open(bytes: &[u8]) -> Source {
    let input = Input::Bytes { name: "misframed".into(), bytes: bytes.to_vec().into() };
    Source::open(input, ReadOptions::default()).expect("a recording")
}

fn as_file(frames: &[u8]) -> Vec<u8> {
    let mut file =
        FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &[], &[]).expect("writing to memory should succeed");
    file.write_all(frames).expect("writing to memory should succeed");
    file.finish(&[], &[], &Default::default()).expect("writing to memory should succeed").into_inner()
}

#[test]
fn reads_frames_that_perf_wrote_as_one_record() {
    let records = records();
    let data = compressed(&records);
    let count = data.len().div_ceil(CHUNK);
    assert!(count > 3, "{count} frames");
    let frames = misframed(&data);
    let as_pipe = [pipe::header(Endian::Little).expect("writing to memory should succeed"), frames.clone()].concat();
    for (container, bytes) in [(Container::File, as_file(&frames)), (Container::Pipe, as_pipe)] {
        let source = open(&bytes);
        assert_eq!(source.meta().container, container);
        let mut collected = Collected::default();
        let (_, ledger) = source.run(&mut collected).expect("a recording");
        assert!(collected.records == records, "{container:?}");
        assert!(collected.frames.iter().all(|(origin, _)| *origin == Origin::Reframed));
        assert!(!ledger.is_incomplete() && ledger.notes().len() == 1, "{:?}", ledger.notes());

        let mut copy = Verbatim::new(vec![Vec::new()]);
        open(&bytes).run(&mut copy).expect("a recording");
        assert!(copy.into_inner() == [bytes.clone()], "the copy of a {container:?} differs");

        let mut file = ToFile::new(Cursor::new(Vec::new()), Form::default());
        open(&bytes).run(&mut file).expect("a recording");
        let mut corrected = Collected::default();
        let file = file.into_inner().expect("the file should have been written").into_inner();
        open(&file).run(&mut corrected).expect("a recording");
        assert!(corrected.records == records);
        assert!(corrected.frames.len() >= count);
        assert!(corrected.frames.iter().all(|(origin, h)| *origin == Origin::File && h.size.is_multiple_of(8)));

        let mut rules = Vec::new();
        let input = Input::Bytes { name: "misframed".into(), bytes: bytes.into() };
        check(input, ReadOptions::default(), &mut |finding| rules.push(finding.rule)).expect("a recording");
        rules.retain(|rule| rule.severity() != Severity::Note && *rule != Rule::CompressionUnannounced);
        rules.dedup();
        assert_eq!(rules, [Rule::Misframed]);
    }
}

#[test]
fn truncated_frames_are_reported() {
    let mut frames = misframed(&compressed(&records()));
    frames.truncate(frames.len() - 100);
    let end_of_round = [68, 0, 0, 0, 0, 0, 8, 0];
    let (_, ledger) = open(&as_file(&[&end_of_round[..], &frames].concat())).run(&mut Collected::default()).unwrap();
    assert!(ledger.is_incomplete());
    assert!(ledger.messages()[0].problem.starts_with("record is truncated: needs"), "{:?}", ledger.messages());
}
