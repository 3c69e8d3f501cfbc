//! Bugs that other readers of perf.data have, each on a real recording that the bug would spoil.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use perfconv::abi::feature::{Feature, FeatureContext, FeatureId};
use perfconv::abi::read_format::ReadValues;
use perfconv::abi::record::{Body, Record, RecordHeader, RecordType};
use perfconv::abi::sample::Sample;
use perfconv::container::read::input::Input;
use perfconv::container::read::{Container, ReadOptions};
use perfconv::stream::Sink;
use perfconv::stream::ledger::Ledger;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;

use super::files;
use super::goldens;
use super::program;

/// A record, whose it is and where.
struct Found {
    event: Option<usize>,
    record: Record,
    bytes: Vec<u8>,
    source: u32,
    offset: u64,
}

#[derive(Default)]
struct Finder(Vec<Found>);

impl Sink for Finder {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        self.0.push(Found {
            event: meta.events.of(raw).map(|(index, _)| index as usize),
            record: Record::read(raw.bytes(), &meta.context(raw)).expect("the record is whole"),
            bytes: [raw.bytes(), raw.payload()].concat(),
            source: raw.block().source,
            offset: raw.offset(),
        });
        Ok(())
    }
}

fn open(path: &Path) -> (Meta, Ledger, Vec<Found>) {
    let source = Source::open(Input::Path(path.into()), ReadOptions::default()).expect("the recording can be opened");
    let mut finder = Finder::default();
    let (meta, ledger) = source.run(&mut finder).expect("the recording can be read");
    (meta, ledger, finder.0)
}

fn samples(found: &[Found]) -> Vec<&Sample> {
    let samples = found.iter().filter_map(|found| match &found.record.body {
        Body::Sample(sample) => Some((&**sample, &found.record.tail)),
        _ => None,
    });
    samples
        .inspect(|(_, tail)| assert!(tail.is_empty(), "bytes are left: {tail:?}"))
        .map(|(sample, _)| sample)
        .collect()
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(what: &str) {
    let mut out = io::stderr();
    writeln!(out, "peers' bugs: {what}").unwrap();
}

/// GROUP and single values swapped, LOST not known: every sample ends too early.
#[test]
fn p1_sample_read_group_and_lost() {
    let (meta, _, found) = open(&files::fixture("group-read.data"));
    let groups: Vec<Vec<(u64, u64, u64)>> = (samples(&found).iter())
        .map(|sample| match &sample.read {
            Some(ReadValues::Group { values, time_enabled: None, time_running: None }) => {
                values.iter().map(|v| (v.id.unwrap(), v.value, v.lost.unwrap())).collect()
            }
            other => panic!("not the values of a group: {other:?}"),
        })
        .collect();
    let second_cpu: Vec<u64> = meta.events.list().iter().map(|event| event.ids[1]).collect();
    assert_eq!(second_cpu, [0x43, 0x45, 0x47]);
    assert_eq!(groups.len(), 4);
    assert_eq!(groups[0], [(0x43, 0xac9e10, 0), (0x45, 0xb05350, 0), (0x47, 0x13, 0)]);
    assert_eq!(groups[3], [(0x43, 0x2690710, 0), (0x45, 0x2698990, 0), (0x47, 0x13, 0)]);

    let (_, _, found) = open(&files::fixture("page-sizes.data"));
    let single = |sample: &&Sample| match sample.read {
        Some(ReadValues::Single { value, time_enabled, time_running, id, lost }) => {
            assert_eq!((id, lost, time_enabled), (Some(0x526d), Some(0), time_running));
            (time_enabled.unwrap(), value)
        }
        ref other => panic!("not the values of one event: {other:?}"),
    };
    let singles: Vec<(u64, u64)> = samples(&found).iter().map(single).collect();
    assert_eq!((singles.len(), singles.last()), (353, Some(&(0x5430ce1, 0x549e7f5))));
    assert!(singles.is_sorted(), "neither time nor count goes back");

    let (_, _, found) = open(&files::fixture("pipe-grouped.data"));
    let reads: Vec<_> = found.iter().filter(|found| matches!(&found.record.body, Body::Sample(_))).collect();
    let has_read = |found: &&&Found| matches!(&found.record.body, Body::Sample(sample) if sample.read.is_some());
    assert_eq!((samples(&found).len(), reads.iter().filter(has_read).count()), (21, IN_GROUPS));
    assert!(reads.iter().all(|found| has_read(&found) == (found.event == Some(0))), "only the group's leader reads");
    for (fixture, own) in [
        ("group-read.data", "own/guest-bookworm-arm64/group-S.data"),
        ("page-sizes.data", "own/p612/shim-alltypes2.data"),
        ("pipe-grouped.data", "own/p612/pipe-many.data"),
    ] {
        say(&format!("P1: {fixture}: {}", goldens::agreement(fixture, own)));
    }
}

/// As many samples of pipe-grouped.data are of the group; the others are page faults.
const IN_GROUPS: usize = 7;

/// WEIGHT_STRUCT not known: DATA_SRC and all behind it are shifted.
#[test]
fn p2_weight_struct_before_data_src() {
    let (_, _, found) = open(&files::fixture("weight.data"));
    let samples = samples(&found);
    assert_eq!(samples.len(), 353);
    for sample in samples {
        assert_eq!(sample.weight.map(|weight| weight.0), Some(0));
        assert_eq!(sample.data_src.map(|source| source.0), Some(0x1e05080021));
        assert_eq!(sample.transaction.map(|transaction| transaction.bits()), Some(0));
    }
    say(&format!("P2: weight.data: {}", goldens::agreement("weight.data", "own/p612/weight-txn.data")));
}

/// CGROUP not known: the page sizes are shifted. (No real recording has AUX in samples.)
#[test]
fn p3_cgroup_before_page_sizes() {
    let (_, _, found) = open(&files::fixture("page-sizes.data"));
    let samples = samples(&found);
    assert_eq!(samples.len(), 353);
    let cgroup = samples[0].cgroup;
    let mut code_page_sizes = [0, 0];
    for sample in samples {
        assert_eq!((sample.phys_addr, sample.data_page_size), (Some(0), Some(0)));
        assert_eq!(sample.cgroup, cgroup, "one program in one cgroup");
        let size = [4 << 10, 2 << 20].iter().position(|&size| sample.code_page_size == Some(size));
        code_page_sizes[size.expect("a size of a page")] += 1;
    }
    assert!(cgroup.is_some_and(|cgroup| cgroup != 0));
    assert_eq!(code_page_sizes, [349, 4]);
    say(&format!("P3: page-sizes.data: {}", goldens::agreement("page-sizes.data", "own/p612/shim-alltypes2.data")));
}

/// What follows HEADER_TRACING_DATA outside its size not skipped: the pipe ends there.
#[test]
fn p4_pipe_with_tracepoints() {
    let (meta, ledger, found) = open(&files::fixture("pipe-tracepoints.data"));
    assert_eq!(meta.container, Container::Pipe);
    assert!(ledger.messages().is_empty(), "{:?}", ledger.messages());
    let samples = samples(&found);
    assert_eq!(samples.len(), 432);
    assert!(samples.iter().all(|sample| sample.raw.is_some()));
    let at = found.iter().position(|found| found.record.header.kind == RecordType::HEADER_TRACING_DATA);
    let tracing_data = &found[at.expect("formats are in the pipe")];
    assert_eq!(usize::from(tracing_data.record.header.size), 16);
    let section = &meta.features[&FeatureId::TRACING_DATA];
    assert_eq!(section[..], tracing_data.bytes[16..]);
    let (feature, _) = Feature::read(FeatureId::TRACING_DATA, section, meta.endian, &FeatureContext::default());
    assert!(matches!(feature, Feature::TracingData(_)), "the formats can be read");
    say(&format!(
        "P4: pipe-tracepoints.data: {} bytes of formats; {}",
        section.len(),
        goldens::agreement("pipe-tracepoints.data", "own/p61/pipe-tp-z.data")
    ));
}

/// The main file of a folder taken for the recording: no samples, and not a word.
#[test]
fn p5_threads_directory() {
    let folder = files::fixture("threads.dir");
    let (meta, _, found) = open(&folder);
    assert_eq!((meta.container, meta.files.len()), (Container::Directory, 3));
    let in_file =
        |source| found.iter().filter(|f| f.source == source && f.record.header.kind == RecordType::SAMPLE).count();
    assert_eq!([0, 1, 2].map(in_file).iter().sum::<usize>(), 16);
    assert_eq!(in_file(0), 0, "the main file has no samples");

    let output = tempfile::tempdir().expect("a temporary folder");
    let run = program::convert(&folder.join("data"), &output.path().join("out.pb"));
    assert_eq!(run.ledger().expect("the main file can be read").samples_in, 0);
    assert!(run.warnings().iter().any(|warning| warning.contains("name the folder")), "{}", run.stderr);
    say(&format!(
        "P5: threads.dir: 16 samples in data.0 and data.1; {}",
        goldens::agreement("threads.dir", "own/p61/threads.dir")
    ));
}

/// A size of 0 in the header of a recording whose perf was killed taken as true, or refused.
#[test]
fn p6_killed_recording() {
    let path = files::fixture("killed.data");
    let bytes = fs::read(&path).expect("the fixture is there");
    assert_eq!(bytes[48..56], [0; 8], "the header says that there are no records");
    let (_, _, found) = open(&path);
    assert_eq!(samples(&found).len(), 1024);
    let listed = files::fixtures().into_iter().find(|recording| recording.name == "killed.data");
    assert_eq!(listed.and_then(|recording| recording.listed_samples), Some(1024));
    say("P6: killed.data: 1024 samples, as counted when it was recorded (no perf prints any)");
}

/// Records of one time, decompressed, out of their order.
#[test]
fn p7_equal_times_in_compressed_data() {
    let (_, _, found) = open(&files::fixture("lost.data"));
    let time = |found: &Found| match &found.record.body {
        Body::Sample(sample) => sample.time,
        _ => found.record.id.and_then(|id| id.time),
    };
    let timed: Vec<(u64, &Found)> = found.iter().filter_map(|found| Some((time(found)?, found))).collect();
    let kinds = |pair: &[(u64, &Found)]| [pair[0].1.record.header.kind, pair[1].1.record.header.kind];
    let is_equal = |pair: &&[(u64, &Found)]| pair[0].0 == pair[1].0 && pair[0].0 != 0;
    let equal: Vec<_> = timed.windows(2).filter(is_equal).collect();
    assert!(equal.iter().all(|pair| kinds(pair) == [RecordType::LOST, RecordType::SAMPLE]));
    assert!(equal.iter().any(|pair| pair[0].1.offset == pair[1].1.offset), "in one frame");
    assert_eq!(equal.len(), 3);
    say(&format!("P7: lost.data: 3 pairs of one time; {}", goldens::order_agreement("lost.data")));
}

/// Sizes and counts in records believed: a panic, or memory without end.
#[test]
fn p8_hostile_sizes() {
    let path = files::fixture("big-endian.data");
    let (_, _, found) = open(&path);
    let original = fs::read(&path).expect("the fixture is there");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let damaged = |kind: RecordType, at: usize, value: &[u8]| -> PathBuf {
        let mut bytes = original.clone();
        for found in found.iter().filter(|found| found.record.header.kind == kind) {
            let start = found.offset as usize + RecordHeader::SIZE + at;
            bytes[start..start + value.len()].copy_from_slice(value);
        }
        let path = folder.path().join("damaged.data");
        fs::write(&path, bytes).expect("the damaged file can be written");
        path
    };

    // Size of the build id, behind pid, tid, addr, len and pgoff.
    let (_, _, hostile) = open(&damaged(RecordType::MMAP2, 32, &[0xff]));
    let build_ids = |found: &[Found]| {
        let maps = found.iter().filter_map(|found| match &found.record.body {
            Body::Mmap2(map) => map.file.build_id().map(<[u8]>::to_vec),
            _ => None,
        });
        maps.collect::<Vec<_>>()
    };
    let ids = build_ids(&hostile);
    assert!(ids.len() > 5 && ids.iter().all(|id| id.len() == 20));
    assert_eq!(ids, build_ids(&found), "the ids are as they were");

    // Length of the call chain, behind ip, pid, tid, time, id and period: as large as can be, or such that in bytes it
    // is small again.
    for nr in [u64::MAX, 1 << 61, (1 << 61) + 1, 1 << 32, 1000] {
        let chain = 8 * CHAIN_WORD;
        let path = damaged(RecordType::SAMPLE, chain, &nr.to_be_bytes());
        let run = program::convert(&path, &folder.path().join("out.pb"));
        fs::remove_file(folder.path().join("out.pb")).expect("there is an output");
        let ledger = run.ledger().expect("the rest is converted");
        assert_eq!((ledger.samples_in, ledger.samples_out, ledger.dropped), (16, 0, 16), "{nr}: {}", run.stderr);
    }
    say(
        "P8: big-endian.data: 16 samples with call chains of up to 2^64 words are dropped, build ids of 255 bytes have 20",
    );
}

/// Where among the words of a sample of big-endian.data its call chain is.
const CHAIN_WORD: usize = 4;

/// ATTR and FEATURE records only taken up to the first other one, EVENT_UPDATE not at all.
#[test]
fn p9_late_attrs_and_features_in_pipes() {
    let path = files::fixture("pipe-grouped.data");
    let (meta, _, found) = open(&path);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let with_records = |records: &[&Found]| {
        let header = &fs::read(&path).expect("the fixture is there")[..16];
        let records: Vec<&[u8]> = records.iter().map(|found| &found.bytes[..]).collect();
        let path = folder.path().join("pipe.data");
        fs::write(&path, [header, &records.concat()].concat()).expect("the pipe can be written");
        open(&path)
    };
    let names = |meta: &Meta| meta.events.list().iter().map(|event| event.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&meta), ["cpu-clock", "task-clock", "pf"].map(|name| Some(name.to_owned())));

    // All but the first attr behind the records that follow them.
    let kind = |found: &&Found| found.record.header.kind;
    let is_late = |found: &&Found| matches!(kind(found), RecordType::HEADER_ATTR | RecordType::HEADER_FEATURE);
    let (late, others): (Vec<&Found>, Vec<&Found>) = found[1..].iter().partition(is_late);
    let before = others.iter().position(|found| kind(found) == RecordType::EVENT_UPDATE).expect("events have updates");
    let moved = [&[&found[0]], &others[..before], &late[..], &others[before..]].concat();
    let (late_meta, _, late_found) = with_records(&moved);
    assert!(before >= 2 && late.len() == 23, "two kinds of records are before {} late ones", late.len());
    assert_eq!(names(&late_meta), names(&meta));
    assert_eq!(late_meta.features, meta.features);
    let ids = |meta: &Meta| meta.events.list().iter().map(|event| event.ids.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&late_meta), ids(&meta));
    let events = |found: &[Found]| {
        let samples = found.iter().filter(|found| found.record.header.kind == RecordType::SAMPLE);
        samples.map(|found| (found.event, found.bytes.clone())).collect::<Vec<_>>()
    };
    assert_eq!(events(&late_found), events(&found), "each sample is of the same event");

    // Without features only EVENT_UPDATE tells the names.
    let named: Vec<&Found> = found.iter().filter(|found| kind(found) != RecordType::HEADER_FEATURE).collect();
    let (named_meta, ..) = with_records(&named);
    assert_eq!(names(&named_meta), names(&meta));
    say(&format!(
        "P9: pipe-grouped.data: 23 late attrs and features, names by EVENT_UPDATE; {}",
        goldens::agreement("pipe-grouped.data", "own/p612/pipe-many.data")
    ));
}
