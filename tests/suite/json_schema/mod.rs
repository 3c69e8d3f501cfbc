//! The JSON schema matches the definitions of records and features.
//!
//! `docs/json.schema.json` is derived from the definitions in `abi`, except for the outer objects. With
//! `PERFCONV_UPDATE_SCHEMA=1`, the test writes it.

mod definitions;
mod derive;
mod json;

use definitions::{Definitions, Row};
use derive::Derive;
use json::{Json, list, map};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn schema_path() -> PathBuf {
    root().join("docs/json.schema.json")
}

/// Replaces the derived parts of a schema.
fn update(schema: &str, derive: &Derive<'_>, with_tests: bool) -> String {
    let definitions = derive.definitions;
    let [records, features] = [&definitions.records, &definitions.features].map(|rows| select_rows(rows, with_tests));
    let names = |rows: &[&Row]| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
    let if_present = |key: &str, members: Vec<(&str, Json)>| {
        map([("if", map([("required", list([json::text(key)]))])), ("then", map([("properties", map(members))]))])
    };
    let (record_names, feature_names) = (derive::named(&names(&records)), derive::named(&names(&features)));
    let header_feature = map([("const", json::text("HEADER_FEATURE"))]);
    let of_record = [
        if_present("body", vec![("record", record_names)]),
        if_present("content", vec![("record", header_feature), ("feature", feature_names.clone())]),
    ];
    let of_record = of_record.into_iter();
    let of_record = of_record.chain(derive.cases(&records, "record", "body", true));
    let of_record = of_record.chain(derive.cases(&features, "feature", "content", true));
    let of_feature = [if_present("content", vec![("feature", feature_names)])].into_iter();
    let of_feature = of_feature.chain(derive.cases(&features, "feature", "content", false));
    let schema = with_alternatives(schema, "record", &list(of_record));
    let mut schema = with_alternatives(&schema, "feature", &list(of_feature));
    for (name, definition) in &derive.schemas {
        schema = with_definition(&schema, name, definition);
    }
    schema
}

fn select_rows(rows: &[Row], with_tests: bool) -> Vec<&Row> {
    rows.iter().filter(|row| with_tests || !row.is_test).collect()
}

/// The range of a definition in the text of the schema. Its first line is indented by four spaces.
fn find_definition(schema: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let start = schema.find(&format!("\n    {name:?}: "))? + 1;
    let mut end = start;
    for (at, line) in schema[start..].lines().enumerate() {
        let is_next = at > 0 && (line.starts_with("    \"") || line == "  }");
        if is_next {
            break;
        }
        end += line.len() + 1;
    }
    Some(start..end)
}

/// Replaces the cases of an object.
fn with_alternatives(schema: &str, name: &str, alternatives: &Json) -> String {
    let object = find_definition(schema, name).expect(name);
    let text = &schema[object.clone()];
    let start = object.start + text.find("      \"allOf\": [").expect("the object should have cases");
    let end = start + schema[start..].find("\n      ]").expect("the cases should end") + "\n      ]".len();
    format!("{}      \"allOf\": {}{}", &schema[..start], alternatives.lines(6, 15), &schema[end..])
}

/// Replaces a definition, or inserts it in alphabetical order.
fn with_definition(schema: &str, name: &str, definition: &Json) -> String {
    let text = |comma: &str| format!("    {name:?}: {}{comma}\n", definition.lines(4, 8 + name.len()));
    if let Some(range) = find_definition(schema, name) {
        let comma = if schema[range.clone()].ends_with(",\n") { "," } else { "" };
        return format!("{}{}{}", &schema[..range.start], text(comma), &schema[range.end..]);
    }
    let names = schema.lines().filter_map(|line| line.strip_prefix("    \"")?.split_once('"')).map(|(name, _)| name);
    let next = names
        .filter(|other| other.starts_with(char::is_uppercase))
        .find(|other| *other > name)
        .expect("a next definition");
    let at = find_definition(schema, next).expect("the next definition").start;
    format!("{}{}{}", &schema[..at], text(","), &schema[at..])
}

#[test]
fn schema_matches_the_definitions() {
    let definitions = Definitions::read(&root().join("crates/perf-data/src/abi"));
    let derive = Derive::new(&definitions, false);
    let schema = fs::read_to_string(schema_path()).unwrap();
    let derived = update(&schema, &derive, false);
    if env::var_os("PERFCONV_UPDATE_SCHEMA").is_some() {
        fs::write(schema_path(), &derived).unwrap();
        return;
    }
    let [schema, derived] = [schema, derived].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    let names = derive.schemas.keys().map(String::as_str).chain(["record", "feature"]);
    let stale: Vec<_> = names.filter(|name| schema["$defs"][name] != derived["$defs"][name]).collect();
    assert!(stale.is_empty(), "outdated schemas {stale:?}; set PERFCONV_UPDATE_SCHEMA=1 to update them");
    assert!(derive.schemas.len() > 100 && schema == derived);
    note!("{} schemas of records and features are derived", derive.schemas.len());
}

#[test]
fn schema_covers_new_records_and_features() {
    let definitions = Definitions::read(&root().join("crates/perf-data/src/abi"));
    let derive = Derive::new(&definitions, true);
    let schema = update(&fs::read_to_string(schema_path()).unwrap(), &derive, true);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let fields = |name: &str| {
        let properties = schema["$defs"][name]["properties"].as_object().unwrap();
        properties.iter().map(|(name, schema)| format!("{name} {}", schema["$ref"])).collect::<Vec<_>>().join(" ")
    };
    let reference = |name: &str| format!("\"#/$defs/{name}\"");
    let [u32, u64, base64, text] = ["u32", "u64", "base64", "text"].map(reference);
    let record = format!("id {u64} path {text} payload {base64} pid {u32} tid {u32} time {u64}");
    assert_eq!(fields("Example"), record);
    assert_eq!(fields("ExampleFeature"), format!("host {text} pid {u32} time {u64}"));
    for (object, key) in [("record", "record"), ("record", "feature"), ("feature", "feature")] {
        let cases = schema["$defs"][object]["allOf"].as_array().unwrap();
        assert!(cases.iter().any(|case| case["if"]["properties"][key]["const"] == "EXAMPLE"), "{object}");
    }
}
