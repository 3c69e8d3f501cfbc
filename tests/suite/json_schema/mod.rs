//! The schema of the JSON of recordings describes each record and feature as its definition does.
//!
//! `docs/json.schema.json` is derived from the definitions in `src/abi`, but for the objects around them. With
//! `PERFCONV_UPDATE_SCHEMA=1` the test writes it.

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

/// A schema in which what is derived was replaced.
fn updated(schema: &str, derive: &Derive<'_>, with_tests: bool) -> String {
    let definitions = derive.definitions;
    let [records, features] = [&definitions.records, &definitions.features].map(|rows| listed(rows, with_tests));
    let names = |rows: &[&Row]| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
    let where_given = |key: &str, members: Vec<(&str, Json)>| {
        map([("if", map([("required", list([json::text(key)]))])), ("then", map([("properties", map(members))]))])
    };
    let (record_names, feature_names) = (derive::named(&names(&records)), derive::named(&names(&features)));
    let header_feature = map([("const", json::text("HEADER_FEATURE"))]);
    let of_record = [
        where_given("body", vec![("record", record_names)]),
        where_given("content", vec![("record", header_feature), ("feature", feature_names.clone())]),
    ];
    let of_record = of_record.into_iter();
    let of_record = of_record.chain(derive.cases(&records, "record", "body", true));
    let of_record = of_record.chain(derive.cases(&features, "feature", "content", true));
    let of_feature = [where_given("content", vec![("feature", feature_names)])].into_iter();
    let of_feature = of_feature.chain(derive.cases(&features, "feature", "content", false));
    let schema = with_alternatives(schema, "record", &list(of_record));
    let mut schema = with_alternatives(&schema, "feature", &list(of_feature));
    for (name, definition) in &derive.schemas {
        schema = with_definition(&schema, name, definition);
    }
    schema
}

fn listed(rows: &[Row], with_tests: bool) -> Vec<&Row> {
    rows.iter().filter(|row| with_tests || !row.is_test).collect()
}

/// Where the definition of that name is in the text of the schema: its first line begins with four blanks.
fn place(schema: &str, name: &str) -> Option<std::ops::Range<usize>> {
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

/// With the alternatives of an object in the place of those that it had.
fn with_alternatives(schema: &str, name: &str, alternatives: &Json) -> String {
    let object = place(schema, name).expect(name);
    let text = &schema[object.clone()];
    let start = object.start + text.find("      \"allOf\": [").expect("it has alternatives");
    let end = start + schema[start..].find("\n      ]").expect("they end") + "\n      ]".len();
    format!("{}      \"allOf\": {}{}", &schema[..start], alternatives.lines(6, 15), &schema[end..])
}

/// With a definition in the place of that which it had, or before the next one by name.
fn with_definition(schema: &str, name: &str, definition: &Json) -> String {
    let text = |comma: &str| format!("    {name:?}: {}{comma}\n", definition.lines(4, 8 + name.len()));
    if let Some(place) = place(schema, name) {
        let comma = if schema[place.clone()].ends_with(",\n") { "," } else { "" };
        return format!("{}{}{}", &schema[..place.start], text(comma), &schema[place.end..]);
    }
    let names = schema.lines().filter_map(|line| line.strip_prefix("    \"")?.split_once('"')).map(|(name, _)| name);
    let next =
        names.filter(|other| other.starts_with(char::is_uppercase)).find(|other| *other > name).expect("a next one");
    let at = place(schema, next).expect("its place").start;
    format!("{}{}{}", &schema[..at], text(","), &schema[at..])
}

#[test]
fn the_schema_is_derived_from_the_definitions() {
    let definitions = Definitions::read(&root().join("src/abi"));
    let derive = Derive::new(&definitions, false);
    let schema = fs::read_to_string(schema_path()).unwrap();
    let derived = updated(&schema, &derive, false);
    if env::var_os("PERFCONV_UPDATE_SCHEMA").is_some() {
        fs::write(schema_path(), &derived).unwrap();
        return;
    }
    let [schema, derived] = [schema, derived].map(|text| serde_json::from_str::<Value>(&text).unwrap());
    let names = derive.schemas.keys().map(String::as_str).chain(["record", "feature"]);
    let stale: Vec<_> = names.filter(|name| schema["$defs"][name] != derived["$defs"][name]).collect();
    assert!(stale.is_empty(), "not as the definitions: {stale:?}; PERFCONV_UPDATE_SCHEMA=1 writes the schema");
    assert!(derive.schemas.len() > 100 && schema == derived);
    println!("{} schemas of records and features are derived", derive.schemas.len());
}

#[test]
fn a_new_record_and_a_new_feature_are_described() {
    let definitions = Definitions::read(&root().join("src/abi"));
    let derive = Derive::new(&definitions, true);
    let schema = updated(&fs::read_to_string(schema_path()).unwrap(), &derive, true);
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let fields = |name: &str| {
        let properties = schema["$defs"][name]["properties"].as_object().unwrap();
        properties.iter().map(|(name, schema)| format!("{name} {schema}")).collect::<Vec<_>>().join(" ")
    };
    let reference = |name: &str| format!(r##"{{"$ref":"#/$defs/{name}"}}"##);
    let [u32, u64, base64, text] = ["u32", "u64", "base64", "text"].map(reference);
    let record = format!("id {u64} path {text} payload {base64} pid {u32} tid {u32} time {u64}");
    assert_eq!(fields("Example"), record);
    assert_eq!(fields("ExampleFeature"), format!("host {text} pid {u32} time {u64}"));
    for (object, key) in [("record", "record"), ("record", "feature"), ("feature", "feature")] {
        let cases = schema["$defs"][object]["allOf"].as_array().unwrap();
        assert!(cases.iter().any(|case| case["if"]["properties"][key]["const"] == "EXAMPLE"), "{object}");
    }
}
