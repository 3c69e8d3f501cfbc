//! `-t perf-json --exact` matches `perf data convert --to-json`.

use crate::common::files::{self, Recording};
use crate::common::perf_json::convert;
use crate::common::program::{self};
use perf_data::abi::attr_flags::AttrFlags;
use perf_data::container::read::input::Input;
use perf_data::container::read::{Container, ReadOptions};
use perf_data::stream::events::Event;
use perf_data::stream::source::Source;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The minimum numbers of compared recordings, headers, samples and tracepoint fields, close to the actual numbers.
const MINIMUM: [usize; 4] = [300, 285, 90_000, 43_000];

/// The numbers of equal parts, and the known differences.
#[derive(Default)]
struct Comparison {
    headers: usize,
    samples: usize,
    fields: usize,
    known: BTreeMap<&'static str, usize>,
    /// Whether perf's JSON has tracepoint fields.
    has_fields: bool,
}

#[test]
fn exact_output_matches_perf() {
    if !files::has_corpus("perf-json") {
        return;
    }
    let recordings: Vec<Recording> = files::corpus();
    let results = program::for_each(&recordings, compare_recording);
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
    // Not with the print macros, whose output the test harness captures.
    let mut out = io::stderr().lock();
    let [all, headers, samples, fields] = sums;
    writeln!(out, "perf-json: {all} recordings, {headers} headers, {samples} samples match perf").unwrap();
    writeln!(out, "perf-json: {fields} fields of tracepoints").unwrap();
    known.iter().for_each(|(kind, count)| writeln!(out, "{count:6} fields: known difference: {kind}").unwrap());
    skipped.iter().for_each(|(reason, count)| writeln!(out, "{count:6} recordings skipped: {reason}").unwrap());
    assert!(failures.is_empty(), "{} recordings differ:\n{}", failures.len(), failures.join("\n"));
    assert!(
        sums.iter().zip(MINIMUM).all(|(&sum, enough)| sum >= enough),
        "compared only {sums:?}, expected {MINIMUM:?}"
    );
}

/// The JSON that perf writes of a recording of the corpus, or the reason why there is none.
pub(super) fn golden_json(recording: &Recording) -> Result<Vec<u8>, &'static str> {
    let (machine, name) = recording
        .name
        .strip_prefix("own/")
        .and_then(|path| path.split_once('/'))
        .ok_or("not recorded for the corpus")?;
    let own = recording.path.ancestors().nth(1 + name.split('/').count()).expect("the path should end with the name");
    let golden = own.join("golden").join(machine).join(format!("{}.json.zst", name.replace('/', "__")));
    let golden = std::fs::File::open(golden).map_err(|_| "no golden")?;
    Ok(zstd::decode_all(golden).expect("goldens should decompress"))
}

/// Compares a recording with perf's JSON; the outer error is the reason to skip it.
fn compare_recording(recording: &Recording) -> Result<Result<Comparison, String>, &'static str> {
    let golden = golden_json(recording)?;
    if golden.is_empty() {
        return Err("perf fails to convert it");
    }
    let theirs = String::from_utf8_lossy(&golden);
    let theirs: Value = serde_json::from_str(&theirs).map_err(|_| "perf's JSON is truncated")?;
    let source = Source::open(Input::Path(recording.path.clone()), ReadOptions::default());
    let Ok(source) = source else { return Err("no readable records") };
    let is_timed = |event: &Event| event.attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
    let is_timed = source.meta().container == Container::Pipe || source.meta().events.list().iter().any(is_timed);
    if theirs["headers"]["data-size"] == 0 && theirs["headers"]["data-offset"] != 0 {
        return Err("interrupted recording: perf finds no records");
    }
    if !is_timed && theirs["samples"] != serde_json::json!([]) {
        return Err("without sample_id_all, perf does not sort samples");
    }
    Ok(convert(&recording.path, &["--exact", "--symbols", "no"]).and_then(|ours| compare(ours, theirs)))
}

/// The members that perf writes for every sample.
const COMMON_MEMBERS: [&str; 6] = ["timestamp", "pid", "tid", "comm", "cpu", "callchain"];

fn compare(mut ours: Value, mut theirs: Value) -> Result<Comparison, String> {
    for headers in [&mut ours["headers"], &mut theirs["headers"]] {
        // The modification time of the file differs from that of its copy.
        headers.as_object_mut().ok_or("no headers")?.remove("captured-on").ok_or("no captured-on")?;
    }
    // For pipes and interrupted recordings, perf writes incomplete values.
    let is_header = theirs["headers"]["data-size"] != 0;
    if ours["linux-perf-json-version"] != 1 || is_header && ours["headers"] != theirs["headers"] {
        return Err(format!("headers: {} instead of {}", ours["headers"], theirs["headers"]));
    }
    let list = |of: &Value| of["samples"].as_array().cloned().ok_or("no samples");
    let (ours, theirs) = (list(&ours)?, list(&theirs)?);
    if ours.len() != theirs.len() {
        return Err(format!("{} samples, perf has {}", ours.len(), theirs.len()));
    }
    let has_fields = theirs.iter().any(|sample| {
        sample.as_object().is_some_and(|sample| sample.keys().any(|key| !COMMON_MEMBERS.contains(&&**key)))
    });
    let (headers, samples) = (is_header.into(), ours.len());
    let mut compared = Comparison { headers, samples, has_fields, ..Comparison::default() };
    for (nr, (ours, mut theirs)) in ours.into_iter().zip(theirs).enumerate() {
        for frame in theirs["callchain"].as_array_mut().into_iter().flatten() {
            // perfconv resolves no symbols here, and perf writes the file only where it finds a symbol.
            frame.as_object_mut().into_iter().for_each(|frame| frame.retain(|key, _| key == "ip"));
        }
        sample(&ours, &theirs, &mut compared).map_err(|what| format!("sample {nr}: {what}"))?;
    }
    Ok(compared)
}

fn sample(ours: &Value, theirs: &Value, compared: &mut Comparison) -> Result<(), String> {
    let (ours, theirs) = (ours.as_object().ok_or("no object")?, theirs.as_object().ok_or("no object")?);
    if let Some(missing) = theirs.keys().find(|&key| !ours.contains_key(key)) {
        return Err(format!("missing {missing}"));
    }
    let (has_own_fields, tid) = (ours.keys().any(|key| !COMMON_MEMBERS.contains(&&**key)), &theirs["tid"]);
    for (key, ours) in ours {
        let Some(theirs) = theirs.get(key) else {
            if compared.has_fields || COMMON_MEMBERS.contains(&&**key) {
                return Err(format!("unexpected {key}: {ours}"));
            }
            *compared.known.entry("perf without libtraceevent writes none").or_default() += 1;
            continue;
        };
        if ours == theirs {
            compared.fields += usize::from(!COMMON_MEMBERS.contains(&&**key));
            continue;
        }
        let is_overridden = !compared.has_fields && has_own_fields && ours.is_string();
        let kind = match (ours, theirs) {
            _ if is_overridden => Some("perf without libtraceevent writes none"),
            (Value::String(ours), Value::String(theirs)) if key == "comm" => {
                comm_difference(ours, theirs, tid).or_else(|| difference(ours, theirs))
            }
            (Value::String(ours), Value::String(theirs)) => difference(ours, theirs),
            (Value::Array(ours), Value::Array(theirs))
                if theirs.len() == ours.len() + 1 && theirs.starts_with(ours) =>
            {
                Some("perf writes the cookie of missing deferred user frames as an address")
            }
            _ => None,
        };
        let kind = kind.ok_or_else(|| format!("{key}: {ours} instead of {theirs}"))?;
        *compared.known.entry(kind).or_default() += 1;
        compared.fields += usize::from(!COMMON_MEMBERS.contains(&&**key));
    }
    Ok(())
}

/// The known difference between two equivalent names of a thread, if it is one.
fn comm_difference(ours: &str, theirs: &str, tid: &Value) -> Option<&'static str> {
    if theirs == format!(":{tid}") {
        return Some("perf forgets the name of an exited thread");
    }
    // `\uffffffc3`: a byte, sign-extended to 32 bits.
    let bytes = theirs.split('\u{ffff}').enumerate().flat_map(|(at, part)| {
        let code = (at > 0).then(|| part.strip_prefix("ff").and_then(|part| part.get(..2))).flatten();
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let text = if byte.is_some() { &part[4..] } else { part };
        byte.into_iter().chain(text.bytes()).collect::<Vec<_>>()
    });
    let text = String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned();
    (text == ours).then_some("perf escapes non-ASCII bytes incorrectly")
}

/// The known difference between two equivalent values, if it is one.
fn difference(ours: &str, theirs: &str) -> Option<&'static str> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().or_else(|_| text.parse().map(|signed: i64| signed as u64)).ok(),
    };
    let hexadecimal = |text: &str| u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok();
    let ours_number = number(ours);
    if ours_number.is_some() && (number(theirs) == ours_number || hexadecimal(theirs) == ours_number) {
        return Some("perf formats the number by the tracepoint's print fmt");
    }
    if ours_number == Some(0) && theirs == "(nil)" {
        return Some("perf writes a null address as (nil)");
    }
    let bytes: Option<Vec<u8>> = theirs.strip_prefix("ARRAY[").and_then(|inside| {
        inside.strip_suffix(']')?.split(", ").map(|byte| u8::from_str_radix(byte, 16).ok()).collect()
    });
    let text = bytes?.split(|&byte| byte == 0).next().map(|text| String::from_utf8_lossy(text).into_owned());
    (text.as_deref() == Some(ours)).then_some("perf writes unrecognized text as bytes")
}
