//! Frames that perf 6.16 to 7.1 wrote as one: what is in them is read, the copy is verbatim, other forms are put right.

use perfconv::abi::Endian;
use perfconv::abi::record::{RecordHeader, RecordType};
use perfconv::container::block::Origin;
use perfconv::container::read::{Container, ReadOptions, input::Input};
use perfconv::container::write::file::FileWriter;
use perfconv::container::write::pipe;
use perfconv::inspect::check::{Rule, Severity, check};
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use perfconv::stream::write::file::ToFile;
use perfconv::stream::write::form::Form;
use perfconv::stream::write::verbatim::Verbatim;
use std::io::{Cursor, Write};
use zstd::stream::raw::{Encoder, InBuffer, Operation, OutBuffer};

/// As many compressed bytes as perf puts into a record.
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

/// One stream of zstd, flushed once.
fn compressed(plain: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 2 * plain.len()];
    let (mut input, mut output) = (InBuffer::around(plain), OutBuffer::around(&mut out));
    let mut encoder = Encoder::new(1).expect("zstd works");
    encoder.run(&mut input, &mut output).expect("zstd works");
    assert_eq!(encoder.flush(&mut output).expect("zstd works"), 0);
    let len = output.pos();
    out.truncate(len);
    out
}

/// The records that perf meant to write, the first with the header that it wrote over its own.
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

/// The kernel's records, and how the frames are.
#[derive(Default)]
struct Gathered {
    records: Vec<u8>,
    frames: Vec<(Origin, RecordHeader)>,
}

impl Sink for Gathered {
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
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &[], &[]).expect("it goes to memory");
    file.write_all(frames).expect("it goes to memory");
    file.finish(&[], &[], &Default::default()).expect("it goes to memory").into_inner()
}

#[test]
fn frames_that_perf_wrote_as_one_are_read() {
    let records = records();
    let data = compressed(&records);
    let count = data.len().div_ceil(CHUNK);
    assert!(count > 3, "{count} frames");
    let frames = misframed(&data);
    let as_pipe = [pipe::header(Endian::Little).expect("it goes to memory"), frames.clone()].concat();
    for (container, bytes) in [(Container::File, as_file(&frames)), (Container::Pipe, as_pipe)] {
        let source = open(&bytes);
        assert_eq!(source.meta().container, container);
        let mut found = Gathered::default();
        let (_, ledger) = source.run(&mut found).expect("a recording");
        assert!(found.records == records, "{container:?}");
        assert!(found.frames.iter().all(|(origin, _)| *origin == Origin::Reframed));
        assert!(!ledger.is_incomplete() && ledger.notes().len() == 1, "{:?}", ledger.notes());

        let mut copy = Verbatim::new(vec![Vec::new()]);
        open(&bytes).run(&mut copy).expect("a recording");
        assert!(copy.into_inner() == [bytes.clone()], "the copy of a {container:?} is another");

        let mut file = ToFile::new(Cursor::new(Vec::new()), Form::default());
        open(&bytes).run(&mut file).expect("a recording");
        let mut right = Gathered::default();
        let file = file.into_inner().expect("it was written").into_inner();
        open(&file).run(&mut right).expect("a recording");
        assert!(right.records == records);
        assert!(right.frames.len() >= count);
        assert!(right.frames.iter().all(|(origin, h)| *origin == Origin::File && h.size.is_multiple_of(8)));

        let mut rules = Vec::new();
        let input = Input::Bytes { name: "misframed".into(), bytes: bytes.into() };
        check(input, ReadOptions::default(), &mut |finding| rules.push(finding.rule)).expect("a recording");
        rules.retain(|rule| rule.severity() != Severity::Note && *rule != Rule::CompressionUnannounced);
        rules.dedup();
        assert_eq!(rules, [Rule::Misframed]);
    }
}

#[test]
fn frames_that_are_cut_are_damage() {
    let mut frames = misframed(&compressed(&records()));
    frames.truncate(frames.len() - 100);
    let end_of_round = [68, 0, 0, 0, 0, 0, 8, 0];
    let (_, ledger) = open(&as_file(&[&end_of_round[..], &frames].concat())).run(&mut Gathered::default()).unwrap();
    assert!(ledger.is_incomplete());
    assert!(ledger.messages()[0].what.starts_with("the record here needs"), "{:?}", ledger.messages());
}
