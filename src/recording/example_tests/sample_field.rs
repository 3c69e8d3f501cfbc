//! Checks that every command and format handles the sample field defined for tests.

use super::{bytes, in_memory, lines, rewritten, written};
use crate::Recording;
use crate::conversion::{convert_records, convert_records_to_directory};
use crate::formats::framework::converter::ConvertOptions;
use crate::formats::framework::output::OutputFormat;
use crate::formats::perf_script::PerfScript;
use crate::formats::{FormatWriter, csv, quipper};
use crate::rewrite::anonymize::category::{Category, KeptCategories};
use crate::rewrite::anonymize::key::Key;
use crate::rewrite::anonymize::pass::AnonymizePass;
use crate::rewrite::framework::passes::Passes;
use crate::rewrite::perf_version::PerfVersionPass;
use crate::synth::Scenario;
use perf_data::abi::Endian;
use perf_data::abi::record::{Body, RecordType};
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::test_field::ExampleField;
use perf_data::abi::version::PerfVersion;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::write::form::Form;
use std::fs;

const PID: u32 = 4611;
const IPS: [u64; 2] = [0x40_1000, 0x40_1010];

/// The field as JSON.
const FIELD: &str = r#""example":{"pid":4611,"ips":["0x401000","0x401010"]}"#;

/// The field as text.
const TEXT: &str = "4611:401000:401010";

/// A synthetic recording of ten samples with the field.
fn recording() -> Recording {
    let scenario = r#"
        about = "A field for tests"
        duration = "1s"
        [[event]]
        name = "cycles:u"
        rate = 10
        fields = ["EXAMPLE"]
        [[program]]
        path = "/usr/bin/app"
        functions = ["main"]
        [[process]]
        pid = 4611
        comm = "app"
        programs = ["/usr/bin/app"]
        [[process.thread]]
        stack = [
            { percent = 100, frames = ["main"], sample = { example = { pid = 4611, ips = [0x401000, 0x401010] } } },
        ]
        [expect]
        samples = 10
    "#;
    let scenario = Scenario::parse("example.toml", scenario).unwrap();
    let (bytes, ..) = scenario.to_bytes(1, Container::File, Form::default()).unwrap();
    Recording::from_bytes("example.data", bytes).unwrap()
}

fn samples(recording: &Recording) -> Vec<Sample> {
    let (mut records, mut samples) = (recording.records().unwrap(), Vec::new());
    while let Some(record) = records.next().unwrap() {
        if let Body::Sample(sample) = record.decode().body {
            samples.push(*sample);
        }
    }
    samples
}

/// The field of all samples.
fn field(recording: &Recording) -> Option<ExampleField> {
    let samples = samples(recording);
    assert_eq!(samples.len(), 10);
    let mut fields = samples.into_iter().map(|sample| sample.example);
    let first = fields.next().unwrap();
    assert!(fields.all(|field| field == first));
    first
}

fn example() -> Option<ExampleField> {
    Some(ExampleField { pid: PID, ips: IPS.into() })
}

fn assert_all_used(ledger: &Ledger) {
    let counts = ledger.counts(RecordType::SAMPLE);
    assert_eq!((counts.read, counts.emitted), (10, 10));
    assert_eq!(ledger.samples_used_in_part(), 0);
}

#[test]
fn a_scenario_has_the_field() {
    assert_eq!(field(&recording()), example());
}

#[test]
fn json_roundtrip_preserves_bytes() {
    let recording = recording();
    let lines = lines(&recording);
    assert_eq!(lines.iter().filter(|line| line.contains(FIELD)).count(), 10);
    let imported = Recording::from_bytes("example.jsonl", lines.join("\n")).unwrap();
    assert!(bytes(&in_memory(&imported)) == bytes(&in_memory(&recording)));
}

#[test]
fn quipper_roundtrip_preserves_bytes() {
    let recording = recording();
    let message = written(&recording, &quipper::FORMAT);
    let imported = Recording::from_bytes("example.pb_data", message).unwrap();
    assert!(bytes(&in_memory(&imported)) == bytes(&in_memory(&recording)));
}

#[test]
fn byte_order_roundtrip_preserves_the_field() {
    let recording = recording();
    let big = rewritten(&recording, |rewrite| rewrite.byte_order(Endian::Big));
    assert!(bytes(&big) != bytes(&recording));
    let little = rewritten(&big, |rewrite| rewrite.byte_order(Endian::Little));
    assert_eq!([field(&big), field(&little)], [example(), example()]);
}

#[test]
fn anonymizing_replaces_the_field_by_its_roles() {
    let kept = KeptCategories::new(&[], &[Category::Pids]);
    let key = Key::new(&[7; 16]).unwrap();
    let anonymized = rewritten(&recording(), |rewrite| rewrite.pass(AnonymizePass::new(key, kept)));
    let (field, sample) = (field(&anonymized).unwrap(), &samples(&anonymized)[0]);
    assert!(field.pid != PID && Some((field.pid, field.pid)) == sample.task);
    assert!(field.ips.len() == 2 && field.ips.iter().all(|ip| !IPS.contains(ip)));
}

#[test]
fn an_older_perf_version_drops_the_field() {
    let version = |version| PerfVersionPass::new(version, ReadOptions::default());
    let recording = recording();
    let old = rewritten(&recording, |rewrite| rewrite.pass(version(PerfVersion(7, 2))));
    assert_eq!(field(&old), None);
    let new = rewritten(&recording, |rewrite| rewrite.pass(version(PerfVersion(7, 3))));
    assert_eq!(field(&new), example());
}

#[test]
fn perf_script_text_shows_the_field() {
    let format = PerfScript { fields: vec!["comm,example".to_owned()], ..PerfScript::default() };
    let FormatWriter::Converter(format) = format.writer() else { panic!("text carries records") };
    let (recording, options, mut passes) = (recording(), ConvertOptions::default(), Passes::default());
    let (input, mut text) = (recording.input.clone(), Vec::new());
    let (ledger, _) = convert_records(input, &recording.read, &options, &mut passes, format, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().filter(|line| line.trim_end().ends_with(TEXT)).count(), 10, "{text}");
    assert_all_used(&ledger);
}

#[test]
fn tables_have_the_field() {
    let (recording, directory) = (recording(), tempfile::tempdir().unwrap());
    let (options, format) = (ConvertOptions::default(), csv::Csv::default());
    let (input, mut passes) = (recording.input.clone(), Passes::default());
    let path = directory.path();
    let (ledger, _) =
        convert_records_to_directory(input, &recording.read, &options, &mut passes, &format, path).unwrap();
    assert_all_used(&ledger);
    let records = fs::read_to_string(path.join("overview.csv")).unwrap();
    assert_eq!(records.matches(&format!(" example={TEXT}")).count(), 10, "{records}");
}

#[cfg(feature = "parquet")]
#[test]
fn a_dataset_has_a_column_of_the_field() {
    use arrow_array::cast::AsArray;
    let mut count = 0;
    recording()
        .sample_table(|batch| {
            let column = batch.column_by_name("example").unwrap().as_string::<i32>();
            count += column.iter().filter(|text| *text == Some(TEXT)).count();
            Ok(())
        })
        .unwrap();
    assert_eq!(count, 10);
}
