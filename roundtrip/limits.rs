//! Hostile counts and sizes never make the library allocate memory for data that does not exist: memory is bounded by the size of
//! the input and by `Limits`.

use crate::inputs::{FeatureInput, feature_of, record_of};
use crate::recordings;
use allocation_counter::measure;
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::feature::{FeatureId, FeatureSection};
use perf_data::abi::record::{Record, RecordType};
use perf_data::abi::sample_type::SampleType;
use perf_data::container::limits::Limits;
use perf_data::container::read::file::FileAttr;
use perf_data::container::read::{ReadOptions, input::Input};
use perf_data::container::write::file::FileWriter;
use perf_data::container::write::pipe;
use perf_data::error::Result;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use perf_data::stream::write::verbatim::Verbatim;
use perfconv::conversion::profile;
use perfconv::formats::import::{ImportOptions, import};
use perfconv::formats::quipper;
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::{
    self, Chunk, Layout, Original, PerfEventAttr, PerfFileAttr, StringMetadata, string_metadata::StringAndMd5sumPrefix,
};
use perfconv::profile::options::ProfileOptions;
use prost::Message;
use std::env;
use std::fs;
use std::io::{self, Cursor, Write};
use std::path::Path;

/// Counts and sizes far beyond any input.
const HOSTILE: [u64; 6] = [u64::MAX, i64::MAX as u64, u64::MAX / 8 + 1, u32::MAX as u64, i32::MAX as u64, 0x00ff_fff0];

/// Memory of a decoded value, at most, per byte of input: an empty string takes four bytes in a recording and a `Vec` in memory,
/// and a growing `Vec` exists twice.
const MEMORY_FACTOR: u64 = 40;

/// Puts each hostile value at each offset of some bytes, in each width and byte order.
fn hostile(bytes: &[u8], from: usize, mut visit: impl FnMut(&[u8])) {
    let mut changed = bytes.to_vec();
    for width in [2, 4, 8] {
        for at in (from..(bytes.len() + 1).saturating_sub(width)).step_by(2) {
            for value in HOSTILE {
                changed[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                visit(&changed);
                changed[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
                visit(&changed);
            }
            changed[at..at + width].copy_from_slice(&bytes[at..at + width]);
        }
    }
}

fn files(target: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus").join(target);
    let entries = fs::read_dir(path).expect("the directory should exist");
    entries
        .map(|entry| fs::read(entry.expect("the directory should be listable").path()).expect("reading should succeed"))
        .collect()
}

#[test]
fn hostile_counts_in_records_and_features_allocate_little() {
    let (mut tested, mut largest) = (0, 0);
    let mut assert_bounded = |len: usize, reserved: u64| {
        (tested, largest) = (tested + 1, largest.max(reserved / len as u64));
        assert!(reserved <= MEMORY_FACTOR * len as u64 + 4096, "{reserved} bytes reserved for {len}");
    };
    for input in files("record") {
        hostile(&input, 16, |input| {
            let Some((bytes, context)) = record_of(input, None) else { return };
            assert_bounded(bytes.len(), measure(|| drop(Record::read(&bytes, &context))).bytes_max);
        });
    }
    for input in files("feature") {
        hostile(&input, 4, |input| {
            let FeatureInput { id, bytes, endian, context } = feature_of(input).expect("an input should be a feature");
            assert_bounded(bytes.len(), measure(|| drop(FeatureSection::read(id, bytes, endian, &context))).bytes_max);
        });
    }
    note!("{tested} records and features with hostile counts; at most {largest} bytes reserved per byte");
    assert!(tested > 100_000, "only {tested}");
}

/// The default limits, changed.
fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

fn read(bytes: &[u8], limits: Limits, sink: impl Write) -> Result<Ledger> {
    let options = ReadOptions::default().with_limits(limits);
    let input = Input::Bytes { name: "hostile".into(), bytes: bytes.to_vec().into() };
    Source::open(input, options)?.run(&mut Verbatim::new(vec![sink])).map(|(_, ledger)| ledger)
}

/// Allowance for zstd's own memory, blocks of a pipe, and the constant cost of a recording.
const OVERHEAD: u64 = 16 << 20;

#[test]
fn hostile_headers_and_sections_allocate_little() {
    let mut tested = 0;
    // Larger ones have the same kinds of headers and sections, and take most of the time.
    let largest = if env::var_os("PERFCONV_TEST_ALL").is_some() { u64::MAX } else { 32 << 10 };
    for path in recordings::fixtures() {
        if path.is_dir() || path.metadata().is_ok_and(|metadata| metadata.len() > largest) {
            continue;
        }
        let bytes = fs::read(&path).expect("the fixture should be readable");
        // The header, IDs and attrs; and the feature table of files.
        let front = bytes.len().min(600);
        let data_end = bytes.get(40..56).map_or(0, |section| {
            let word = |at: usize| u64::from_le_bytes(section[at..at + 8].try_into().expect("8 bytes"));
            word(0).saturating_add(word(8))
        });
        let table = usize::try_from(data_end).ok().filter(|&at| at < bytes.len()).unwrap_or(bytes.len());
        for range in [0..front, table..bytes.len().min(table + 400)] {
            for at in range.step_by(16) {
                for value in HOSTILE {
                    let mut changed = bytes.clone();
                    let end = (at + 8).min(changed.len());
                    changed[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                    let reserved = measure(|| drop(read(&changed, Limits::default(), io::sink()))).bytes_max;
                    let bound = MEMORY_FACTOR * changed.len() as u64 + OVERHEAD;
                    assert!(reserved < bound, "{} at {at}: {reserved} bytes", path.display());
                    tested += 1;
                }
            }
        }
    }
    note!("{tested} recordings with hostile headers and sections");
    assert!(tested > 5_000, "only {tested}");
}

/// A file with one frame of compressed records.
fn with_frame(plain: &[u8]) -> Vec<u8> {
    let compressed = zstd::bulk::compress(plain, 19).expect("zstd should compress");
    let size = u16::try_from(8 + compressed.len()).expect("compression should shrink it");
    let mut file =
        FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &[], &[]).expect("writing to memory should succeed");
    let record = [&[81, 0, 0, 0, 0, 0][..], &size.to_le_bytes(), &compressed].concat();
    file.write_all(&record).expect("writing to memory should succeed");
    file.finish(&[], &[], &Default::default()).expect("writing to memory should succeed").into_inner()
}

#[test]
fn a_frame_is_read_up_to_its_limit() {
    let record = [&[4, 0, 0, 0, 0, 0, 64, 0][..], &[0; 56]].concat();
    let bomb = with_frame(&record.repeat(1 << 20));
    let read = |frame| {
        let mut ledger = None;
        let limits = limits(|limits| limits.frame = frame);
        let reserved = measure(|| ledger = Some(read(&bomb, limits, io::sink()).expect("a recording"))).bytes_max;
        assert!(reserved < OVERHEAD, "{reserved} bytes reserved");
        let ledger = ledger.expect("reading should have succeeded");
        (ledger.entries().values().map(|entry| entry.read).sum::<u64>(), ledger.messages().len())
    };
    assert_eq!(read(Limits::default().frame), (1 + (1 << 20), 0), "64 MiB are less than the limit");
    let (records, messages) = read(8 << 20);
    assert!((100_000..200_000).contains(&records), "{records} records read of 8 MiB");
    assert_eq!(messages, 1, "the truncation is reported");
}

#[test]
fn an_endless_record_in_a_frame_is_not_buffered() {
    // An AUXTRACE record whose area is larger than any frame.
    let mut endless = vec![71, 0, 0, 0, 0, 0, 48, 0];
    endless.extend((1_u64 << 60).to_le_bytes());
    endless.resize(128 << 20, 0);
    let bytes = with_frame(&endless);
    let reserved = measure(|| drop(read(&bytes, Limits::default(), io::sink()))).bytes_max;
    assert!(reserved < OVERHEAD, "{reserved} bytes reserved");
}

#[test]
fn metadata_from_records_is_limited() {
    // Each has an ID of its own, and so is a separate event.
    let events: Vec<u8> = (0..4000_u64)
        .flat_map(|id| {
            let attr = [&[0; 4][..], &64_u32.to_le_bytes(), &[0; 56]].concat();
            [&[64, 0, 0, 0, 0, 0, 80, 0][..], &attr, &id.to_le_bytes()].concat()
        })
        .collect();
    let bytes = with_frame(&events);
    let dropped = |about| {
        let ledger = read(&bytes, limits(|limits| limits.about = about), io::sink()).expect("a recording");
        ledger.entries().values().map(|entry| entry.dropped()).sum::<u64>()
    };
    assert_eq!(dropped(Limits::default().about), 0);
    assert_eq!(dropped(72 * 1000), 3000);
}

#[test]
fn sorting_in_files_gives_the_same_profile_as_in_memory() {
    let (mut compared, mut samples) = (0, 0);
    for path in recordings::all() {
        let convert = |limits| {
            let options = ReadOptions::default().with_limits(limits);
            let (profile, _) = profile(Source::open(Input::Path(path.clone()), options)?, &ProfileOptions::default())?;
            Ok::<_, perfconv::Error>(profile)
        };
        let few = limits(|limits| {
            (limits.waiting, limits.waiting_bytes, limits.piece, limits.record) = (50, 4096, 4096, 1024);
        });
        let (Ok(in_memory), Ok(in_files)) = (convert(Limits::default()), convert(few)) else { continue };
        assert_eq!(in_memory.rows, in_files.rows, "{}", path.display());
        (compared, samples) = (compared + 1, samples + in_memory.rows.len());
    }
    note!("{compared} profiles of {samples} stacks are the same with small memory limits");
    assert!(compared >= recordings::enough("limits") && samples > 500, "{compared} recordings, {samples} stacks");
}

#[test]
fn a_compressed_recording_is_decompressed_up_to_a_thousand_times_its_size() {
    let recording =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures/pipe.data")).expect("a fixture");
    let bomb = |zeros: usize| {
        let all = [&recording[..], &vec![0; zeros]].concat();
        zstd::bulk::compress(&all, 3).expect("zstd should compress")
    };
    let unpack = |bytes: &[u8]| {
        let limits = limits(|limits| limits.unpacked = 1 << 20);
        let mut ledger = None;
        let reserved = measure(|| ledger = Some(read(bytes, limits, io::sink()).expect("a recording"))).bytes_max;
        assert!(reserved < OVERHEAD, "{reserved} bytes reserved");
        let ledger = ledger.expect("reading should have succeeded");
        (
            ledger.counts(RecordType::SAMPLE).read,
            ledger.messages().iter().any(|damage| damage.problem.contains("1000 times")),
        )
    };
    let (samples, is_stopped) = unpack(&bomb(1000));
    assert!(samples > 10 && !is_stopped, "{samples}");
    assert_eq!(unpack(&bomb(64 << 20)), (samples, true));
}

#[test]
fn overlapping_sections_take_no_more_memory_than_the_file() {
    let attr = Attr::read(&[0; Attr::SIZE_VER0], Endian::Little).expect("zeros should decode as an attr");
    let events = [FileAttr { attr, ids: Vec::new() }];
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &events, &[])
        .expect("writing to memory should succeed");
    file.write_all(&[68, 0, 0, 0, 0, 0, 8, 0]).expect("writing to memory should succeed");
    let features = (1..=200).map(|id| (FeatureId(id), Vec::new())).collect();
    let mut bytes = file.finish(&events, &[], &features).expect("writing to memory should succeed").into_inner();
    let table = bytes.len() - 16 * 200;
    let len = 1 << 20;
    for slot in bytes[table..].chunks_exact_mut(16) {
        slot[8..].copy_from_slice(&(len as u64).to_le_bytes());
        slot[..8].copy_from_slice(&104_u64.to_le_bytes());
    }
    bytes.resize(104 + len, 7);
    let input = Input::Bytes { name: "overlapping".into(), bytes: bytes.clone().into() };
    let source = Source::open(input, ReadOptions::default()).expect("a recording");
    let total: usize = source.meta().features.values().map(|section| section.len()).sum();
    assert!((len..=bytes.len()).contains(&total), "{total} bytes of features in a file of {}", bytes.len());
    let mut copy = Verbatim::new(vec![Vec::new()]);
    let (_, ledger) = source.run(&mut copy).expect("a recording");
    assert!(copy.into_inner() == [bytes] && ledger.messages().len() == 1, "{:?}", ledger.messages());
}

#[test]
fn tiny_protobuf_messages_are_limited() {
    let empty = b"\x0a\x00".repeat(2 << 20);
    let input = Input::Bytes { name: "attrs".into(), bytes: empty.into() };
    let limits = limits(|limits| limits.about = 8 << 20);
    let options = ReadOptions::default().with_limits(limits);
    let mut rejected = None;
    let reserved =
        measure(|| rejected = import(quipper::import, input, &ImportOptions::from(&options)).err()).bytes_max;
    assert!(reserved < OVERHEAD, "{reserved} bytes reserved");
    assert!(rejected.is_some_and(|error| error.to_string().contains("metadata exceeds the limit")));
}

/// Imports a PerfDataProto. Returns the size of the recording and the peak memory.
fn import_proto(message: &PerfDataProto) -> (Result<u64>, u64) {
    let input = Input::Bytes { name: "proto".into(), bytes: message.encode_to_vec().into() };
    let mut imported = Ok(0);
    let reserved = measure(|| {
        imported = import(quipper::import, input.clone(), &ImportOptions::default()).map(|recording| {
            match recording.input() {
                Input::Bytes { bytes, .. } => bytes.len() as u64,
                other => panic!("{other:?}"),
            }
        });
    });
    (imported, reserved.bytes_max)
}

#[test]
fn repeated_references_to_a_feature_are_limited() {
    let event = PerfFileAttr { attr: Some(PerfEventAttr::default()), ..PerfFileAttr::default() };
    let hostname = StringAndMd5sumPrefix { value: Some(vec![b'x'; 1 << 20]), ..StringAndMd5sumPrefix::default() };
    let metadata = StringMetadata { hostname: Some(hostname), ..StringMetadata::default() };
    let chunk = Chunk { feature: Some(FeatureId::HOSTNAME.0), ..Chunk::default() };
    let layout = Layout { before: vec![chunk.clone(); 100_000], ..Layout::default() };
    let mut message =
        PerfDataProto { file_attrs: vec![event], string_metadata: Some(metadata), ..PerfDataProto::default() };
    let plain = import_proto(&message).0.expect("a recording");
    message.layout = Some(layout);
    let (imported, reserved) = import_proto(&message);
    assert!(imported.expect("a recording of the usual layout") == plain && reserved < 4 * OVERHEAD, "{reserved} bytes");
    message.layout = None;
    message.records = (0..100_000)
        .map(|at| perf_data_proto::Record {
            at: Some(at),
            chunks: vec![chunk.clone()],
            ..perf_data_proto::Record::default()
        })
        .collect();
    let (imported, reserved) = import_proto(&message);
    assert!(imported.is_ok_and(|len| len < 2 * plain) && reserved < 8 * OVERHEAD, "{reserved} bytes");
}

#[test]
fn rejects_attrs_longer_than_those_of_any_recording() {
    let original = Original { size: Some(4096), ..Original::default() };
    let event =
        PerfFileAttr { attr: Some(PerfEventAttr::default()), original: Some(original), ..PerfFileAttr::default() };
    let message = PerfDataProto { file_attrs: vec![event; 20_000], ..PerfDataProto::default() };
    let (imported, reserved) = import_proto(&message);
    assert!(imported.is_err_and(|error| error.to_string().contains("attrs of its events exceed the limit")));
    assert!(reserved < 4 * OVERHEAD, "{reserved} bytes");
}

#[test]
fn a_chain_of_forks_takes_memory_linear_in_its_mappings() {
    // Each process maps a file and forks a child that continues the chain.
    let mut attr = Attr::read(&[0; Attr::SIZE_VER0], Endian::Little).expect("zeros should decode as an attr");
    (attr.size, attr.sample_type) = (Attr::SIZE_VER0 as u32, SampleType::IP | SampleType::TID);
    let mut bytes = pipe::header(Endian::Little).expect("writing to memory should succeed");
    let event =
        pipe::event(&FileAttr { attr, ids: Vec::new() }, Endian::Little).expect("writing to memory should succeed");
    bytes.extend(event.expect("an event without ids"));
    let count = 4000_u64;
    for pid in 1..=count {
        let words = [pid << 32 | pid, pid << 12, 0x1000, 0].into_iter().flat_map(u64::to_le_bytes);
        bytes.extend([1, 0, 0, 0, 2, 0, 48, 0].into_iter().chain(words).chain(*b"/bin/x\0\0"));
        let (child, parent) = (pid + 1, pid);
        let words = [parent << 32 | child, parent << 32 | child, 0].into_iter().flat_map(u64::to_le_bytes);
        bytes.extend([7, 0, 0, 0, 0, 0, 32, 0].into_iter().chain(words));
    }
    let input = Input::Bytes { name: "forks".into(), bytes: bytes.into() };
    let source = Source::open(input, ReadOptions::default()).expect("a recording");
    let reserved = measure(|| drop(profile(source, &ProfileOptions::default()))).bytes_max;
    let bound = OVERHEAD + 16_384 * count;
    assert!(reserved < bound, "{reserved} bytes reserved for {count} forks");
}
