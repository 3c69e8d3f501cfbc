//! Samples of tracepoints: their fields, as `perf data convert --to-json` shows them of the corpus' recordings, and what perf
//! says of recordings that are anonymized.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
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
use perfconv::tracepoint::tracepoints::Tracepoints;
use perfconv::tracepoint::value::Value;
use serde_json::Value as Json;

use super::files::{self, Recording};
use super::program::{for_each, perfconv, run, run_other, with_time_limit};

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
        if raw.header().kind != RecordType::SAMPLE {
            return Ok(());
        }
        let fields = meta.events.of(raw).and_then(|(_, event)| {
            let view = SampleView::read(raw.body(), &event.layout, raw.endian()).ok()?;
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

/// The samples that `perf script` prints, a line each, and what `perf script` and `perf report` complain of.
fn shown_by_perf(path: &Path) -> Option<(usize, BTreeSet<String>)> {
    let perf = |args: &[&str]| {
        let mut perf = with_time_limit("perf");
        perf.args(args).args(["--force", "-i"]).arg(path).env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS");
        run_other(&mut perf)
    };
    let script = perf(&["script", "-G"]);
    let report = perf(&["report", "--stdio"]);
    // Whether the kernel's symbols are here is not the recording's concern.
    let is_complaint = |line: &&str| !line.is_empty() && !line.contains("kallsyms or vmlinux");
    let complaints =
        script.stderr.lines().chain(report.stderr.lines()).filter(is_complaint).map(str::to_owned).collect();
    let samples = String::from_utf8_lossy(&script.stdout).lines().filter(|line| !line.is_empty()).count();
    (script.status == 0 && report.status == 0).then_some((samples, complaints))
}

/// How many samples perf shows of a recording with tracepoints once it is anonymized: as many as before.
fn judge_anonymized(recording: &Recording) -> Result<Result<usize, String>, &'static str> {
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let meta = source.and_then(|source| source.run(&mut Nothing)).map_err(|_| "it cannot be read")?.0;
    if !meta.features.contains_key(&FeatureId::TRACING_DATA) {
        return Err("it has no tracepoints");
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    let rewritten = |name: &str, options: &[&str]| {
        let path = folder.path().join(name);
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
    let plain = rewritten("plain.data", &[]).map_err(|_| "there is no form of it for perf 6.1")?;
    let (before, known) = shown_by_perf(&plain).filter(|(samples, _)| *samples > 0).ok_or("perf shows no samples")?;
    let anonymous = match rewritten("anonymous.data", &["--anonymize"]) {
        Ok(path) => path,
        Err(what) => return Ok(Err(what)),
    };
    let checked = run(perfconv().arg("check").arg(&anonymous));
    if String::from_utf8_lossy(&checked.stdout).contains("format of") {
        return Ok(Err(String::from_utf8_lossy(&checked.stdout).into_owned()));
    }
    Ok(match shown_by_perf(&anonymous) {
        Some((samples, complaints)) if samples == before && complaints.is_subset(&known) => Ok(samples),
        other => Err(format!("{before} samples and {known:?}, of the anonymized recording {other:?}")),
    })
}

#[test]
fn perf_reads_anonymized_tracepoints_without_complaint() {
    if run_other(&mut with_time_limit("perf")).status == 127 {
        return;
    }
    let recordings = files::recordings();
    let (mut compared, mut samples, mut skipped, mut wrong) = (0, 0, BTreeMap::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(for_each(&recordings, judge_anonymized)) {
        match result {
            Ok(Ok(shown)) => (compared, samples) = (compared + 1, samples + shown),
            Ok(Err(what)) => wrong.push(format!("{}: {what}", recording.name)),
            Err(reason) => *skipped.entry(reason).or_insert(0) += 1,
        }
    }
    let mut out = io::stderr().lock();
    writeln!(out, "anonymized tracepoints: perf shows {samples} samples of {compared} recordings").unwrap();
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} skipped: {reason}").unwrap());
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let enough = if files::has_corpus("anonymized tracepoints") { 50 } else { 3 };
    assert!(compared >= enough, "only {compared} of {enough} recordings were compared");
}

#[test]
fn anonymized_payloads_have_the_common_fields_alone() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("anonymous.data");
    let input = files::fixture("tracepoints.data");
    run(perfconv().arg("rewrite").arg(&input).args(["--anonymize", "--replace", "pids", "-q", "-o"]).arg(&path));
    let lines = run(perfconv().arg(&path).args(["-t", "jsonl", "-q", "-o", "-"])).stdout;
    let mut payloads = 0;
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        let record: Json = serde_json::from_slice(line).expect("a line of JSON");
        let Some(raw) = record["body"]["raw"]["data"].as_str() else { continue };
        let raw = STANDARD.decode(raw).expect("base64");
        let tid = record["body"]["task"]["tid"].as_u64().expect("a thread id") as u32;
        assert_eq!(
            (raw.len(), &raw[2..4], &raw[4..8], &raw[8..]),
            (12, &[0; 2][..], &tid.to_le_bytes()[..], &[0; 4][..])
        );
        payloads += 1;
    }
    assert_eq!(payloads, 23);
}
