//! The JSON Schema of scenarios takes those that there are, and no others.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use super::scenarios;

/// Reads scenarios with Python's own reader of TOML. Each key of each of them is misspelled once.
const VALIDATE: &str = r#"
import copy, json, sys, jsonschema, tomllib
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
# What is in these has the names of the format, which are checked when a scenario is read.
FREE = ('attr', 'body', 'sample', 'regs', 'raw', 'feature', 'events', 'comms', 'functions', 'reads', 'rejected')
def misspelled(told, into=True):
    if isinstance(told, list):
        for at, item in enumerate(told):
            for wrong in misspelled(item, into):
                yield told[:at] + [wrong] + told[at + 1:]
    elif isinstance(told, dict):
        for key, value in told.items():
            if into:
                yield {key + 'x' if name == key else name: value for name, value in told.items()}
            for wrong in misspelled(value, into and key not in FREE):
                yield {**told, key: wrong}
seen = refused = 0
for path in sys.argv[2:]:
    with open(path, 'rb') as file:
        told = tomllib.load(file)
    for error in validator.iter_errors(told):
        sys.exit(f'{path}: {list(error.path)}: {error.message[:500]}')
    seen += 1
    for wrong in misspelled(told):
        if validator.is_valid(wrong):
            sys.exit(f'{path}: a key may be misspelled: {wrong}')
        refused += 1
print(seen, refused)
"#;

#[test]
fn scenarios_are_of_the_schema() {
    let has = Command::new("python3").args(["-c", "import jsonschema, tomllib"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        return writeln!(io::stderr(), "scenarios: there is no python3 with jsonschema, the schema is not tried")
            .unwrap();
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenario.schema.json");
    let validate = Command::new("python3").args(["-c", VALIDATE]).arg(schema).args(scenarios()).output().unwrap();
    assert!(validate.status.success(), "{}", String::from_utf8_lossy(&validate.stderr));
    let told = String::from_utf8_lossy(&validate.stdout).into_owned();
    let counts: Vec<usize> = told.split_whitespace().map(|count| count.parse().expect("a count")).collect();
    writeln!(io::stderr(), "{} scenarios are of the schema, {} with a misspelled key are not", counts[0], counts[1])
        .unwrap();
    assert!(counts[0] >= 40 && counts[1] >= 400, "{told}");
}
