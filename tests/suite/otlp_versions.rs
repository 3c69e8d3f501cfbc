//! Profiles of OpenTelemetry by earlier versions of its protocol.

use super::embedded_symbols::{perfconv_in, symbols};
use crate::common::program::{run, succeed};
use crate::common::protobuf::{bytes, number};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn convert(input: &Path, output: &Path) {
    let mut command = perfconv_in(output.parent().expect("a directory"));
    succeed(command.arg(input).arg("--symfs").arg(symbols().join("files")).args(["-f", "-q", "-o"]).arg(output));
}

fn folded(input: &Path) -> String {
    let output = input.with_extension("folded");
    convert(input, &output);
    fs::read_to_string(output).expect("UTF-8")
}

/// Writes a file and returns its folded stacks.
fn folded_content(directory: &Path, name: &str, content: &[u8]) -> String {
    let path = directory.join(name);
    fs::write(&path, content).expect("a file");
    folded(&path)
}

/// The error about a file.
fn rejected(directory: &Path, name: &str, content: &[u8]) -> String {
    let path = directory.join(name);
    fs::write(&path, content).expect("a file");
    let run = run(perfconv_in(directory).arg(&path).args(["-t", "folded", "-o", "-"]));
    assert_eq!(run.status, 1, "{}", run.stderr);
    run.stderr
}

/// Calls a function with each profile of a document.
fn each_profile(document: &mut Value, mut each: impl FnMut(&mut Value)) {
    let lists = [("resourceProfiles", "scopeProfiles")];
    for (resources, scopes) in lists {
        for resource in document[resources].as_array_mut().expect("resources") {
            for scope in resource[scopes].as_array_mut().expect("scopes") {
                scope["profiles"].as_array_mut().expect("profiles").iter_mut().for_each(&mut each);
            }
        }
    }
}

/// Renames a field of a JSON object.
fn rename(object: &mut Value, from: &str, to: &str) {
    if let Some(value) = object.as_object_mut().and_then(|object| object.remove(from)) {
        object[to] = value;
    }
}

/// A document in the form of version 1.8: other names.
fn as_version_1_8(mut document: Value) -> Value {
    each_profile(&mut document, |profile| rename(profile, "samples", "sample"));
    let locations = document["dictionary"]["locationTable"].as_array_mut().expect("locations");
    locations.iter_mut().for_each(|location| rename(location, "lines", "line"));
    document
}

/// A document in the form of version 1.7: ranges of locations, and tables whose first entries are like the others.
fn as_version_1_7(document: Value) -> Value {
    let mut document = as_version_1_8(document);
    let dictionary = document["dictionary"].clone();
    let index = |value: &Value| value.as_u64().unwrap_or(0) as usize;
    each_profile(&mut document, |profile| {
        let mut locations = Vec::new();
        for sample in profile["sample"].as_array_mut().expect("samples") {
            let stack = &dictionary["stackTable"][index(&sample["stackIndex"])]["locationIndices"];
            let stack = stack.as_array().cloned().unwrap_or_default();
            sample.as_object_mut().expect("a sample").remove("stackIndex");
            sample["locationsStartIndex"] = json!(locations.len());
            sample["locationsLength"] = json!(stack.len());
            locations.extend(stack);
            rename(sample, "values", "value");
        }
        profile["locationIndices"] = json!(locations);
        profile["sampleType"] = json!([profile["sampleType"]]);
        rename(profile, "timeUnixNano", "timeNanos");
        rename(profile, "durationNano", "durationNanos");
    });
    let tables = document["dictionary"].as_object_mut().expect("a dictionary");
    tables.remove("stackTable");
    for table in ["functionTable", "mappingTable"] {
        tables[table].as_array_mut().expect("a table").remove(0);
    }
    for location in tables["locationTable"].as_array_mut().expect("locations") {
        match location["mappingIndex"].as_u64() {
            Some(index) => location["mappingIndex"] = json!(index - 1),
            None => drop(location.as_object_mut().expect("a location").remove("mappingIndex")),
        }
        for line in location.get_mut("line").and_then(Value::as_array_mut).into_iter().flatten() {
            line["functionIndex"] = json!(index(&line["functionIndex"]) - 1);
        }
    }
    for attribute in tables["attributeTable"].as_array_mut().expect("attributes") {
        let key = dictionary["stringTable"][index(&attribute["keyStrindex"])].clone();
        attribute.as_object_mut().expect("an attribute").remove("keyStrindex");
        attribute["key"] = key;
    }
    document
}

#[test]
fn json_of_earlier_versions_has_the_same_stacks() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut lines = 0;
    for name in ["words", "cxx", "jitmap"] {
        let current = directory.path().join("current.otlp.json");
        convert(&symbols().join(name).with_extension("data"), &current);
        let expected = folded(&current);
        let document: Value = serde_json::from_slice(&fs::read(&current).expect("a file")).expect("JSON");
        for (version, changed) in [("1.8", as_version_1_8(document.clone())), ("1.7", as_version_1_7(document))] {
            let content = serde_json::to_vec(&changed).expect("JSON");
            assert_eq!(
                folded_content(directory.path(), "earlier.otlp.json", &content),
                expected,
                "{name}, version {version}"
            );
        }
        lines += expected.lines().count();
    }
    note!("{lines} stacks are the same in three versions");
    assert!(lines > 50, "{lines} stacks");
}

/// Profiles in the layout of async-profiler 4.2 (1.7), 4.3 (1.9) and 4.5 (1.11): two methods, and a thread as an attribute.
#[test]
fn protobuf_of_earlier_versions_is_recognized() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let strings = ["", "cpu", "ns", "Main.run", "Main.work", "thread.name", "main"];
    let strings = strings.map(|text| bytes(5, text.as_bytes())).concat();
    let function = |name: u64| bytes(3, &number(1, name));
    let location = |function: u64| bytes(2, &bytes(3, &number(1, function)));
    let text = bytes(2, &bytes(1, b"main"));
    let kind = [number(1, 1), number(2, 2)].concat();
    let file =
        |profile: &[u8], dictionary: &[u8]| [bytes(1, &bytes(2, &bytes(2, profile))), bytes(2, dictionary)].concat();
    let stack = bytes(7, &bytes(1, &[2, 1]));
    let tables =
        [bytes(1, b""), bytes(2, b""), location(1), location(2), bytes(3, b""), function(3), function(4)].concat();
    let attributes = [bytes(6, b""), bytes(6, &[number(1, 5), text.clone()].concat())].concat();
    let dictionary = [&tables[..], &strings, &attributes, &bytes(7, b""), &stack].concat();
    let start = [&[3 << 3 | 1][..], &7_u64.to_le_bytes()].concat();
    let sample = |fields: &[(u64, u64)]| {
        bytes(2, &fields.iter().flat_map(|&(field, value)| number(field, value)).collect::<Vec<_>>())
    };
    let profile = |sample: &[u8]| [&bytes(1, &kind)[..], &start, sample].concat();
    let current = file(&profile(&sample(&[(1, 1), (2, 1), (4, 70)])), &dictionary);
    let values_first = file(&profile(&sample(&[(1, 1), (2, 70), (3, 1)])), &dictionary);
    let old_tables = [bytes(1, b""), location(0), location(1), function(3), function(4)].concat();
    let old_attributes = bytes(6, &[bytes(1, b"thread.name"), text].concat());
    let ranges = [
        bytes(1, &kind),
        number(4, 7),
        bytes(2, &[number(1, 0), number(2, 2), bytes(3, &[70]), number(4, 0)].concat()),
        bytes(3, &[1, 0]),
    ];
    let ranges = file(&ranges.concat(), &[old_tables, strings.clone(), old_attributes].concat());
    for (version, content) in [("1.11", &current), ("1.9", &values_first), ("1.7", &ranges)] {
        assert_eq!(
            folded_content(directory.path(), "x.otlp", content),
            "main;Main.run;Main.work 70\n",
            "version {version}"
        );
    }
    // Truncated ones are rejected in each version.
    for content in [&current, &values_first, &ranges] {
        let message = rejected(directory.path(), "cut.otlp", &content[..content.len() - 1]);
        assert!(message.contains("not valid OpenTelemetry profiles"), "{message}");
    }
}

#[test]
fn versions_without_a_dictionary_are_rejected() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let sample = bytes(2, &[number(1, 0), number(2, 1), bytes(3, &[70])].concat());
    // Version 1.5: tables of mappings, locations, functions and strings in the profile.
    let own =
        [bytes(3, &number(2, 1)), bytes(4, &number(2, 1)), bytes(5, &[0]), bytes(6, &number(1, 1)), bytes(10, b"main")]
            .concat();
    let profile = [bytes(1, &number(1, 1)), sample.clone(), own].concat();
    let version_1_5 = bytes(1, &bytes(2, &bytes(2, &profile)));
    // Version 1.6: tables of mappings, locations and functions beside the resources.
    let profile = [bytes(1, &number(1, 1)), sample, bytes(3, &[0])].concat();
    let tables = [bytes(2, &number(2, 1)), bytes(3, &number(2, 1)), bytes(6, b"main")].concat();
    let version_1_6 = [bytes(1, &bytes(2, &bytes(2, &profile))), tables].concat();
    for content in [version_1_5, version_1_6] {
        let message = rejected(directory.path(), "x.otlp", &content);
        assert!(message.contains("it is of version 1.6 of the protocol or earlier"), "{message}");
    }
    let document = json!({"resourceProfiles": [{"scopeProfiles": [{"profiles": [
        {"sampleType": [{}], "locationIndices": [0], "stringTable": [""], "sample": [{"locationsLength": 1, "value": ["1"]}]},
    ]}]}]});
    let message = rejected(directory.path(), "x.otlp.json", document.to_string().as_bytes());
    assert!(message.contains("it is of version 1.6 of the protocol or earlier"), "{message}");
}
