//! Converts every recording to PerfDataProto and back, to the same bytes. Without the fields from 1000 on, the message equals the
//! strict form.

use crate::recordings;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::error::Result;
use perf_data::stream::source::Source;
use perfconv::conversion::convert_records;
use perfconv::formats::framework::converter::ConvertOptions;
use perfconv::formats::import::ImportOptions;
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::{Chunk, Splice};
use perfconv::formats::quipper::{Fidelity, QuipperProto, import};
use perfconv::rewrite::framework::passes::Passes;
use prost::Message;
use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The first field number beyond quipper's schema.
const OURS: u32 = 1000;

fn written(input: Input, quipper: Fidelity) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut format = QuipperProto::default();
    format.fidelity = Some(quipper);
    let options = ConvertOptions::default();
    convert_records(input, &ReadOptions::default(), &options, &mut Passes::default(), &format, &mut out)?;
    Ok(out)
}

/// Removes the fields from 1000 on, including those in events.
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
        let (value, after) = rest.split_at(len);
        rest = after;
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

/// Allowed overhead of each piece of data outside of quipper's schema, in bytes: key, length, position and replaced range. This
/// matters only for recordings of a few hundred bytes, where it exceeds three tenths of the strict form.
const FRAMING: usize = 16;

/// Returns the size and number of the pieces of data that fields of quipper's schema do not hold.
fn extension_data(message: &[u8]) -> (usize, usize) {
    let message = PerfDataProto::decode(message).expect("a PerfDataProto");
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

/// Returns the files of a recording by name; a single file has the empty name.
fn files(input: &Input) -> BTreeMap<String, Vec<u8>> {
    match input {
        Input::Bytes { bytes, .. } => BTreeMap::from([(String::new(), bytes.to_vec())]),
        Input::Path(path) if path.is_dir() => {
            let source = Source::open(input.clone(), ReadOptions::default()).expect("a directory of records");
            let name = |file: &String| Path::new(file).file_name().expect("a name").to_string_lossy().into_owned();
            let files = source.meta().files.clone();
            files.iter().map(|file| (name(file), fs::read(file).unwrap_or_default())).collect()
        }
        Input::Path(path) => BTreeMap::from([(String::new(), fs::read(path).expect("it should still be readable"))]),
        Input::Stdin | Input::Stream(_) => panic!("unexpected input"),
    }
}

#[test]
fn perf_data_proto_round_trip_preserves_every_recording() {
    let (mut compared, mut unreadable, mut framed, mut bytes, mut differing) = (0, 0, 0, [0; 3], Vec::new());
    for path in recordings::all() {
        let input = Input::Path(path.clone());
        let Ok(lossless) = written(input.clone(), Fidelity::Lossless) else {
            unreadable += 1;
            continue;
        };
        let strict = written(input.clone(), Fidelity::Strict).expect("it should still be readable");
        let mut fail = |what: String| differing.push(format!("{}: {what}", path.display()));
        compared += 1;
        if stripped(&lossless, 0) != strict {
            fail("without the extension fields it differs from the strict form".to_owned());
        }
        let (bound, (extension, pieces)) = (strict.len() + strict.len() * 3 / 10, extension_data(&lossless));
        framed += usize::from(lossless.len() > bound + extension);
        if lossless.len() > bound + extension + FRAMING * pieces {
            fail(format!(
                "{} bytes, {} strict, {extension} extension in {pieces} pieces",
                lossless.len(),
                strict.len()
            ));
        }
        match import(&mut &lossless[..], "written", &ImportOptions::default()) {
            Ok(imported) => {
                let (was, is) = (files(&input), files(&imported.input()));
                if !imported.damage.is_empty() {
                    fail(format!("{:?}", imported.damage));
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
    note!(
        "{compared} recordings of {recorded} bytes became {lossless} bytes of PerfDataProto, {strict} in strict form; all but {} \
         are the same bytes after import; {framed} small ones exceed 1.3 times the strict form plus extension data, by less \
         than {FRAMING} bytes for each piece; {unreadable} unreadable",
        differing.len()
    );
    assert!(differing.is_empty(), "{} of {compared}:\n{}", differing.len(), differing.join("\n"));
    let enough = recordings::enough("quipper and back");
    assert!(compared >= enough, "only {compared} recordings of {enough} were compared");
}
