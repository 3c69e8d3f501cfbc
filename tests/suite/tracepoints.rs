//! What tracepoints' samples hold, as `perf data convert --to-json` tells it of the corpus' recordings.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};

use perfconv::abi::attr::AttrType;
use perfconv::abi::feature::FeatureId;
use perfconv::abi::record::RecordType;
use perfconv::abi::sample_view::SampleView;
use perfconv::abi::text::until_nul;
use perfconv::container::read::ReadOptions;
use perfconv::container::read::input::Input;
use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::order::Order;
use perfconv::stream::raw::Raw;
use perfconv::stream::source::Source;
use perfconv::tracing::tracepoints::Tracepoints;
use perfconv::tracing::value::Value;
use serde_json::Value as Json;

use super::files::{self, Recording};

/// As much is to be compared: recordings, samples, values. Little less than there is.
const ENOUGH: [usize; 3] = [28, 20_000, 45_000];

#[test]
fn tracepoints_hold_what_perf_tells() {
    if !files::has_corpus("tracepoints") {
        return;
    }
    let (mut sums, mut skipped, mut differing) = ([0; 3], BTreeMap::new(), Vec::new());
    for recording in files::corpus() {
        match judge(&recording) {
            Ok(Ok((samples, values))) => sums.iter_mut().zip([1, samples, values]).for_each(|(sum, more)| *sum += more),
            Ok(Err(what)) => differing.push(format!("{}: {what}", recording.name)),
            Err(reason) => *skipped.entry(reason).or_insert(0) += 1,
        }
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr().lock();
    let [recordings, samples, values] = sums;
    writeln!(out, "tracepoints: {values} values of {samples} samples in {recordings} recordings are perf's").unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(differing.is_empty(), "{} recordings differ:\n{}", differing.len(), differing.join("\n"));
    assert!(sums.iter().zip(ENOUGH).all(|(&sum, enough)| sum >= enough), "only {sums:?} were compared, not {ENOUGH:?}");
}

/// What perf tells of every sample.
const OF_ALL: [&str; 6] = ["timestamp", "pid", "tid", "comm", "cpu", "callchain"];

/// A sample's fields and values, where it is a tracepoint's.
type Told = Option<Vec<(String, Plain)>>;

/// A value, owned.
#[derive(Debug)]
enum Plain {
    Number(u64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
}

/// How many samples and values of a recording are perf's, or what is not; the reason where there is nothing to compare.
fn judge(recording: &Recording) -> Result<Result<(usize, usize), String>, &'static str> {
    let (folder, name) =
        recording.name.strip_prefix("own/").and_then(|path| path.split_once('/')).ok_or("not our own")?;
    let own = recording.path.ancestors().nth(1 + name.split('/').count()).expect("the path ends with the name");
    let golden = own.join("golden").join(folder).join(format!("{}.json.zst", name.replace('/', "__")));
    let golden = fs::File::open(golden).map_err(|_| "perf tells no JSON of it")?;
    let golden = zstd::decode_all(golden).expect("goldens can be decompressed");
    let ours = told(recording).map_err(|_| "it cannot be read")?;
    if ours.iter().all(Option::is_none) {
        return Err("it has no samples of tracepoints");
    }
    // Of equal names, such as `pid`, the later is the tracepoint's.
    let theirs: Json = serde_json::from_slice(&golden).map_err(|_| "perf's JSON is cut short")?;
    let theirs = theirs["samples"].as_array().expect("perf's JSON has samples");
    if theirs.is_empty() {
        return Err("perf tells no samples");
    }
    let is_told =
        |sample: &Json| sample.as_object().is_some_and(|told| told.keys().any(|key| !OF_ALL.contains(&&**key)));
    if !theirs.iter().any(is_told) {
        return Err("this perf tells no tracepoints' fields");
    }
    Ok(compared(&ours, theirs))
}

fn compared(ours: &[Told], theirs: &[Json]) -> Result<(usize, usize), String> {
    if ours.len() != theirs.len() {
        return Err(format!("{} samples, perf tells {}", ours.len(), theirs.len()));
    }
    let (mut samples, mut values) = (0, 0);
    for (fields, theirs) in ours.iter().zip(theirs) {
        let Some(fields) = fields else { continue };
        samples += 1;
        for (name, value) in fields {
            let text = theirs[name].as_str().ok_or_else(|| format!("{name}: {theirs}"))?;
            if !tells(text, value) {
                return Err(format!("{name}: {value:x?}, perf tells {text:?}"));
            }
            values += 1;
        }
    }
    Ok((samples, values))
}

/// Whether perf's text tells the value. It writes numbers in decimal, hexadecimal with `0x` or without, and text that is not
/// ASCII as bytes.
fn tells(text: &str, value: &Plain) -> bool {
    let bytes = || -> Option<Vec<u8>> {
        let inside = text.strip_prefix("ARRAY[")?.strip_suffix(']')?;
        inside.split(", ").map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
    };
    match value {
        Plain::Number(0) if text == "(nil)" => true,
        Plain::Number(number) => {
            let hexadecimal = u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16);
            let decimal = text.parse().or_else(|_| text.parse().map(|signed: i64| signed as u64));
            decimal.as_ref() == Ok(number) || hexadecimal.as_ref() == Ok(number)
        }
        Plain::Text(ours) => text.as_bytes() == ours || bytes().is_some_and(|bytes| until_nul(&bytes) == ours),
        Plain::Bytes(ours) => bytes().as_ref() == Some(ours),
    }
}

/// The samples of a recording in the order of their times.
fn told(recording: &Recording) -> perfconv::Result<Vec<Told>> {
    let input = || Input::Path(recording.path.clone());
    let (meta, _) = Source::open(input(), ReadOptions::default())?.run(&mut Nothing)?;
    let tracing_data = meta.features.get(&FeatureId::TRACING_DATA);
    let tracepoints = tracing_data.map(|data| Tracepoints::read(data)).unwrap_or_default();
    let samples = Samples { tracepoints, list: Vec::new() };
    let mut order = Order::new(samples, ReadOptions::default());
    Source::open(input(), ReadOptions::default())?.run(&mut order)?;
    Ok(order.into_inner().list)
}

/// Takes no record: the recording's features come with its end.
struct Nothing;

impl Sink for Nothing {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        Ok(())
    }
}

struct Samples {
    tracepoints: Tracepoints,
    list: Vec<Told>,
}

impl Sink for Samples {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
        if raw.header.kind != RecordType::SAMPLE {
            return Ok(());
        }
        let fields = meta.events.of(raw).and_then(|(_, event)| {
            let view = SampleView::read(raw.body(), &event.layout, raw.endian).ok()?;
            let is_tracepoint = event.attr.kind == AttrType::TRACEPOINT;
            let tracepoint = self.tracepoints.get(event.attr.config).filter(|_| is_tracepoint)?;
            Some(tracepoint.values(view.raw?).map(|(field, value)| (field.name.clone(), of(&value))).collect())
        });
        self.list.push(fields);
        Ok(())
    }
}

fn of(value: &Value<'_>) -> Plain {
    match value {
        Value::Signed(number) => Plain::Number(*number as u64),
        Value::Unsigned(number) | Value::Pointer(number) => Plain::Number(*number),
        Value::Text(text) => Plain::Text(text.to_vec()),
        Value::Numbers(numbers) => Plain::Bytes(numbers.bytes.to_vec()),
        Value::Bytes(bytes) => Plain::Bytes(bytes.to_vec()),
    }
}
