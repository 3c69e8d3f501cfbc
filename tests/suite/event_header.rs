//! Tracepoints of user_events whose fields describe themselves (EventHeader).

use crate::common::files::has_corpus;
use crate::common::program::{perfconv, succeed};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What the decoders of microsoft/LinuxTracepoints print for their own recordings. A unit test of the decoder has constructed
/// payloads, for machines without the corpus.
fn recordings() -> Vec<(PathBuf, PathBuf)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reports/eventheader");
    let names: &[&str] = if has_corpus("eventheader") { &["perf.data", "pipe.data"] } else { &[] };
    let paths = |name: &&str| (directory.join(name), directory.join(format!("{name}.linux.json")));
    names.iter().map(paths).collect()
}

/// The events that have fields of this kind, without what other fields of the sample have.
fn expected(golden: &Path) -> Vec<Value> {
    let text = String::from_utf8_lossy(&fs::read(golden).expect("a file")).into_owned();
    // One character is above those of Unicode, and has no bytes in UTF-8.
    let text = text.replace(&"\u{fffd}".repeat(7), "\u{fffd}").replace(&"\u{fffd}".repeat(6), "\u{fffd}");
    // C prints the sign of NaN.
    let text = text.replace("\"-nan\"", "\"nan\"");
    let list = &text[text.find('[').expect("a list")..];
    let mut events: Vec<Value> = serde_json::from_str(list.trim_end().trim_end_matches('}')).expect("JSON");
    events.retain(|event| event["meta"]["level"] != Value::Null);
    for event in &mut events {
        let meta = event["meta"].as_object_mut().expect("an object");
        ["time", "cpu", "pid", "tid"].iter().for_each(|key| drop(meta.remove(*key)));
    }
    events
}

#[test]
fn fields_equal_those_of_the_layouts_own_decoder() {
    let mut compared = 0;
    for (recording, golden) in recordings() {
        let mut command = perfconv();
        command.arg(&recording).args(["--decode", "tracepoints", "-t", "jsonl", "-q", "-o", "-"]);
        let json = String::from_utf8(succeed(&mut command).stdout).expect("UTF-8");
        let records = json.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let decoded: Vec<Value> = records.filter_map(|record| find(&record, "eventheader").cloned()).collect();
        let expected = expected(&golden);
        assert!(expected.len() > 200, "{}", expected.len());
        assert_eq!(decoded.len(), expected.len());
        for (decoded, expected) in decoded.iter().zip(expected) {
            assert_eq!(normalized(decoded.clone()), normalized(expected));
        }
        compared += decoded.len();
        let mut command = perfconv();
        command.arg(&recording).args(["-t", "perf-script", "--symbols", "no", "-q", "-o", "-"]);
        let script = String::from_utf8_lossy(&succeed(&mut command).stdout).into_owned();
        assert!(script.contains(r#"eventheader={"n":"TestProviderC:u8","u8":200,"(255)":255,"meta":{"level":5}}"#));
    }
    println!("compared {compared} events with those of the layout's own decoder");
}

/// The same value where notations differ: JSON of perfconv has integers that JavaScript would round as strings; times end with their
/// zone, digits of bytes are in upper case.
fn normalized(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_i64() || number.is_u64() => number.to_string().into(),
        Value::String(text) => {
            let is_time = text.ends_with("Z") && text.contains("T");
            text.strip_suffix('Z').filter(|_| is_time).unwrap_or(&text).to_lowercase().into()
        }
        Value::Array(values) => values.into_iter().map(normalized).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, normalized(value))).collect(),
        value => value,
    }
}

/// The value of a key, at any depth.
fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => fields.get(key).or_else(|| fields.values().find_map(|value| find(value, key))),
        Value::Array(values) => values.iter().find_map(|value| find(value, key)),
        _ => None,
    }
}
