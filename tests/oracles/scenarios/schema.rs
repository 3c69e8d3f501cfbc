//! The JSON schema of scenarios accepts all scenarios, and rejects misspelled keys.

use crate::common::oracle::has_python_module;
use crate::common::scenarios::scenarios;
use std::path::Path;
use std::process::Command;

/// Validates scenarios with Python's TOML parser. Each key of each scenario is misspelled once.
const VALIDATE: &str = r#"
import copy, json, sys, jsonschema, tomllib
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
# Keys below these are names of the format, which the schema does not check.
FREE = ('attr', 'body', 'sample', 'regs', 'raw', 'feature', 'events', 'comms', 'functions', 'reads', 'rejected')
def misspelled(value, into=True):
    if isinstance(value, list):
        for at, item in enumerate(value):
            for invalid in misspelled(item, into):
                yield value[:at] + [invalid] + value[at + 1:]
    elif isinstance(value, dict):
        for key, item in value.items():
            if into:
                yield {key + 'x' if name == key else name: child for name, child in value.items()}
            for invalid in misspelled(item, into and key not in FREE):
                yield {**value, key: invalid}
seen = rejected = 0
for path in sys.argv[2:]:
    with open(path, 'rb') as file:
        value = tomllib.load(file)
    for error in validator.iter_errors(value):
        sys.exit(f'{path}: {list(error.path)}: {error.message[:500]}')
    seen += 1
    for invalid in misspelled(value):
        if validator.is_valid(invalid):
            sys.exit(f'{path}: a misspelled key is accepted: {invalid}')
        rejected += 1
print(seen, rejected)
"#;

#[test]
fn schema_accepts_scenarios_and_rejects_misspelled_keys() {
    if !has_python_module("jsonschema") || !has_python_module("tomllib") {
        return;
    }
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenario.schema.json");
    let validate = Command::new("python3").args(["-c", VALIDATE]).arg(schema).args(scenarios()).output().unwrap();
    assert!(validate.status.success(), "{}", String::from_utf8_lossy(&validate.stderr));
    let value = String::from_utf8_lossy(&validate.stdout).into_owned();
    let counts: Vec<usize> = value.split_whitespace().map(|count| count.parse().expect("a count")).collect();
    note!("the schema accepts {} scenarios, and rejects {} with a misspelled key", counts[0], counts[1]);
    assert!(counts[0] >= 40 && counts[1] >= 400, "{value}");
}
