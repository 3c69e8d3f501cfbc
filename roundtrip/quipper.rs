//! Every recording as a PerfDataProto and back: the same bytes. Without the fields from 1000 on it is the strict form.

use crate::recordings;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::convert::carry;
use perfconv::error::Result;
use perfconv::formats::carry::CarryOptions;
use perfconv::formats::import::ImportOptions;
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::{Chunk, Splice};
use perfconv::formats::quipper::{Fidelity, begin, import};
use perfconv::rewrite::passes::Passes;
use perfconv::stream::source::Source;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The first field that is not the schema's.
const OURS: u32 = 1000;

fn written(input: Input, quipper: Fidelity) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let options = CarryOptions { values: quipper.into(), ..CarryOptions::default() };
    carry(input, &ReadOptions::default(), &options, &mut Passes::default(), begin, &mut out)?;
    Ok(out)
}

/// The message without the fields from 1000 on, those in events included.
fn stripped(message: &[u8], depth: u32) -> Vec<u8> {
    let (mut rest, mut out) = (message, Vec::with_capacity(message.len()));
    while !rest.is_empty() {
        let start = rest;
        let (number, wire) = decode_key(&mut rest).expect("a field");
        let len = match wire {
            WireType::Varint => decode_varint(&mut rest).map(|_| 0).expect("a number"),
            WireType::LengthDelimited => decode_varint(&mut rest).expect("a length") as usize,
            WireType::SixtyFourBit => 8,
            _ => panic!("no field is of type {wire:?}"),
        };
        let (value, behind) = rest.split_at(len);
        rest = behind;
        if number >= OURS {
            continue;
        }
        if depth == 0 && number <= 2 {
            let value = stripped(value, 1);
            encode_key(number, wire, &mut out);
            encode_varint(value.len() as u64, &mut out);
            out.extend(value);
        } else {
            out.extend_from_slice(&start[..start.len() - rest.len()]);
        }
    }
    out
}

/// The most bytes that say where something belongs that is kept apart: a key and a length around it, its place, which of its
/// bytes are replaced. They are part of what the strict form cannot hold; only of a recording of a few hundred bytes is three
/// tenths of the strict form less than that.
const FRAMING: usize = 16;

/// How many bytes are kept that fields of the schema do not hold, and in how many pieces.
fn kept_apart(message: &[u8]) -> (usize, usize) {
    let message = PerfDataProto::decode(message).expect("it was written as one");
    let of_splice = |splice: &Option<Splice>| splice.as_ref().map_or(0, |splice| splice.with().len());
    let of_chunks = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.raw().len()).sum::<usize>();
    let layout = message.layout.unwrap_or_default();
    let records = message.records.iter().chain(&message.headers).map(|record| of_chunks(&record.chunks));
    let pieces = layout.before.len()
        + layout.behind.len()
        + message.records.iter().chain(&message.headers).map(|record| record.chunks.len()).sum::<usize>()
        + message.features.len()
        + message.events.iter().filter(|event| event.splice.is_some()).count()
        + message.file_attrs.len();
    let bytes = of_chunks(&layout.before)
        + of_chunks(&layout.behind)
        + records.sum::<usize>()
        + message.features.iter().map(|feature| of_splice(&feature.splice)).sum::<usize>()
        + message.events.iter().map(|event| of_splice(&event.splice)).sum::<usize>()
        + message.file_attrs.iter().flat_map(|event| &event.original).map(|o| of_splice(&o.splice)).sum::<usize>();
    (bytes, pieces)
}

/// The files of a recording by name; a lone one has none.
fn files(input: &Input) -> BTreeMap<String, Vec<u8>> {
    match input {
        Input::Bytes { bytes, .. } => BTreeMap::from([(String::new(), bytes.to_vec())]),
        Input::Path(path) if path.is_dir() => {
            let source = Source::open(input.clone(), ReadOptions::default()).expect("a folder of records");
            let name = |file: &String| Path::new(file).file_name().expect("a name").to_string_lossy().into_owned();
            let files = source.meta().files.clone();
            files.iter().map(|file| (name(file), fs::read(file).unwrap_or_default())).collect()
        }
        Input::Path(path) => BTreeMap::from([(String::new(), fs::read(path).expect("it was readable"))]),
        Input::Stdin | Input::Stream(_) => panic!("no recording is standard input"),
    }
}

#[test]
fn a_perf_data_proto_becomes_the_same_bytes_and_is_the_strict_one_without_our_fields() {
    let (mut compared, mut unreadable, mut framed, mut bytes, mut wrong) = (0, 0, 0, [0; 3], Vec::new());
    for path in recordings::all() {
        let input = Input::Path(path.clone());
        let Ok(lossless) = written(input.clone(), Fidelity::Lossless) else {
            unreadable += 1;
            continue;
        };
        let strict = written(input.clone(), Fidelity::Strict).expect("it was readable");
        let mut fail = |what: String| wrong.push(format!("{}: {what}", path.display()));
        compared += 1;
        if stripped(&lossless, 0) != strict {
            fail("without our fields it is not the strict form".to_owned());
        }
        let (bound, (apart, pieces)) = (strict.len() + strict.len() * 3 / 10, kept_apart(&lossless));
        framed += usize::from(lossless.len() > bound + apart);
        if lossless.len() > bound + apart + FRAMING * pieces {
            fail(format!("{} bytes, {} strict, {apart} kept apart in {pieces}", lossless.len(), strict.len()));
        }
        match import(&mut &lossless[..], "written", &ImportOptions::default()) {
            Ok(remade) => {
                let (was, is) = (files(&input), files(&remade.input()));
                if !remade.damage.is_empty() {
                    fail(format!("{:?}", remade.damage));
                }
                let is_same = was.len() == is.len() && was.values().zip(is.values()).all(|(a, b)| a == b);
                if !is_same {
                    let at = was.values().zip(is.values()).map(|(a, b)| a.iter().zip(b).position(|(a, b)| a != b));
                    let len = |files: &BTreeMap<_, Vec<u8>>| files.values().map(Vec::len).collect::<Vec<_>>();
                    let (was_len, is_len) = (len(&was), len(&is));
                    fail(format!("differs at {:?}, {is_len:?} bytes, not {was_len:?}", at.collect::<Vec<_>>()));
                }
                bytes[0] += was.values().map(Vec::len).sum::<usize>();
            }
            Err(e) => fail(e.to_string()),
        }
        bytes[1] += strict.len();
        bytes[2] += lossless.len();
    }
    let [recorded, strict, lossless] = bytes;
    println!(
        "{compared} recordings of {recorded} bytes were {lossless} bytes as PerfDataProto, {strict} of them strict, and \
         became the same bytes but for {}; {framed} small ones are larger than 1.3 times the strict form and what it cannot \
         hold, by less than {FRAMING} bytes for each piece kept; {unreadable} hold nothing that can be read",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    let enough = recordings::enough("quipper and back");
    assert!(compared >= enough, "only {compared} recordings of {enough} were compared");
}
