use super::Recording;
use crate::synth::{Event, Stamp};
use perf_data::abi::record::lost::{Lost, LostSamples};
use perf_data::abi::record::{Body, Misc};
use perf_data::abi::sample_type::SampleType;
use std::fs::File;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures").join(name)
}

#[test]
fn yields_samples_with_resolved_frames_in_time_order() {
    let recording = Recording::open(fixture("callgraph.data")).unwrap();
    let mut samples = recording.samples().unwrap();
    let (mut count, mut deepest, mut latest) = (0, 0, 0);
    while let Some(sample) = samples.next().unwrap() {
        let time = sample.time().unwrap();
        assert!(time >= latest);
        assert!(sample.comm().is_some() && sample.period() > 0 && !sample.event().is_empty());
        latest = time;
        deepest = deepest.max(sample.frames().filter(|frame| frame.mapping().is_some()).count());
        count += 1;
    }
    let ledger = samples.ledger().unwrap();
    assert_eq!(ledger.counts(perf_data::abi::record::RecordType::SAMPLE).emitted, count);
    assert!(count > 100 && deepest > 3, "{count} samples, up to {deepest} frames");
}

/// The first value of a field that some samples of a fixture have.
fn first<T>(name: &str, field: impl Fn(&super::Sample<'_>) -> Option<T>) -> Option<T> {
    let mut samples = Recording::open(fixture(name)).unwrap().samples().unwrap();
    while let Some(sample) = samples.next().unwrap() {
        if let Some(value) = field(&sample) {
            return Some(value);
        }
    }
    None
}

#[test]
fn samples_have_the_fields_of_their_events() {
    let fields = |sample: &super::Sample<'_>| {
        let names: Vec<_> = sample.tracepoint_fields().map(|(name, _)| name.to_owned()).collect();
        (!names.is_empty()).then_some(names)
    };
    let names = first("tracepoints.data", fields).unwrap();
    assert!(names.iter().any(|name| name == "old_pid"), "{names:?}");
    assert!(
        first("cgroup.data", |sample| sample.cgroup().map(str::to_owned)).is_some_and(|path| path.starts_with('/'))
    );
    assert!(first("weight.data", |sample| sample.weight()).is_some());
    assert!(first("plain.data", |sample| sample.weight().or(sample.physical_address())).is_none());
}

#[test]
fn yields_records_that_decode_to_their_bytes() {
    for name in ["plain.data", "callgraph.data"] {
        let mut records = Recording::open(fixture(name)).unwrap().records().unwrap();
        let mut count = 0;
        while let Some(record) = records.next().unwrap() {
            assert_eq!(record.index(), count);
            assert_eq!(record.decode().to_bytes(perf_data::abi::Endian::Little).unwrap(), record.bytes());
            count += 1;
        }
        let read: u64 = records.ledger().unwrap().entries().values().map(|entry| entry.read).sum();
        assert_eq!(count, read, "{name}");
        assert!(count > 100);
    }
}

#[test]
fn a_stream_can_be_read_repeatedly() {
    let path = fixture("plain.data");
    let recording = Recording::from_reader("stream", File::open(&path).unwrap()).unwrap();
    let count = |recording: &Recording| {
        let mut samples = recording.samples().unwrap();
        let mut count = 0;
        while samples.next().unwrap().is_some() {
            count += 1;
        }
        count
    };
    let counts = [&recording, &recording, &Recording::open(&path).unwrap()].map(count);
    assert!(counts[0] > 0 && counts.iter().all(|&other| other == counts[0]), "{counts:?}");
}

#[test]
fn reads_features() {
    let features = Recording::open(fixture("plain.data")).unwrap().features().unwrap();
    assert!(features.command_line().unwrap().contains(&"record".to_owned()));
    assert!(!features.events().is_empty() && features.hostname().is_some() && features.ids().count() > 5);
}

#[test]
fn frames_of_folded_stacks_have_their_functions() {
    let recording = Recording::from_bytes("stacks.folded", *b"main;work;inner 3\nmain;idle 1\n").unwrap();
    let mut samples = recording.samples().unwrap();
    let mut leaves = Vec::new();
    while let Some(sample) = samples.next().unwrap() {
        let functions: Vec<_> = sample.frames().map(|frame| frame.function().unwrap_or("?")).collect();
        leaves.push(format!("{} {}", functions.join("<"), sample.period()));
    }
    assert_eq!(leaves, ["inner<work<main 3", "idle<main 1"]);
}

#[test]
fn dropping_samples_early_ends_their_stream() {
    let recording = Recording::open(fixture("callgraph.data")).unwrap();
    let mut samples = recording.samples().unwrap();
    assert!(samples.next().unwrap().is_some());
    assert!(samples.ledger().is_none());
}

#[test]
fn reports_inputs_that_are_not_recordings() {
    let error = Recording::from_bytes("hello.txt", *b"hello, world\n").unwrap_err();
    assert!(error.to_string().starts_with("hello.txt: "), "{error}");
    assert!(Recording::open("no/such/file").and_then(|recording| recording.records()).is_err());
}

#[test]
fn writes_filtered_samples() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kept.data");
    let recording = Recording::open(fixture("callgraph.data")).unwrap();
    let mut samples = recording.samples().unwrap();
    let mut pids = std::collections::BTreeMap::<u32, u64>::new();
    while let Some(sample) = samples.next().unwrap() {
        *pids.entry(sample.pid().unwrap()).or_default() += 1;
    }
    let (&pid, &expected) = pids.iter().max_by_key(|(_, count)| **count).unwrap();
    recording.rewrite().keep_pid(pid).compress(3).write(&path).unwrap();
    let mut kept = Recording::open(&path).unwrap().samples().unwrap();
    let mut count = 0;
    while let Some(sample) = kept.next().unwrap() {
        assert_eq!(sample.pid(), Some(pid));
        count += 1;
    }
    assert_eq!(count, expected);
    let decompress = || recording.rewrite().decompress().write(&path);
    assert_eq!(decompress().unwrap_err().kind(), perf_data::ErrorKind::OutputExists);
    let same = recording.rewrite().overwrite().write(fixture("callgraph.data")).unwrap_err();
    assert!(same.to_string().contains("cannot overwrite the input"), "{same}");
    recording.rewrite().overwrite().write(&path).unwrap();
    assert!(std::fs::read(&path).unwrap() == std::fs::read(fixture("callgraph.data")).unwrap());
}

#[test]
fn writes_a_profile_in_the_format_of_the_extension() {
    let directory = tempfile::tempdir().unwrap();
    let recording = Recording::open(fixture("callgraph.data")).unwrap();
    let (plain, packed) = (directory.path().join("out.pb"), directory.path().join("out.pb.gz"));
    let converted = recording.profile().write(&plain).unwrap();
    recording.profile().write(&packed).unwrap();
    let (profile, _) = recording.profile().collect().unwrap();
    let samples: u64 = profile.rows.iter().map(|row| row.samples).sum();
    assert_eq!(samples, converted.ledger.counts(perf_data::abi::record::RecordType::SAMPLE).emitted);
    let sizes = [&plain, &packed].map(|path| std::fs::metadata(path).unwrap().len());
    assert!(sizes[0] > sizes[1] && sizes[1] > 100, "{sizes:?}");
    assert!(recording.profile().write(directory.path().join("out.xyz")).is_err());
}

#[test]
#[cfg(feature = "parquet")]
fn passes_on_the_table_of_samples() {
    let recording = Recording::open(fixture("callgraph.data")).unwrap();
    let (mut rows, mut batches) = (0, 0);
    let ledger = recording.sample_table(|batch| {
        assert_eq!(batch.schema(), Recording::sample_schema());
        (rows, batches) = (rows + batch.num_rows() as u64, batches + 1);
        Ok(())
    });
    assert_eq!(rows, ledger.unwrap().counts(perf_data::abi::record::RecordType::SAMPLE).emitted);
    assert!(rows == 377 && batches > 0);
    let stopped = recording.sample_table(|_| Err(perf_data::Error::invalid("enough")));
    assert_eq!(stopped.unwrap_err().to_string(), "enough");
}

#[test]
fn writes_records_and_information_as_json() {
    let recording = Recording::open(fixture("callgraph.data")).unwrap();
    let mut lines = Vec::new();
    recording.write_json_lines(&mut lines).unwrap();
    let copy = Recording::from_bytes("copy.jsonl", lines).unwrap();
    let info = [&recording, &copy].map(|recording| recording.info_json().unwrap());
    assert!(info[0].contains("\"SAMPLE\"") && info[0].contains("loop-pie"), "{}", info[0]);
    let parsed: serde_json::Value = serde_json::from_str(&info[1]).unwrap();
    assert!(parsed.is_object());
}

#[test]
fn losses_are_counted_by_each_way_of_reading() {
    let mut builder = Recording::builder();
    builder.event(Event::named("cycles:u").unwrap().with(SampleType::IP | SampleType::TIME | SampleType::TID));
    builder.process(7, "app");
    builder.record(Misc::default(), Body::Lost(Lost { id: 1, lost: 5 }), Stamp::at(1, 7, 7));
    builder.record(Misc::default(), Body::LostSamples(LostSamples { lost: 3 }), Stamp::at(2, 7, 7));
    let bytes = builder.to_bytes().unwrap();
    let recording = Recording::from_bytes("lost.data", bytes.clone()).unwrap();
    let mut records = recording.records().unwrap();
    while records.next().unwrap().is_some() {}
    let mut samples = recording.samples().unwrap();
    while samples.next().unwrap().is_some() {}
    let definitions = perf_data::Recording::from_bytes("lost.data", bytes);
    let (_, profile) = recording.profile().collect().unwrap();
    let ledgers = [
        records.ledger().unwrap().clone(),
        samples.ledger().unwrap().clone(),
        definitions.for_each_sample(|_| Ok(())).unwrap(),
        definitions.for_each_record(|_, _| Ok(())).unwrap(),
        profile,
    ];
    for (index, ledger) in ledgers.iter().enumerate() {
        assert_eq!((ledger.lost_records, ledger.lost_samples), (5, 3), "{index}");
        assert!(!ledger.is_incomplete(), "{index}: {ledger}");
    }
}

#[test]
fn conversions_can_be_moved_to_threads() {
    fn assert_send<T: Send>() {}
    assert_send::<super::Convert<'_>>();
    assert_send::<super::Rewrite<'_>>();
}

#[test]
fn the_kernel_has_the_name_that_perf_prints() {
    let mut samples = Recording::open(fixture("callgraph.data")).unwrap().samples().unwrap();
    let mut kernel_frames = 0;
    while let Some(sample) = samples.next().unwrap() {
        for mapping in sample.frames().filter(|frame| frame.is_kernel()).filter_map(|frame| frame.mapping()) {
            assert!(mapping.path().starts_with("[kernel.kallsyms]"), "{}", mapping.path());
            assert_eq!(mapping.printed_name(), "[kernel.kallsyms]");
            kernel_frames += 1;
        }
    }
    assert!(kernel_frames > 0);
}
