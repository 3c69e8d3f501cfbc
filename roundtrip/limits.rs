//! No count and no size makes the program reserve what is not there: memory is bounded by the bytes of the input and by
//! `Limits`.

use crate::inputs::{FeatureInput, feature_of, record_of};
use crate::recordings;
use allocation_counter::measure;
use perfconv::abi::Endian;
use perfconv::abi::feature::FeatureSection;
use perfconv::abi::record::Record;
use perfconv::container::limits::Limits;
use perfconv::container::read::{ReadOptions, input::Input};
use perfconv::container::write::file::FileWriter;
use perfconv::convert::profile;
use perfconv::error::Result;
use perfconv::profile::options::ProfileOptions;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::source::Source;
use perfconv::stream::write::verbatim::Verbatim;
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(folder);
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
