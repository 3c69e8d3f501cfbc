//! `-t perf-json --exact` is what `perf data convert --to-json` writes; without `--exact` there is more of each sample.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use perfconv::abi::attr_flags::AttrFlags;
use perfconv::container::read::input::Input;
use perfconv::container::read::{Container, ReadOptions};
use perfconv::stream::events::Event;
use perfconv::stream::source::Source;
use serde_json::Value;

use super::files::{self, Recording, fixture};
use super::program::{self, perfconv, run};

/// As many recordings, headers, samples and fields of tracepoints are to be compared. Little less than there are.
const ENOUGH: [usize; 4] = [300, 285, 90_000, 43_000];

/// What the recordings have in common with perf's JSON of them, and in which known ways they differ.
#[derive(Default)]
struct Compared {
    headers: usize,
    samples: usize,
    fields: usize,
    known: BTreeMap<&'static str, usize>,
    /// Whether perf tells fields of tracepoints.
    has_fields: bool,
}

#[test]
fn it_is_what_perf_writes() {
    if !files::has_corpus("perf-json") {
        return;
    }
    let recordings: Vec<Recording> = files::corpus();
    let results = program::for_each(&recordings, judge);
    let (mut sums, mut known, mut skipped, mut failures) = ([0; 4], BTreeMap::new(), BTreeMap::new(), Vec::new());
    for (recording, result) in recordings.iter().zip(results) {
        match result {
            Ok(Ok(compared)) => {
                let more = [1, compared.headers, compared.samples, compared.fields];
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
                compared.known.into_iter().for_each(|(kind, count)| *known.entry(kind).or_insert(0) += count);
            }
            Ok(Err(what)) => failures.push(format!("{}: {what}", recording.name)),
            Err(reason) => *skipped.entry(reason).or_insert(0) += 1,
        }
    }
    // Not through the macros, whose output the test harness hides when the test passes.
    let mut out = io::stderr().lock();
    let [all, headers, samples, fields] = sums;
    writeln!(out, "perf-json: {all} recordings, {headers} headers, {samples} samples as perf tells them").unwrap();
    writeln!(out, "perf-json: {fields} fields of tracepoints").unwrap();
    known.iter().for_each(|(kind, count)| writeln!(out, "{count:6} fields: known difference: {kind}").unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} recordings skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} recordings differ:\n{}", failures.len(), failures.join("\n"));
    assert!(sums.iter().zip(ENOUGH).all(|(&sum, enough)| sum >= enough), "only {sums:?} were compared, not {ENOUGH:?}");
}

/// How a recording compares with perf's JSON of it; the reason where there is nothing to compare.
fn judge(recording: &Recording) -> Result<Result<Compared, String>, &'static str> {
    let (folder, name) =
        recording.name.strip_prefix("own/").and_then(|path| path.split_once('/')).ok_or("not our own")?;
    let own = recording.path.ancestors().nth(1 + name.split('/').count()).expect("the path ends with the name");
    let golden = own.join("golden").join(folder).join(format!("{}.json.zst", name.replace('/', "__")));
    let golden = std::fs::File::open(golden).map_err(|_| "perf tells no JSON of it")?;
    let golden = zstd::decode_all(golden).expect("goldens can be decompressed");
    if golden.is_empty() {
        return Err("perf fails to tell JSON of it");
    }
    let theirs = String::from_utf8_lossy(&golden);
    let theirs: Value = serde_json::from_str(&theirs).map_err(|_| "perf's JSON is cut short")?;
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let Ok(source) = source else { return Err("there is not a single record") };
    let is_timed = |event: &Event| event.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
    let is_timed = source.meta().container == Container::Pipe || source.meta().events.list().iter().any(is_timed);
    if theirs["headers"]["data-size"] == 0 && theirs["headers"]["data-offset"] != 0 {
        return Err("the recorder was killed: perf finds no record");
    }
    if !is_timed && theirs["samples"] != serde_json::json!([]) {
        return Err("without sample_id_all perf does not put samples in order");
    }
    Ok(converted(&recording.path, &["--exact"]).and_then(|ours| compared(ours, theirs)))
}

fn converted(path: &Path, options: &[&str]) -> Result<Value, String> {
    let run = run(perfconv().arg(path).args(["-t", "perf-json", "-o", "-"]).args(options));
    if run.status != 0 {
        return Err(run.stderr);
    }
    serde_json::from_slice(&run.stdout).map_err(|error| error.to_string())
}

/// What perf tells of every sample.
const OF_ALL: [&str; 6] = ["timestamp", "pid", "tid", "comm", "cpu", "callchain"];

fn compared(mut ours: Value, mut theirs: Value) -> Result<Compared, String> {
    for headers in [&mut ours["headers"], &mut theirs["headers"]] {
        // The time of the file, which is not that of its copy.
        headers
            .as_object_mut()
            .ok_or("there are no headers")?
            .remove("captured-on")
            .ok_or("there is no captured-on")?;
    }
    // Where the recorder did not finish it, and of a pipe, perf writes what it does not know yet.
    let is_header = theirs["headers"]["data-size"] != 0;
    if ours["linux-perf-json-version"] != 1 || is_header && ours["headers"] != theirs["headers"] {
        return Err(format!("headers: {} instead of {}", ours["headers"], theirs["headers"]));
    }
    let list = |of: &Value| of["samples"].as_array().cloned().ok_or("there are no samples");
    let (ours, theirs) = (list(&ours)?, list(&theirs)?);
    if ours.len() != theirs.len() {
        return Err(format!("{} samples, perf tells {}", ours.len(), theirs.len()));
    }
    let has_fields = theirs
        .iter()
        .any(|sample| sample.as_object().is_some_and(|sample| sample.keys().any(|key| !OF_ALL.contains(&&**key))));
    let (headers, samples) = (is_header.into(), ours.len());
    let mut compared = Compared { headers, samples, has_fields, ..Compared::default() };
    for (nr, (ours, mut theirs)) in ours.into_iter().zip(theirs).enumerate() {
        for frame in theirs["callchain"].as_array_mut().into_iter().flatten() {
            // There are no symbols yet, and perf tells the file where it finds a symbol.
            frame.as_object_mut().into_iter().for_each(|frame| frame.retain(|key, _| key == "ip"));
        }
        sample(&ours, &theirs, &mut compared).map_err(|what| format!("sample {nr}: {what}"))?;
    }
    Ok(compared)
}

fn sample(ours: &Value, theirs: &Value, compared: &mut Compared) -> Result<(), String> {
    let (ours, theirs) = (ours.as_object().ok_or("no object")?, theirs.as_object().ok_or("no object")?);
    if let Some(missing) = theirs.keys().find(|&key| !ours.contains_key(key)) {
        return Err(format!("there is no {missing}"));
    }
    let (has_own_fields, tid) = (ours.keys().any(|key| !OF_ALL.contains(&&**key)), &theirs["tid"]);
    for (key, ours) in ours {
        let Some(theirs) = theirs.get(key) else {
            if compared.has_fields || OF_ALL.contains(&&**key) {
                return Err(format!("there is {key}: {ours}"));
            }
            *compared.known.entry("a perf without libtraceevent tells none").or_default() += 1;
            continue;
        };
        if ours == theirs {
            compared.fields += usize::from(!OF_ALL.contains(&&**key));
            continue;
        }
        let is_overridden = !compared.has_fields && has_own_fields && ours.is_string();
        let kind = match (ours, theirs) {
            _ if is_overridden => Some("a perf without libtraceevent tells none"),
            (Value::String(ours), Value::String(theirs)) if key == "comm" => {
                comm_difference(ours, theirs, tid).or_else(|| difference(ours, theirs))
            }
            (Value::String(ours), Value::String(theirs)) => difference(ours, theirs),
            (Value::Array(ours), Value::Array(theirs))
                if theirs.len() == ours.len() + 1 && theirs.starts_with(ours) =>
            {
                Some("perf takes the cookie of user frames that never came for an address")
            }
            _ => None,
        };
        let kind = kind.ok_or_else(|| format!("{key}: {ours} instead of {theirs}"))?;
        *compared.known.entry(kind).or_default() += 1;
        compared.fields += usize::from(!OF_ALL.contains(&&**key));
    }
    Ok(())
}

/// In which known way two names of a thread tell the same.
fn comm_difference(ours: &str, theirs: &str, tid: &Value) -> Option<&'static str> {
    if theirs == format!(":{tid}") {
        return Some("perf forgets the name of a thread that has ended");
    }
    // `\uffffffc3`: a byte as a number of 32 bits with its sign.
    let bytes = theirs.split('\u{ffff}').enumerate().flat_map(|(at, part)| {
        let code = (at > 0).then(|| part.strip_prefix("ff").and_then(|part| part.get(..2))).flatten();
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let text = if byte.is_some() { &part[4..] } else { part };
        byte.into_iter().chain(text.bytes()).collect::<Vec<_>>()
    });
    let text = String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned();
    (text == ours).then_some("perf escapes bytes beyond ASCII in a way that no reader takes for text")
}

/// In which known way two texts of a field tell the same.
fn difference(ours: &str, theirs: &str) -> Option<&'static str> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().or_else(|_| text.parse().map(|signed: i64| signed as u64)).ok(),
    };
    let hexadecimal = |text: &str| u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok();
    let ours_number = number(ours);
    if ours_number.is_some() && (number(theirs) == ours_number || hexadecimal(theirs) == ours_number) {
        return Some("perf writes the number as the tracepoint's print_fmt has it");
    }
    if ours_number == Some(0) && theirs == "(nil)" {
        return Some("perf writes no address as (nil)");
    }
    let bytes: Option<Vec<u8>> = theirs.strip_prefix("ARRAY[").and_then(|inside| {
        inside.strip_suffix(']')?.split(", ").map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
    });
    let text = bytes?.split(|&byte| byte == 0).next().map(|text| String::from_utf8_lossy(text).into_owned());
    (text.as_deref() == Some(ours)).then_some("perf writes text that it does not take for text as bytes")
}

#[test]
fn what_perf_leaves_out_is_there() {
    let told = converted(&fixture("callgraph.data"), &[]).unwrap();
    let sample = &told["samples"][0];
    assert_eq!(sample["event"], "cpu-clock");
    assert_eq!(sample["period"], 250_000);
    assert_eq!(sample["cpumode"], "USER");
    let frame = &sample["callchain"][0];
    assert_eq!(frame["dso"], "ld-linux-x86-64.so.2");
    assert_eq!(frame["build_id"], "7ebc65e52f2bbea498b4040fa92f7238377aaba9");
    let exact = converted(&fixture("callgraph.data"), &["--exact"]).unwrap();
    assert_eq!(exact["samples"][0].as_object().unwrap().len(), 5);
    assert_eq!(exact["samples"][0]["callchain"][0].as_object().unwrap().len(), 1);
    assert_eq!(exact["samples"].as_array().unwrap().len(), 377);
    let weight = converted(&fixture("weight.data"), &[]).unwrap();
    assert!(!weight["samples"][0]["weight"].is_null());
    // A field of a tracepoint that is called as one of the sample's own.
    let fork = converted(&fixture("tracepoints.data"), &[]).unwrap();
    let samples = fork["samples"].as_array().unwrap();
    assert!(samples.iter().any(|sample| sample["_pid"].is_string() && sample["pid"].is_number()));
    assert!(samples.iter().all(|sample| sample["pid"].is_number()));
}

#[test]
fn pipes_and_recordings_without_samples_are_told_too() {
    let pipe = converted(&fixture("pipe-tracepoints.data"), &["--exact"]).unwrap();
    assert_eq!(pipe["headers"]["data-offset"], 0);
    assert!(pipe["samples"].as_array().unwrap().iter().any(|sample| sample["next_comm"].is_string()));
    let forks = run(perfconv().arg(fixture("forks.data")).args(["-t", "perf-json", "--exact", "-o", "-"]));
    assert_eq!(forks.ledger().unwrap().dropped, 0);
    let other = run(perfconv().arg(fixture("plain.data")).args(["-t", "pprof", "--exact", "-o", "-"]));
    assert_eq!((other.status, &*other.stderr), (2, "perfconv: --exact is for perf-json, and not for pprof\n"));
}
