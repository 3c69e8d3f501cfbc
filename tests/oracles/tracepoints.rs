//! Samples of tracepoints: decoded fields match `perf data convert --to-json`, and perf reads anonymized recordings without new
//! messages.

use super::perf_json::golden_json;
use crate::common::files::{self, Recording};
use crate::common::oracle::has_program;
use crate::common::program::{for_each, perfconv, run, run_other, with_time_limit};
use perf_data::abi::attr::AttrType;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::abi::text::until_nul;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::input::Input;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use perf_data::tracepoint::tracepoints::Tracepoints;
use perf_data::tracepoint::value::FieldValue;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::Path;

/// The minimum numbers of compared recordings, samples and values, close to the actual numbers.
const MINIMUM: [usize; 3] = [28, 20_000, 45_000];

#[test]
fn tracepoint_fields_match_perf() {
    if !files::has_corpus("tracepoints") {
        return;
    }
    let (mut sums, mut skipped, mut differing) = ([0; 3], BTreeMap::new(), Vec::new());
    for recording in files::corpus() {
        match compare_recording(&recording) {
            Ok(Ok((samples, values))) => sums.iter_mut().zip([1, samples, values]).for_each(|(sum, more)| *sum += more),
            Ok(Err(what)) => differing.push(format!("{}: {what}", recording.name)),
            Err(reason) => *skipped.entry(reason).or_insert(0) += 1,
        }
    }
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    let [recordings, samples, values] = sums;
    writeln!(out, "tracepoints: {values} values of {samples} samples in {recordings} recordings match perf").unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(differing.is_empty(), "{} recordings differ:\n{}", differing.len(), differing.join("\n"));
    assert!(
        sums.iter().zip(MINIMUM).all(|(&sum, enough)| sum >= enough),
        "compared only {sums:?}, expected {MINIMUM:?}"
    );
}

/// The members that perf writes for every sample.
const COMMON_MEMBERS: [&str; 6] = ["timestamp", "pid", "tid", "comm", "cpu", "callchain"];

/// The fields and values of a sample, if it is a tracepoint's.
type SampleFields = Option<Vec<(String, ComparedValue)>>;

/// A field's value.
#[derive(Debug)]
enum ComparedValue {
    Number(u64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
}

/// Compares a recording with perf's JSON. Returns the numbers of samples and values; the outer error is the reason to skip it.
fn compare_recording(recording: &Recording) -> Result<Result<(usize, usize), String>, &'static str> {
    let golden = golden_json(recording)?;
    let ours = read_samples(recording).map_err(|_| "unreadable")?;
    if ours.iter().all(Option::is_none) {
        return Err("no samples of tracepoints");
    }
    // Of duplicate members, such as `pid`, the last is the tracepoint's.
    let theirs: Json = serde_json::from_slice(&golden).map_err(|_| "perf's JSON is truncated")?;
    let theirs = theirs["samples"].as_array().expect("the JSON of perf should have samples");
    if theirs.is_empty() {
        return Err("perf writes no samples");
    }
    let has_fields = |sample: &Json| {
        sample.as_object().is_some_and(|read_samples| read_samples.keys().any(|key| !COMMON_MEMBERS.contains(&&**key)))
    };
    if !theirs.iter().any(has_fields) {
        return Err("this perf version writes no tracepoint fields");
    }
    Ok(compare(&ours, theirs))
}

fn compare(ours: &[SampleFields], theirs: &[Json]) -> Result<(usize, usize), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} samples, perf has {}", ours.len(), theirs.len()));
    }
    let (mut samples, mut values) = (0, 0);
    for (fields, theirs) in ours.iter().zip(theirs) {
        let Some(fields) = fields else { continue };
        samples += 1;
        for (name, value) in fields {
            let text = theirs[name].as_str().ok_or_else(|| format!("{name}: {theirs}"))?;
            if !represents(text, value) {
                return Err(format!("{name}: {value:x?}, perf has {text:?}"));
            }
            values += 1;
        }
    }
    Ok((samples, values))
}

/// Whether perf's text represents the value. perf writes numbers in decimal or hexadecimal, with or without `0x`, and non-ASCII
/// text as bytes.
fn represents(text: &str, value: &ComparedValue) -> bool {
    let bytes = || -> Option<Vec<u8>> {
        let inside = text.strip_prefix("ARRAY[")?.strip_suffix(']')?;
        inside.split(", ").map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
    };
    match value {
        ComparedValue::Number(0) if text == "(nil)" => true,
        ComparedValue::Number(number) => {
            let hexadecimal = u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16);
            let decimal = text.parse().or_else(|_| text.parse().map(|signed: i64| signed as u64));
            decimal.as_ref() == Ok(number) || hexadecimal.as_ref() == Ok(number)
        }
        ComparedValue::Text(ours) => text.as_bytes() == ours || bytes().is_some_and(|bytes| until_nul(&bytes) == ours),
        ComparedValue::Bytes(ours) => bytes().as_ref() == Some(ours),
    }
}

/// Decodes the samples of a recording, in time order.
fn read_samples(recording: &Recording) -> perfconv::Result<Vec<SampleFields>> {
    let input = || Input::Path(recording.path.clone());
    let (meta, _) = Source::open(input(), ReadOptions::default())?.run(&mut Ignore)?;
    let tracing_data = meta.features.get(&FeatureId::TRACING_DATA);
    let tracepoints = tracing_data.map(|data| Tracepoints::read(data)).unwrap_or_default();
    let samples = Samples { tracepoints, list: Vec::new() };
    let mut order = Order::new(samples, ReadOptions::default());
    Source::open(input(), ReadOptions::default())?.run(&mut order)?;
    Ok(order.into_inner().list)
}

/// Ignores records; only the metadata is needed.
struct Ignore;

impl Sink for Ignore {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        Ok(())
    }
}

struct Samples {
    tracepoints: Tracepoints,
    list: Vec<SampleFields>,
}

impl Sink for Samples {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if raw.header().kind != RecordType::SAMPLE {
            return Ok(());
        }
        let fields = meta.events.find(raw).and_then(|(_, event)| {
            let view = SampleView::read(raw.body(), &event.layout, raw.endian()).ok()?;
            let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT;
            let tracepoint = self.tracepoints.get(event.attr.config).filter(|_| is_tracepoint)?;
            Some(
                tracepoint
                    .values(view.raw?)
                    .map(|(field, value)| (field.name.clone(), compared_value(&value)))
                    .collect(),
            )
        });
        self.list.push(fields);
        Ok(())
    }
}

fn compared_value(value: &FieldValue<'_>) -> ComparedValue {
    match value {
        FieldValue::Signed(number) => ComparedValue::Number(*number as u64),
        FieldValue::Unsigned(number) | FieldValue::Pointer(number) => ComparedValue::Number(*number),
        FieldValue::Text(text) => ComparedValue::Text(text.to_vec()),
        FieldValue::Numbers(numbers) => ComparedValue::Bytes(numbers.bytes.to_vec()),
        FieldValue::EventHeader(fields) => ComparedValue::Text(fields.to_string().into_bytes()),
        FieldValue::Bytes(bytes) => ComparedValue::Bytes(bytes.to_vec()),
    }
}

/// Runs `perf script` and `perf report`. Returns the number of samples printed, and the messages.
fn run_perf(path: &Path) -> Option<(usize, BTreeSet<String>)> {
    let perf = |args: &[&str]| {
        let mut perf = with_time_limit("perf");
        perf.args(args).args(["--force", "-i"]).arg(path).env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
        run_other(&mut perf)
    };
    let script = perf(&["script", "-G"]);
    let report = perf(&["report", "--stdio"]);
    // Ignore messages about kernel symbols, which depend on this machine.
    let is_relevant = |line: &&str| !line.is_empty() && !line.contains("kallsyms or vmlinux");
    let messages = script.stderr.lines().chain(report.stderr.lines()).filter(is_relevant).map(str::to_owned).collect();
    let samples = String::from_utf8_lossy(&script.stdout).lines().filter(|line| !line.is_empty()).count();
    (script.status == 0 && report.status == 0).then_some((samples, messages))
}

/// Anonymizes a recording with tracepoints, and compares the number of samples that perf prints.
fn compare_anonymized(recording: &Recording) -> Result<Result<usize, String>, &'static str> {
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let meta = source.and_then(|source| source.run(&mut Ignore)).map_err(|_| "unreadable")?.0;
    if !meta.features.contains_key(&FeatureId::TRACING_DATA) {
        return Err("no tracepoints");
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let rewrite_to = |name: &str, options: &[&str]| {
        let path = dir.path().join(name);
        let mut rewrite = perfconv();
        rewrite
            .arg("rewrite")
            .arg(&recording.path)
            .args(["--perf-version", "6.1", "-q", "-o"])
            .arg(&path)
            .args(options);
        let rewrite = run(&mut rewrite);
        if rewrite.status == 0 { Ok(path) } else { Err(rewrite.stderr) }
    };
    let plain = rewrite_to("plain.data", &[]).map_err(|_| "cannot be converted for perf 6.1")?;
    let (before, warnings) = run_perf(&plain).filter(|(samples, _)| *samples > 0).ok_or("perf prints no samples")?;
    let anonymous = match rewrite_to("anonymous.data", &["--anonymize"]) {
        Ok(path) => path,
        Err(what) => return Ok(Err(what)),
    };
    let checked = run(perfconv().arg("check").arg(&anonymous));
    if String::from_utf8_lossy(&checked.stdout).contains("format of") {
        return Ok(Err(String::from_utf8_lossy(&checked.stdout).into_owned()));
    }
    Ok(match run_perf(&anonymous) {
        Some((samples, messages)) if samples == before && messages.is_subset(&warnings) => Ok(samples),
        other => Err(format!("{before} samples with {warnings:?}, anonymized {other:?}")),
    })
}

#[test]
fn perf_reads_anonymized_tracepoints_without_complaint() {
    if !has_program("perf") {
        return;
    }
    let recordings = files::recordings();
    let (mut compared, mut samples, mut skipped, mut failures) = (0, 0, BTreeMap::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(for_each(&recordings, compare_anonymized)) {
        match result {
            Ok(Ok(count)) => (compared, samples) = (compared + 1, samples + count),
            Ok(Err(what)) => failures.push(format!("{}: {what}", recording.name)),
            Err(reason) => *skipped.entry(reason).or_insert(0) += 1,
        }
    }
    let mut out = io::stderr().lock();
    writeln!(out, "anonymized tracepoints: perf prints {samples} samples of {compared} recordings").unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    let enough = if files::has_corpus("anonymized tracepoints") { 50 } else { 3 };
    assert!(compared >= enough, "compared only {compared} recordings, expected {enough}");
}
