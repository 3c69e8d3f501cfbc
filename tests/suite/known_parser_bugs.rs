//! Known bugs of other perf.data parsers, each tested with a real recording that triggers the bug.

use crate::common::files;
use crate::common::program;
use perf_data::abi::feature::{Feature, FeatureContext, FeatureId};
use perf_data::abi::read_format::ReadValues;
use perf_data::abi::record::{Body, Record, RecordHeader, RecordType};
use perf_data::abi::sample::Sample;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::Sink;
use perf_data::stream::ledger::Ledger;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::fs;
use std::path::{Path, PathBuf};

/// A record with its event, bytes and position.
struct DecodedRecord {
    event: Option<usize>,
    record: Record,
    bytes: Vec<u8>,
    source: u32,
    offset: u64,
}

#[derive(Default)]
struct Finder(Vec<DecodedRecord>);

impl Sink for Finder {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        self.0.push(DecodedRecord {
            event: meta.events.find(raw).map(|(index, _)| index as usize),
            record: Record::read(raw.bytes(), &meta.context(raw)).expect("the record should be complete"),
            bytes: [raw.bytes(), raw.payload()].concat(),
            source: raw.block().source,
            offset: raw.offset(),
        });
        Ok(())
    }
}

fn open(path: &Path) -> (Meta, Ledger, Vec<DecodedRecord>) {
    let source = Source::open(Input::Path(path.into()), ReadOptions::default()).expect("the recording should open");
    let mut finder = Finder::default();
    let (meta, ledger) = source.run(&mut finder).expect("the recording should be readable");
    (meta, ledger, finder.0)
}

fn samples(records: &[DecodedRecord]) -> Vec<&Sample> {
    let samples = records.iter().filter_map(|decoded| match &decoded.record.body {
        Body::Sample(sample) => Some((&**sample, &decoded.record.tail)),
        _ => None,
    });
    samples
        .inspect(|(_, tail)| assert!(tail.is_empty(), "undecoded bytes: {tail:?}"))
        .map(|(sample, _)| sample)
        .collect()
}

/// Bug: confuses READ of groups and single events, or ignores LOST; samples end too early.
#[test]
fn decodes_read_of_groups_with_lost_counts() {
    let (meta, _, records) = open(&files::fixture("group-read.data"));
    let groups: Vec<Vec<(u64, u64, u64)>> = (samples(&records).iter())
        .map(|sample| match &sample.read {
            Some(ReadValues::Group { values, time_enabled: None, time_running: None }) => {
                values.iter().map(|v| (v.id.unwrap(), v.value, v.lost.unwrap())).collect()
            }
            other => panic!("expected values of a group, found {other:?}"),
        })
        .collect();
    let second_cpu: Vec<u64> = meta.events.list().iter().map(|event| event.ids[1]).collect();
    assert_eq!(second_cpu, [0x43, 0x45, 0x47]);
    assert_eq!(groups.len(), 4);
    assert_eq!(groups[0], [(0x43, 0xac9e10, 0), (0x45, 0xb05350, 0), (0x47, 0x13, 0)]);
    assert_eq!(groups[3], [(0x43, 0x2690710, 0), (0x45, 0x2698990, 0), (0x47, 0x13, 0)]);

    let (_, _, records) = open(&files::fixture("page-sizes.data"));
    let single = |sample: &&Sample| match sample.read {
        Some(ReadValues::Single { value, time_enabled, time_running, id, lost }) => {
            assert_eq!((id, lost, time_enabled), (Some(0x526d), Some(0), time_running));
            (time_enabled.unwrap(), value)
        }
        ref other => panic!("expected values of one event, found {other:?}"),
    };
    let singles: Vec<(u64, u64)> = samples(&records).iter().map(single).collect();
    assert_eq!((singles.len(), singles.last()), (353, Some(&(0x5430ce1, 0x549e7f5))));
    assert!(singles.is_sorted(), "times and counts should increase");

    let (_, _, records) = open(&files::fixture("pipe-grouped.data"));
    let reads: Vec<_> = records.iter().filter(|decoded| matches!(&decoded.record.body, Body::Sample(_))).collect();
    let has_read =
        |records: &&&DecodedRecord| matches!(&records.record.body, Body::Sample(sample) if sample.read.is_some());
    assert_eq!((samples(&records).len(), reads.iter().filter(has_read).count()), (21, IN_GROUPS));
    assert!(
        reads.iter().all(|decoded| has_read(&decoded) == (decoded.event == Some(0))),
        "only samples of the group's leader should have READ"
    );
}

/// The number of samples of pipe-grouped.data that are of the group; the others are page faults.
const IN_GROUPS: usize = 7;

/// Bug: ignores WEIGHT_STRUCT, so DATA_SRC and all later fields are misread.
#[test]
fn decodes_weight_struct_before_data_src() {
    let (_, _, records) = open(&files::fixture("weight.data"));
    let samples = samples(&records);
    assert_eq!(samples.len(), 353);
    for sample in samples {
        assert_eq!(sample.weight.map(|weight| weight.0), Some(0));
        assert_eq!(sample.data_src.map(|source| source.0), Some(0x1e05080021));
        assert_eq!(sample.transaction.map(|transaction| transaction.bits()), Some(0));
    }
}

/// Bug: ignores CGROUP, so page sizes are misread. (No real recording has AUX in samples.)
#[test]
fn decodes_cgroup_before_page_sizes() {
    let (_, _, records) = open(&files::fixture("page-sizes.data"));
    let samples = samples(&records);
    assert_eq!(samples.len(), 353);
    let cgroup = samples[0].cgroup;
    let mut code_page_sizes = [0, 0];
    for sample in samples {
        assert_eq!((sample.phys_addr, sample.data_page_size), (Some(0), Some(0)));
        assert_eq!(sample.cgroup, cgroup, "expected one cgroup");
        let size = [4 << 10, 2 << 20].iter().position(|&size| sample.code_page_size == Some(size));
        code_page_sizes[size.expect("a page size")] += 1;
    }
    assert!(cgroup.is_some_and(|cgroup| cgroup != 0));
    assert_eq!(code_page_sizes, [349, 4]);
}

/// Bug: does not skip the data that follows HEADER_TRACING_DATA outside of its size, so the pipe seems to end there.
#[test]
fn reads_pipes_with_tracing_data() {
    let (meta, ledger, records) = open(&files::fixture("pipe-tracepoints.data"));
    assert_eq!(meta.container, Container::Pipe);
    assert!(ledger.messages().is_empty(), "{:?}", ledger.messages());
    let samples = samples(&records);
    assert_eq!(samples.len(), 432);
    assert!(samples.iter().all(|sample| sample.raw.is_some()));
    let at = records.iter().position(|records| records.record.header.kind == RecordType::HEADER_TRACING_DATA);
    let tracing_data = &records[at.expect("the pipe should carry the formats")];
    assert_eq!(usize::from(tracing_data.record.header.size), 16);
    let section = &meta.features[&FeatureId::TRACING_DATA];
    assert_eq!(section[..], tracing_data.bytes[16..]);
    let (feature, _) = Feature::read(FeatureId::TRACING_DATA, section, meta.endian, &FeatureContext::default());
    assert!(matches!(feature, Feature::TracingData(_)), "the formats should be readable");
    note!("known parser bugs: pipe-tracepoints.data: {} bytes of formats", section.len());
}

/// Bug: reads only the main file of a directory, which has no samples, without a warning.
#[test]
fn reads_all_files_of_a_directory() {
    let dir = files::fixture("threads.dir");
    let (meta, _, records) = open(&dir);
    assert_eq!((meta.container, meta.files.len()), (Container::Directory, 3));
    let in_file =
        |source| records.iter().filter(|f| f.source == source && f.record.header.kind == RecordType::SAMPLE).count();
    assert_eq!([0, 1, 2].map(in_file).iter().sum::<usize>(), 16);
    assert_eq!(in_file(0), 0, "the main file should have no samples");

    let output = tempfile::tempdir().expect("a temporary directory");
    let run = program::convert(&dir.join("data"), &output.path().join("out.pb"));
    assert_eq!(run.ledger().expect("the main file should be readable").samples_in, 0);
    assert!(run.warnings().iter().any(|warning| warning.contains("open the directory")), "{}", run.stderr);
    note!("known parser bugs: threads.dir: 16 samples in data.0 and data.1");
}

/// Bug: trusts or rejects the data size of 0 in an interrupted recording.
#[test]
fn reads_an_interrupted_recording() {
    let path = files::fixture("killed.data");
    let bytes = fs::read(&path).expect("the fixture should exist");
    assert_eq!(bytes[48..56], [0; 8], "the header should have a data size of 0");
    let (_, _, records) = open(&path);
    assert_eq!(samples(&records).len(), 1024);
    let listed = files::fixtures().into_iter().find(|recording| recording.name == "killed.data");
    assert_eq!(listed.and_then(|recording| recording.listed_samples), Some(1024));
    note!("known parser bugs: killed.data: 1024 samples, as counted when it was recorded (no perf version prints any)");
}

/// Bug: changes the order of decompressed records with equal times.
#[test]
fn keeps_the_order_of_records_with_equal_times() {
    let (_, _, records) = open(&files::fixture("lost.data"));
    let time = |records: &DecodedRecord| match &records.record.body {
        Body::Sample(sample) => sample.time,
        _ => records.record.id.and_then(|id| id.time),
    };
    let timed: Vec<(u64, &DecodedRecord)> =
        records.iter().filter_map(|records| Some((time(records)?, records))).collect();
    let kinds = |pair: &[(u64, &DecodedRecord)]| [pair[0].1.record.header.kind, pair[1].1.record.header.kind];
    let is_equal = |pair: &&[(u64, &DecodedRecord)]| pair[0].0 == pair[1].0 && pair[0].0 != 0;
    let equal: Vec<_> = timed.windows(2).filter(is_equal).collect();
    assert!(equal.iter().all(|pair| kinds(pair) == [RecordType::LOST, RecordType::SAMPLE]));
    assert!(equal.iter().any(|pair| pair[0].1.offset == pair[1].1.offset), "expected a pair in one frame");
    assert_eq!(equal.len(), 3);
    note!("known parser bugs: lost.data: 3 pairs of equal times");
}

/// Bug: trusts sizes and counts in records, and panics or allocates without limit.
#[test]
fn limits_hostile_sizes_in_records() {
    let path = files::fixture("big-endian.data");
    let (_, _, records) = open(&path);
    let original = fs::read(&path).expect("the fixture should exist");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let corrupt = |kind: RecordType, at: usize, value: &[u8]| -> PathBuf {
        let mut bytes = original.clone();
        for records in records.iter().filter(|records| records.record.header.kind == kind) {
            let start = records.offset as usize + RecordHeader::SIZE + at;
            bytes[start..start + value.len()].copy_from_slice(value);
        }
        let path = dir.path().join("corrupt.data");
        fs::write(&path, bytes).expect("the corrupted file should be writable");
        path
    };

    // Size of the build ID, after pid, tid, addr, len and pgoff.
    let (_, _, hostile) = open(&corrupt(RecordType::MMAP2, 32, &[0xff]));
    let build_ids = |records: &[DecodedRecord]| {
        let maps = records.iter().filter_map(|decoded| match &decoded.record.body {
            Body::Mmap2(map) => map.file.build_id().map(<[u8]>::to_vec),
            _ => None,
        });
        maps.collect::<Vec<_>>()
    };
    let ids = build_ids(&hostile);
    assert!(ids.len() > 5 && ids.iter().all(|id| id.len() == 20));
    assert_eq!(ids, build_ids(&records), "the IDs should be unchanged");

    // Length of the call chain, after ip, pid, tid, time, id and period: huge, or overflowing to a small number of bytes.
    for nr in [u64::MAX, 1 << 61, (1 << 61) + 1, 1 << 32, 1000] {
        let chain = 8 * CHAIN_WORD;
        let path = corrupt(RecordType::SAMPLE, chain, &nr.to_be_bytes());
        let run = program::convert(&path, &dir.path().join("out.pb"));
        fs::remove_file(dir.path().join("out.pb")).expect("there should be an output");
        let ledger = run.ledger().expect("the rest should be converted");
        assert_eq!((ledger.samples_in, ledger.samples_out, ledger.dropped), (16, 0, 16), "{nr}: {}", run.stderr);
    }
    note!(
        "known parser bugs: big-endian.data: 16 samples with call chains of up to 2^64 words dropped; build IDs with size 255 read as 20 bytes",
    );
}

/// The index of the call chain's length among the words of a sample of big-endian.data.
const CHAIN_WORD: usize = 4;

/// Bug: reads ATTR and FEATURE records only before the first other record, or ignores EVENT_UPDATE.
#[test]
fn reads_late_attrs_and_features_in_pipes() {
    let path = files::fixture("pipe-grouped.data");
    let (meta, _, records) = open(&path);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let with_records = |records: &[&DecodedRecord]| {
        let header = &fs::read(&path).expect("the fixture should exist")[..16];
        let records: Vec<&[u8]> = records.iter().map(|records| &records.bytes[..]).collect();
        let path = dir.path().join("pipe.data");
        fs::write(&path, [header, &records.concat()].concat()).expect("the pipe should be writable");
        open(&path)
    };
    let names = |meta: &Meta| meta.events.list().iter().map(|event| event.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&meta), ["cpu-clock", "task-clock", "pf"].map(|name| Some(name.to_owned())));

    // Move all but the first attr after other records.
    let kind = |records: &&DecodedRecord| records.record.header.kind;
    let is_late =
        |records: &&DecodedRecord| matches!(kind(records), RecordType::HEADER_ATTR | RecordType::HEADER_FEATURE);
    let (late, others): (Vec<&DecodedRecord>, Vec<&DecodedRecord>) = records[1..].iter().partition(is_late);
    let before = others
        .iter()
        .position(|records| kind(records) == RecordType::EVENT_UPDATE)
        .expect("events should have updates");
    let reordered = [&[&records[0]], &others[..before], &late[..], &others[before..]].concat();
    let (late_meta, _, late_found) = with_records(&reordered);
    assert!(before >= 2 && late.len() == 23, "expected records before {} late ones", late.len());
    assert_eq!(names(&late_meta), names(&meta));
    assert_eq!(late_meta.features, meta.features);
    let ids = |meta: &Meta| meta.events.list().iter().map(|event| event.ids.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&late_meta), ids(&meta));
    let events = |records: &[DecodedRecord]| {
        let samples = records.iter().filter(|records| records.record.header.kind == RecordType::SAMPLE);
        samples.map(|records| (records.event, records.bytes.clone())).collect::<Vec<_>>()
    };
    assert_eq!(events(&late_found), events(&records), "the event of each sample should be unchanged");

    // Without features, the names are only in EVENT_UPDATE.
    let named: Vec<&DecodedRecord> =
        records.iter().filter(|records| kind(records) != RecordType::HEADER_FEATURE).collect();
    let (named_meta, ..) = with_records(&named);
    assert_eq!(names(&named_meta), names(&meta));
    note!("known parser bugs: pipe-grouped.data: 23 late attrs and features, names from EVENT_UPDATE");
}
