//! No count and no size makes the program reserve what is not there: memory is bounded by the bytes of the input and by
//! `Limits`.

use crate::inputs::{FeatureInput, feature_of, record_of};
use crate::recordings;
use allocation_counter::measure;
use perfconv::abi::Endian;
use perfconv::abi::attr::Attr;
use perfconv::abi::feature::{FeatureId, FeatureSection};
use perfconv::abi::record::{Record, RecordType};
use perfconv::abi::sample_type::SampleType;
use perfconv::container::limits::Limits;
use perfconv::container::read::file::FileAttr;
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::container::write::file::FileWriter;
use perfconv::container::write::pipe;
use perfconv::convert::profile;
use perfconv::error::Result;
use perfconv::formats::import::{ImportOptions, import};
use perfconv::formats::quipper;
use perfconv::formats::quipper::proto::PerfDataProto;
use perfconv::formats::quipper::proto::perf_data_proto::{
    self as told, Chunk, Layout, Original, PerfEventAttr, PerfFileAttr, StringMetadata,
    string_metadata::StringAndMd5sumPrefix,
};
use perfconv::profile::options::ProfileOptions;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::source::Source;
use perfconv::stream::write::verbatim::Verbatim;
use prost::Message;
use std::fs;
use std::io::{self, Cursor, Write};
use std::path::Path;

/// Values that counts and sizes do not have.
const HOSTILE: [u64; 6] = [u64::MAX, i64::MAX as u64, u64::MAX / 8 + 1, u32::MAX as u64, i32::MAX as u64, 0x00ff_fff0];

/// How much larger than its bytes a value may be in memory: an empty string takes four bytes in a recording and a vector in
/// memory, and vectors that grow are there twice.
const LARGER: u64 = 40;

/// Each of the hostile values in each place of some bytes, in each width.
fn hostile(bytes: &[u8], from: usize, mut take: impl FnMut(&[u8])) {
    let mut changed = bytes.to_vec();
    for width in [2, 4, 8] {
        for at in (from..(bytes.len() + 1).saturating_sub(width)).step_by(2) {
            for value in HOSTILE {
                changed[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                take(&changed);
                changed[at..at + width].copy_from_slice(&value.to_be_bytes()[8 - width..]);
                take(&changed);
            }
            changed[at..at + width].copy_from_slice(&bytes[at..at + width]);
        }
    }
}

fn files(folder: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed/corpus").join(folder);
    let entries = fs::read_dir(path).expect("the folder is there");
    entries.map(|entry| fs::read(entry.expect("it can be listed").path()).expect("it can be read")).collect()
}

#[test]
fn no_definition_reserves_what_is_not_there() {
    let (mut tried, mut largest) = (0, 0);
    let mut judge = |len: usize, reserved: u64| {
        (tried, largest) = (tried + 1, largest.max(reserved / len as u64));
        assert!(reserved <= LARGER * len as u64 + 4096, "{reserved} bytes are reserved for {len}");
    };
    for input in files("record") {
        hostile(&input, 16, |input| {
            let Some((bytes, context)) = record_of(input, None) else { return };
            judge(bytes.len(), measure(|| drop(Record::read(&bytes, &context))).bytes_max);
        });
    }
    for input in files("feature") {
        hostile(&input, 4, |input| {
            let FeatureInput { id, bytes, endian, context } = feature_of(input).expect("an input is a feature");
            judge(bytes.len(), measure(|| drop(FeatureSection::read(id, bytes, endian, &context))).bytes_max);
        });
    }
    println!("{tried} records and features with hostile counts; at most {largest} bytes are reserved for one");
    assert!(tried > 100_000, "only {tried}");
}

fn read(bytes: &[u8], limits: Limits, sink: impl Write) -> Result<Ledger> {
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let input = Input::Bytes { name: "hostile".into(), bytes: bytes.to_vec().into() };
    Source::open(input, options)?.run(&mut Verbatim::new(vec![sink])).map(|(_, ledger)| ledger)
}

/// zstd's own memory, blocks of a pipe, what is there for every recording.
const OVERHEAD: u64 = 16 << 20;

#[test]
fn no_header_or_section_reserves_what_is_not_there() {
    let mut tried = 0;
    for path in recordings::fixtures() {
        if path.is_dir() {
            continue;
        }
        let bytes = fs::read(&path).expect("a fixture can be read");
        // The header, ids and events; and where files have their feature table.
        let front = bytes.len().min(600);
        let data_end = bytes.get(40..56).map_or(0, |place| {
            let word = |at: usize| u64::from_le_bytes(place[at..at + 8].try_into().expect("8 bytes"));
            word(0).saturating_add(word(8))
        });
        let table = usize::try_from(data_end).ok().filter(|&at| at < bytes.len()).unwrap_or(bytes.len());
        for range in [0..front, table..bytes.len().min(table + 400)] {
            for at in range.step_by(8) {
                for value in HOSTILE {
                    let mut changed = bytes.clone();
                    let end = (at + 8).min(changed.len());
                    changed[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                    let reserved = measure(|| drop(read(&changed, Limits::default(), io::sink()))).bytes_max;
                    let bound = LARGER * changed.len() as u64 + OVERHEAD;
                    assert!(reserved < bound, "{} at {at}: {reserved} bytes", path.display());
                    tried += 1;
                }
            }
        }
    }
    println!("{tried} recordings with hostile headers and sections");
    assert!(tried > 5_000, "only {tried}");
}

/// A file with one frame of compressed records.
fn with_frame(plain: &[u8]) -> Vec<u8> {
    let compressed = zstd::bulk::compress(plain, 19).expect("zstd compresses");
    let size = u16::try_from(8 + compressed.len()).expect("it compresses well");
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &[], &[]).expect("it goes to memory");
    let record = [&[81, 0, 0, 0, 0, 0][..], &size.to_le_bytes(), &compressed].concat();
    file.write_all(&record).expect("it goes to memory");
    file.finish(&[], &[], &Default::default()).expect("it goes to memory").into_inner()
}

#[test]
fn a_frame_is_read_up_to_its_limit() {
    let record = [&[4, 0, 0, 0, 0, 0, 64, 0][..], &[0; 56]].concat();
    let bomb = with_frame(&record.repeat(1 << 20));
    let read = |frame| {
        let mut ledger = None;
        let limits = Limits { frame, ..Limits::default() };
        let reserved = measure(|| ledger = Some(read(&bomb, limits, io::sink()).expect("a recording"))).bytes_max;
        assert!(reserved < OVERHEAD, "{reserved} bytes are reserved");
        let ledger = ledger.expect("it was read");
        (ledger.entries().values().map(|entry| entry.read).sum::<u64>(), ledger.messages().len())
    };
    assert_eq!(read(Limits::default().frame), (1 + (1 << 20), 0), "64 MiB are less than the limit");
    let (records, messages) = read(8 << 20);
    assert!((100_000..200_000).contains(&records), "{records} records of 8 MiB are read");
    assert_eq!(messages, 1, "what is missing is told");
}

#[test]
fn a_record_in_a_frame_that_never_ends_is_not_waited_for() {
    // An AUXTRACE record says that more bytes follow it than there can be.
    let mut endless = vec![71, 0, 0, 0, 0, 0, 48, 0];
    endless.extend((1_u64 << 60).to_le_bytes());
    endless.resize(128 << 20, 0);
    let bytes = with_frame(&endless);
    let reserved = measure(|| drop(read(&bytes, Limits::default(), io::sink()))).bytes_max;
    assert!(reserved < OVERHEAD, "{reserved} bytes are reserved");
}

#[test]
fn what_records_tell_about_the_recording_is_kept_up_to_its_limit() {
    // Each one has an id of its own, so that it is another event.
    let events: Vec<u8> = (0..4000_u64)
        .flat_map(|id| {
            let attr = [&[0; 4][..], &64_u32.to_le_bytes(), &[0; 56]].concat();
            [&[64, 0, 0, 0, 0, 0, 80, 0][..], &attr, &id.to_le_bytes()].concat()
        })
        .collect();
    let bytes = with_frame(&events);
    let dropped = |about| {
        let ledger = read(&bytes, Limits { about, ..Limits::default() }, io::sink()).expect("a recording");
        ledger.entries().values().map(|entry| entry.dropped()).sum::<u64>()
    };
    assert_eq!(dropped(Limits::default().about), 0);
    assert_eq!(dropped(72 * 1000), 3000);
}

#[test]
fn what_waits_in_files_is_what_would_wait_in_memory() {
    let (mut compared, mut samples) = (0, 0);
    for path in recordings::all() {
        let convert = |limits| {
            let options = ReadOptions { limits, ..ReadOptions::default() };
            let (profile, _) = profile(Source::open(Input::Path(path.clone()), options)?, &ProfileOptions::default())?;
            Ok::<_, perfconv::Error>(profile)
        };
        let few = Limits { waiting: 50, waiting_bytes: 4096, piece: 4096, record: 1024, ..Limits::default() };
        let (Ok(in_memory), Ok(in_files)) = (convert(Limits::default()), convert(few)) else { continue };
        assert_eq!(in_memory.rows, in_files.rows, "{}", path.display());
        (compared, samples) = (compared + 1, samples + in_memory.rows.len());
    }
    println!("{compared} profiles of {samples} stacks are the same where little waits in memory");
    assert!(compared >= recordings::enough("limits") && samples > 500, "{compared} recordings, {samples} stacks");
}

#[test]
fn what_is_compressed_as_a_whole_is_unpacked_up_to_a_thousand_times_its_size() {
    let recording =
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures/pipe.data")).expect("a fixture");
    let bomb = |zeros: usize| {
        let all = [&recording[..], &vec![0; zeros]].concat();
        zstd::bulk::compress(&all, 3).expect("zstd compresses")
    };
    let unpack = |bytes: &[u8]| {
        let limits = Limits { unpacked: 1 << 20, ..Limits::default() };
        let mut ledger = None;
        let reserved = measure(|| ledger = Some(read(bytes, limits, io::sink()).expect("a recording"))).bytes_max;
        assert!(reserved < OVERHEAD, "{reserved} bytes are reserved");
        let ledger = ledger.expect("it was read");
        (ledger.of(RecordType::SAMPLE).read, ledger.messages().iter().any(|damage| damage.what.contains("1000 times")))
    };
    let (samples, is_stopped) = unpack(&bomb(1000));
    assert!(samples > 10 && !is_stopped, "{samples}");
    assert_eq!(unpack(&bomb(64 << 20)), (samples, true));
}

#[test]
fn sections_that_lie_in_each_other_are_no_more_than_the_file() {
    let attr = Attr::read(&[0; Attr::SIZE_VER0], Endian::Little).expect("zeros are an attr");
    let events = [FileAttr { attr, ids: Vec::new() }];
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &events, &[]).expect("it goes to memory");
    file.write_all(&[68, 0, 0, 0, 0, 0, 8, 0]).expect("it goes to memory");
    let features = (1..=200).map(|id| (FeatureId(id), Vec::new())).collect();
    let mut bytes = file.finish(&events, &[], &features).expect("it goes to memory").into_inner();
    let table = bytes.len() - 16 * 200;
    let len = 1 << 20;
    for slot in bytes[table..].chunks_exact_mut(16) {
        slot[8..].copy_from_slice(&(len as u64).to_le_bytes());
        slot[..8].copy_from_slice(&104_u64.to_le_bytes());
    }
    bytes.resize(104 + len, 7);
    let input = Input::Bytes { name: "overlapping".into(), bytes: bytes.clone().into() };
    let source = Source::open(input, ReadOptions::default()).expect("a recording");
    let told: usize = source.meta().features.values().map(|section| section.len()).sum();
    assert!((len..=bytes.len()).contains(&told), "{told} bytes of features in a file of {}", bytes.len());
    let mut copy = Verbatim::new(vec![Vec::new()]);
    let (_, ledger) = source.run(&mut copy).expect("a recording");
    assert!(copy.into_inner() == [bytes] && ledger.messages().len() == 1, "{:?}", ledger.messages());
}

#[test]
fn messages_of_two_bytes_are_not_taken_without_end() {
    let empty = b"\x0a\x00".repeat(2 << 20);
    let input = Input::Bytes { name: "attrs".into(), bytes: empty.into() };
    let limits = Limits { about: 8 << 20, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let mut refused = None;
    let reserved = measure(|| refused = import(quipper::import, input, &ImportOptions::from(&options)).err()).bytes_max;
    assert!(reserved < OVERHEAD, "{reserved} bytes are reserved");
    assert!(refused.is_some_and(|error| error.to_string().contains("more about the recording")));
}

/// What is made of a PerfDataProto, and the most memory for it.
fn made_of(message: &PerfDataProto) -> (Result<u64>, u64) {
    let input = Input::Bytes { name: "proto".into(), bytes: message.encode_to_vec().into() };
    let mut made = Ok(0);
    let reserved = measure(|| {
        made = import(quipper::import, input.clone(), &ImportOptions::default()).map(|remade| match remade.input() {
            Input::Bytes { bytes, .. } => bytes.len() as u64,
            other => panic!("{other:?}"),
        });
    });
    (made, reserved.bytes_max)
}

#[test]
fn what_messages_name_instead_of_telling_it_has_an_end() {
    let event = PerfFileAttr { attr: Some(PerfEventAttr::default()), ..PerfFileAttr::default() };
    let hostname = StringAndMd5sumPrefix { value: Some(vec![b'x'; 1 << 20]), ..StringAndMd5sumPrefix::default() };
    let metadata = StringMetadata { hostname: Some(hostname), ..StringMetadata::default() };
    let chunk = Chunk { feature: Some(FeatureId::HOSTNAME.0), ..Chunk::default() };
    let layout = Layout { before: vec![chunk.clone(); 100_000], ..Layout::default() };
    let mut message =
        PerfDataProto { file_attrs: vec![event], string_metadata: Some(metadata), ..PerfDataProto::default() };
    let plain = made_of(&message).0.expect("a recording");
    message.layout = Some(layout);
    let (made, reserved) = made_of(&message);
    assert!(made.expect("a recording of the usual layout") == plain && reserved < 4 * OVERHEAD, "{reserved} bytes");
    message.layout = None;
    message.records = (0..100_000)
        .map(|at| told::Record { at: Some(at), chunks: vec![chunk.clone()], ..told::Record::default() })
        .collect();
    let (made, reserved) = made_of(&message);
    assert!(made.is_ok_and(|len| len < 2 * plain) && reserved < 8 * OVERHEAD, "{reserved} bytes");
}

#[test]
fn attrs_are_no_longer_than_those_of_any_recording() {
    let original = Original { size: Some(4096), ..Original::default() };
    let event =
        PerfFileAttr { attr: Some(PerfEventAttr::default()), original: Some(original), ..PerfFileAttr::default() };
    let message = PerfDataProto { file_attrs: vec![event; 20_000], ..PerfDataProto::default() };
    let (made, reserved) = made_of(&message);
    assert!(made.is_err_and(|error| error.to_string().contains("longer than those of any recording")));
    assert!(reserved < 4 * OVERHEAD, "{reserved} bytes");
}

#[test]
fn a_long_line_of_forks_takes_no_more_than_its_maps() {
    // Each process maps something, and has a child that goes on from there.
    let mut attr = Attr::read(&[0; Attr::SIZE_VER0], Endian::Little).expect("zeros are an attr");
    (attr.size, attr.sample_type) = (Attr::SIZE_VER0 as u32, SampleType::IP | SampleType::TID);
    let mut bytes = pipe::header(Endian::Little).expect("it goes to memory");
    let event = pipe::event(&FileAttr { attr, ids: Vec::new() }, Endian::Little).expect("it goes to memory");
    bytes.extend(event.expect("it has no ids"));
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
    assert!(reserved < bound, "{reserved} bytes are reserved for {count} forks");
}
