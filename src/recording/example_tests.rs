//! Checks that every command and format handles the record type, the feature and the sample field defined for tests, each of which
//! takes one file and one line in a table.

mod sample_field;

use super::Recording;
use crate::bundle::open::OpenedArchive;
use crate::bundle::pack::{PackOptions, pack};
use crate::bundle::unpack::Members;
use crate::conversion::{convert_records, convert_records_to_directory};
use crate::diff::{DiffOptions, diff};
use crate::formats::framework::converter::ConvertOptions;
use crate::formats::{Format, FormatWriter, csv, json, quipper};
use crate::inspect::check::{Rule, check};
use crate::inspect::dump::{DumpOptions, Dumper};
use crate::inspect::info::{Parts, read_info};
use crate::rewrite::anonymize::category::{Category, KeptCategories};
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::anonymize::pass::AnonymizePass;
use crate::rewrite::build_ids::find::FindOptions;
use crate::rewrite::build_ids::objects::Scope;
use crate::rewrite::filter::event::EventPass;
use crate::rewrite::filter::kind::TypePass;
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::merge::options::{MergeOptions, PID_STEP};
use crate::rewrite::merge::run::Merge;
use crate::rewrite::perf_version::PerfVersionPass;
use crate::rewrite::repair::RepairPass;
use crate::rewrite::split::criterion::By;
use crate::rewrite::split::run::{SplitOptions, split};
use perf_data::abi::Endian;
use perf_data::abi::feature::test_feature::ExampleFeature;
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::record::test_record::Example;
use perf_data::abi::record::{Body, RecordType};
use perf_data::abi::version::PerfVersion;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::Sink;
use perf_data::stream::ledger::{Ledger, Reason};
use perf_data::stream::source::Source;
use perf_data::stream::write::file::ToFile;
use perf_data::stream::write::form::Form;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

const PID: u32 = 4611;
const TIME: u64 = 1_200_403_445_941;
const ID: u64 = 4050;

/// The record as JSON, with process, time and event of a preceding sample.
const RECORD: &str = r#"{"record":"EXAMPLE","body":{"pid":4611,"tid":4611,"time":1200403445941,"id":4050,"payload":"c2VjcmV0ISE=","path":"/home/alice/example"}}"#;

/// The feature as JSON.
const FEATURE: &str = r#"{"feature":"EXAMPLE","content":{"pid":4611,"time":1200403445941,"host":"laptop-of-alice"}}"#;

fn written(recording: &Recording, format: &Format) -> Vec<u8> {
    let output = format.with_defaults().unwrap();
    let FormatWriter::Converter(format) = output.writer() else { panic!("{} carries records", format.name) };
    let (mut out, mut passes) = (Vec::new(), Passes::default());
    let (input, options) = (recording.input.clone(), ConvertOptions::default());
    convert_records(input, &recording.read, &options, &mut passes, format, &mut out).unwrap();
    out
}

fn lines(recording: &Recording) -> Vec<String> {
    String::from_utf8(written(recording, &json::LINES_FORMAT)).unwrap().lines().map(str::to_owned).collect()
}

/// A recording with the record after its last sample, and the feature, as a perf.data in memory.
fn recording() -> Recording {
    with([RECORD, FEATURE])
}

fn with(inserted: [&str; 2]) -> Recording {
    inserted_in("plain.data", inserted)
}

/// A fixture with a record after its last sample, and a feature.
fn inserted_in(fixture: &str, [record, feature]: [&str; 2]) -> Recording {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/fixtures").join(fixture);
    let mut lines = lines(&Recording::open(fixture).unwrap());
    if !feature.is_empty() {
        lines.insert(lines.len() - 1, feature.to_owned());
    }
    let sample = lines.iter().rposition(|line| line.contains("\"SAMPLE\"")).unwrap();
    lines.insert(sample + 1, record.to_owned());
    // A clock that other recordings share.
    let by_clock = |line: &String| {
        line.replace(r#""COMM_EXEC","#, r#""COMM_EXEC","USE_CLOCKID","#).replace(r#""clockid":0"#, r#""clockid":1"#)
    };
    let lines: Vec<_> = lines.iter().map(by_clock).collect();
    let imported = Recording::from_bytes("example.jsonl", lines.join("\n")).unwrap();
    in_memory(&imported)
}

/// The same as a perf.data in memory.
fn in_memory(recording: &Recording) -> Recording {
    rewritten(recording, |rewrite| rewrite)
}

fn rewritten(recording: &Recording, how: impl FnOnce(super::Rewrite<'_>) -> super::Rewrite<'_>) -> Recording {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.data");
    how(recording.rewrite()).write(&path).unwrap();
    Recording::from_bytes("out.data", fs::read(path).unwrap()).unwrap()
}

fn bytes(recording: &Recording) -> Vec<u8> {
    let Input::Bytes { bytes, .. } = &recording.input else { panic!("the recording is not in memory") };
    bytes.to_vec()
}

/// The records of the type, and the feature.
fn examples(recording: &Recording) -> (Vec<Example>, Option<ExampleFeature>) {
    let (mut records, mut examples) = (recording.records().unwrap(), Vec::new());
    while let Some(record) = records.next().unwrap() {
        if let Body::Example(example) = record.decode().body {
            examples.push(example);
        }
    }
    let feature = recording.features().unwrap().get(FeatureId::EXAMPLE);
    (
        examples,
        feature.map(|feature| if let Feature::Example(example) = feature { example } else { panic!("{feature:?}") }),
    )
}

fn one(recording: &Recording) -> (Example, ExampleFeature) {
    let (mut records, feature) = examples(recording);
    assert_eq!(records.len(), 1);
    (records.remove(0), feature.unwrap())
}

#[test]
fn json_roundtrip_preserves_bytes() {
    let recording = recording();
    let lines = lines(&recording);
    assert!([RECORD, FEATURE].iter().all(|line| lines.iter().any(|written| written == line)));
    let imported = Recording::from_bytes("example.jsonl", lines.join("\n")).unwrap();
    assert!(bytes(&in_memory(&imported)) == bytes(&recording));
    let (record, feature) = one(&recording);
    assert_eq!((record.pid, record.time, record.id, &*record.payload), (PID, TIME, ID, &b"secret!!"[..]));
    assert_eq!((record.path.text(), feature.host.text()), (&b"/home/alice/example"[..], &b"laptop-of-alice"[..]));
}

#[test]
fn quipper_roundtrip_preserves_both() {
    let recording = recording();
    let message = written(&recording, &quipper::FORMAT);
    let imported = Recording::from_bytes("example.pb_data", message).unwrap();
    assert_eq!(one(&imported), one(&recording));
}

#[test]
fn anonymizing_replaces_fields_by_their_roles() {
    let kept = KeptCategories::new(&[], &[Category::Pids, Category::Times]);
    let recording = recording();
    let key = Key::new(&[7; 16]).unwrap();
    let anonymized = rewritten(&recording, |rewrite| rewrite.pass(AnonymizePass::new(key, kept)));
    let (record, feature) = one(&anonymized);
    assert!(record.pid != PID && record.pid == record.tid && record.pid == feature.pid);
    assert!(record.id != ID && record.id != 0);
    assert!(record.time < TIME && record.time == feature.time);
    assert!(record.payload.is_empty());
    let written = bytes(&anonymized);
    for secret in ["alice", "example", "secret", "laptop"] {
        assert!(!written.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret}");
    }
    // The record's event exists in the recording.
    assert!(lines(&anonymized).iter().any(|line| line.contains("\"attr\"") && line.contains(&record.id.to_string())));
}

#[test]
fn merging_remaps_processes_and_events_and_shifts_times() {
    let clock = |wall: u64| {
        format!(
            r#"{{"feature":"CLOCK_DATA","content":{{"version":1,"clockid":1,"wall_clock_ns":{wall},"clockid_ns":0}}}}"#
        )
    };
    let with_feature = |wall| with([RECORD, &format!("{}\n{FEATURE}", clock(wall))]);
    let without_feature = |wall| with([RECORD, &clock(wall)]);
    let (records, feature) = examples(&merged([without_feature(1_000), with_feature(5_000)]).0);
    let [first, second] = &records[..] else { panic!("{records:?}") };
    assert_eq!([first.pid, second.pid], [PID, PID + PID_STEP]);
    assert_eq!(second.time - first.time, 4_000);
    assert_ne!(first.id, second.id);
    let feature = feature.unwrap();
    assert_eq!((feature.pid, feature.time), (second.pid, second.time));

    // Equal sections of different processes differ in the result.
    let (both, ledger) = merged([with_feature(1_000), with_feature(5_000)]);
    assert_eq!(examples(&both).1, None);
    assert!(ledger.notes().iter().any(|note| note.contains("differ and are dropped: EXAMPLE")), "{:?}", ledger.notes());
}

#[test]
fn merging_drops_malformed_records_and_reports_malformed_features() {
    let malformed =
        || with([r#"{"record":"EXAMPLE","raw":"AAAAAAAAAAA="}"#, r#"{"feature":"EXAMPLE","raw":"AAAAAAAAAAA="}"#]);
    let (result, ledger) = merged([recording(), malformed()]);
    assert_eq!(examples(&result).0.len(), 1);
    assert_eq!(ledger.counts(RecordType::EXAMPLE).dropped, [(Reason::Damaged, 1)].into());
    let (_, ledger) = merged([with([RECORD, ""]), malformed()]);
    assert!(ledger.notes().iter().any(|note| note.contains("cannot be decoded") && note.ends_with(": EXAMPLE")));
}

/// The result of merging two recordings of different machines.
fn merged(members: [Recording; 2]) -> (Recording, Ledger) {
    let read = ReadOptions::default();
    let has_clock = members.iter().all(|member| member.features().unwrap().get(FeatureId::CLOCK_DATA).is_some());
    let options = MergeOptions { align_wall: has_clock, offset_pids: true, ..MergeOptions::default() };
    let merge = Merge::open(members.iter().map(|member| member.input.clone()).collect(), &read, options).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    let (_, ledger) = merge.run(&read, &mut ToFile::new(file.reopen().unwrap(), Form::default())).unwrap();
    (Recording::from_bytes("merged.data", fs::read(file.path()).unwrap()).unwrap(), ledger)
}

#[test]
fn split_puts_the_record_into_one_part() {
    let recording = recording();
    let directory = tempfile::tempdir().unwrap();
    let options = SplitOptions { by: By::Samples(100), max_parts: 1000, at_once: 16 };
    let mut make = |name: &str, _| {
        let file = File::create_new(directory.path().join(name)).unwrap();
        Ok(Box::new(ToFile::new(file, Form::default())) as Box<dyn Sink>)
    };
    let (parts, _) = split(recording.input.clone(), &recording.read, options, &mut make).unwrap();
    let mut names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let counts: Vec<_> = names.iter().map(|name| examples(&Recording::open(name).unwrap())).collect();
    assert_eq!(counts.iter().map(|(records, _)| records.len()).sum::<usize>(), 1, "exactly one part has the record");
    assert!(parts == 4 && counts.iter().all(|(_, feature)| feature.is_some()));
}

#[test]
fn filters_keep_the_record_with_its_process_event_and_type() {
    let with_pid = |pid: u32| RECORD.replace("4611", &pid.to_string());
    let count = |recording: &Recording| examples(recording).0.len();
    let by_pid = |record: &str| rewritten(&with([record, FEATURE]), |rewrite| rewrite.keep_pid(PID));
    assert_eq!([with_pid(PID), with_pid(777)].map(|record| count(&by_pid(&record))), [1, 0]);

    // Two events with the IDs 77 and 79.
    let by_event = |id: u64| {
        let record = RECORD.replace("4050", &id.to_string());
        rewritten(&inserted_in("two-events.data", [&record, FEATURE]), |rewrite| rewrite.pass(EventPass::for_event(0)))
    };
    assert_eq!([77, 79].map(|id| count(&by_event(id))), [1, 0]);

    let by_type = |kind| rewritten(&recording(), |rewrite| rewrite.pass(TypePass::new(vec![kind])));
    assert_eq!([RecordType::EXAMPLE, RecordType::SAMPLE].map(|kind| count(&by_type(kind))), [1, 0]);
}

#[test]
fn repair_keeps_the_record_before_the_damage() {
    let mut damaged = bytes(&with([RECORD, ""]));
    damaged.extend([0xee; 40]);
    let damaged = Recording::from_bytes("damaged.data", damaged).unwrap();
    let repaired = rewritten(&damaged, |rewrite| rewrite.pass(RepairPass::default()));
    assert_eq!(examples(&repaired).0, examples(&damaged).0);
    assert_eq!(examples(&repaired).0.len(), 1);
}

#[test]
fn tables_count_the_record() {
    let (recording, directory) = (recording(), tempfile::tempdir().unwrap());
    let (input, options) = (recording.input.clone(), ConvertOptions::default());
    let mut passes = Passes::default();
    let (ledger, _) = convert_records_to_directory(
        input,
        &recording.read,
        &options,
        &mut passes,
        &csv::Csv::default(),
        directory.path(),
    )
    .unwrap();
    let counts = ledger.counts(RecordType::EXAMPLE);
    assert_eq!((counts.read, counts.dropped.values().sum::<u64>()), (1, 0));
    let statistics = fs::read_to_string(directory.path().join("stat.csv")).unwrap();
    assert!(statistics.contains("EXAMPLE"), "{statistics}");
}

#[test]
fn an_archive_contains_both() {
    let recording = recording();
    let mut archive = Vec::new();
    let options = PackOptions {
        scope: Scope::Hit,
        find: FindOptions::default(),
        symbols: Arc::default(),
        name: "example.data".to_owned(),
    };
    pack(recording.input.clone(), &recording.read, &options, &mut archive).unwrap();
    let opened = OpenedArchive::new(&*archive, "example.tar", Members::Recording, None).unwrap();
    assert_eq!(one(&Recording::open(opened.recording()).unwrap()), one(&recording));
}

#[test]
fn byte_order_roundtrip_preserves_both() {
    let recording = recording();
    let big = rewritten(&recording, |rewrite| rewrite.byte_order(Endian::Big).allow_mixed());
    assert_eq!(one(&big), one(&recording));
    assert!(bytes(&big) != bytes(&recording));
    let little = rewritten(&big, |rewrite| rewrite.byte_order(Endian::Little).allow_mixed());
    assert_eq!(one(&little), one(&recording));
}

#[test]
fn an_older_perf_version_drops_both() {
    let recording = recording();
    let version = |version| PerfVersionPass::new(version, ReadOptions::default());
    let old = rewritten(&recording, |rewrite| rewrite.pass(version(PerfVersion(7, 2))));
    assert_eq!(examples(&old), (Vec::new(), None));
    let new = rewritten(&recording, |rewrite| rewrite.pass(version(PerfVersion(7, 3))));
    assert_eq!(one(&new), one(&recording));
}

#[test]
fn check_reports_records_that_are_too_small() {
    let rules = |recording: &Recording| {
        let mut rules = Vec::new();
        let kind = RecordType::EXAMPLE.to_string();
        let mut on_finding = |finding: crate::inspect::check::Finding| {
            if finding.subject.to_string().contains(&kind) {
                rules.push(finding.rule);
            }
        };
        check(recording.input.clone(), recording.read.clone(), &mut on_finding).unwrap();
        rules
    };
    assert!(rules(&recording()).is_empty());
    let short = with([r#"{"record":"EXAMPLE","raw":"AAAAAAAAAAA="}"#, FEATURE]);
    assert!(rules(&short).contains(&Rule::TooSmall));
    let no_nul = RECORD.replace(r#""/home/alice/example""#, r#"{"text":"/home/abcdefghij","room":16}"#);
    assert!(rules(&with([&no_nul, FEATURE])).contains(&Rule::MissingNul));
}

#[test]
fn dump_info_and_diff_show_its_fields() {
    let recording = recording();
    let open = |recording: &Recording| Source::open(recording.input.clone(), recording.read.clone()).unwrap();
    let mut text = Vec::new();
    let options = DumpOptions { types: vec![RecordType::EXAMPLE], ..DumpOptions::default() };
    open(&recording).run(&mut Dumper::new(&mut text, options)).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("EXAMPLE") && text.contains("/home/alice/example") && text.contains("4611"), "{text}");

    let parts = Parts { header: true, ..Parts::default() };
    let lines = read_info(open(&recording), parts).unwrap().lines();
    let at = lines.iter().position(|line| line == "# EXAMPLE :").unwrap();
    assert!(
        lines[at + 1..at + 4].iter().any(|line| line.contains("host") && line.contains("laptop-of-alice")),
        "{lines:#?}"
    );

    let changed = with([&RECORD.replace("alice", "bob"), &FEATURE.replace("alice", "bob")]);
    let mut differences = Vec::new();
    let mut on_difference = |difference: &crate::diff::Difference| {
        differences.push(format!("{difference:?}"));
        Ok(())
    };
    let (summary, _) =
        diff([open(&recording), open(&changed)], &DiffOptions::default(), json::write_lines, &mut on_difference)
            .unwrap();
    assert!(!summary.is_same() && summary.records["EXAMPLE"].changed == 1);
    assert!(differences.iter().any(|difference| difference.contains("path")), "{differences:#?}");
}
