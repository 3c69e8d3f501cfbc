//! Profiles of OpenTelemetry, decoded by the package opentelemetry-proto.

use super::programs;
use crate::common::files;
use crate::common::program::{perfconv, succeed};
use crate::common::totals::{self, Totals};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Prints, as JSON, what a file contains, after checks of the rules of the format.
const READ: &str = r#"
import collections, json, sys
from google.protobuf import json_format, unknown_fields
from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import ExportProfilesServiceRequest
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
data, request = ProfilesData(), ExportProfilesServiceRequest()
content = open(sys.argv[1], "rb").read()
if sys.argv[1].endswith(".json"):
    json_format.Parse(content, data)
    content = data.SerializeToString()
data.ParseFromString(content)
request.ParseFromString(content)
assert request.SerializeToString() == data.SerializeToString(), "not a request"
def check(message):
    assert not len(unknown_fields.UnknownFieldSet(message)), f"unknown fields in {message}"
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in [value] if hasattr(value, "ListFields") else value: check(inner)
check(data)
tables = data.dictionary
strings = tables.string_table
used = collections.defaultdict(set)
def index(table, number):
    assert 0 <= number < len(getattr(tables, table)), f"{table} has no {number}"
    used[table].add(number)
    return getattr(tables, table)[number]
def string(number): return index("string_table", number)
def attributes(numbers):
    found = {}
    for number in numbers:
        attribute = index("attribute_table", number)
        key = string(attribute.key_strindex)
        string(attribute.unit_strindex)
        assert key and key not in found, f"attribute {key} twice"
        found[key] = getattr(attribute.value, attribute.value.WhichOneof("value"))
    return found
# Zero entries, and none twice.
for table in [field.name for field in tables.DESCRIPTOR.fields]:
    entries = [e if isinstance(e, str) else e.SerializeToString() for e in getattr(tables, table)]
    assert entries and not entries[0], f"{table} does not begin with an entry without contents"
    assert len(set(entries)) == len(entries), f"{table} has an entry twice"
resource, = data.resource_profiles
scope, = resource.scope_profiles
assert scope.profiles and scope.schema_url == resource.schema_url
totals, types, stacks, with_times = collections.Counter(), [], collections.Counter(), 0
for number, profile in enumerate(scope.profiles):
    kind = [string(profile.sample_type.type_strindex), string(profile.sample_type.unit_strindex)]
    string(profile.period_type.type_strindex), string(profile.period_type.unit_strindex)
    types.append(kind)
    identities, shapes = set(), set()
    for sample in profile.samples:
        identity = (sample.stack_index, tuple(sorted(sample.attribute_indices)), sample.link_index)
        assert identity not in identities, "a sample twice"
        identities.add(identity)
        index("link_table", sample.link_index)
        found = attributes(sample.attribute_indices)
        assert sample.values, "no values"
        times = sample.timestamps_unix_nano
        shapes.add(bool(times))
        assert not times or len(times) == len(sample.values), "one time for each value"
        begin, end = profile.time_unix_nano, profile.time_unix_nano + profile.duration_nano
        assert all(begin <= time < end for time in times), "a time outside of the profile"
        assert list(times) == sorted(times), "times in order"
        with_times += len(times)
        totals[json.dumps([found.get("process.pid"), found.get("thread.id"), number])] += sum(sample.values)
        names = []
        for location in [index("location_table", l) for l in index("stack_table", sample.stack_index).location_indices]:
            path = string(index("mapping_table", location.mapping_index).filename_strindex)
            lines = [string(index("function_table", line.function_index).name_strindex) for line in location.lines]
            names += lines or [f"[{path.rsplit('/')[-1] or 'unknown'}]"]
        stacks[json.dumps([";".join(reversed(names)), number])] += sum(sample.values)
    assert len(shapes) < 2, "samples with and without times"
functions = []
for number in used["location_table"]:
    location = tables.location_table[number]
    build_id = attributes(tables.mapping_table[location.mapping_index].attribute_indices).get("process.executable.build_id.gnu", "")
    kind = attributes(location.attribute_indices).get("profile.frame.type", "")
    for depth, line in enumerate(location.lines):
        function = tables.function_table[line.function_index]
        assert line.line >= 0 and line.column >= 0 and function.start_line >= 0
        functions.append([string(function.name_strindex), string(function.filename_strindex), line.line, len(location.lines) - depth - 1,
                          kind, build_id])
        string(function.system_name_strindex)
for mapping in tables.mapping_table[1:]: assert mapping.memory_start < mapping.memory_limit
# No entry that nothing refers to.
for table in [field.name for field in tables.DESCRIPTOR.fields]:
    assert used[table] | {0} == set(range(len(getattr(tables, table)))), f"{table} has an entry that nothing refers to"
json.dump(dict(totals=totals, types=types, functions=functions, stacks=stacks, with_times=with_times, strings=list(strings),
               resource={a.key: a.value.string_value for a in resource.resource.attributes},
               attributes=sorted({strings[a.key_strindex] for a in tables.attribute_table})), sys.stdout)
"#;

fn convert(clients: &Path, recording: &Path, output: &Path, args: &[&str]) -> Result<Value, String> {
    programs::read_converted(clients, READ, recording, output, args)
}

/// The totals by thread and event. Profiles come in pairs, with numbers of samples and with values; their types are those of pprof: the
/// names of events, if there are several.
fn totals_of(file: &Value, expected: &Totals) -> Totals {
    let has_threads = expected.keys().any(|(thread, _)| !thread.is_empty());
    let types = file["types"].as_array().expect("types");
    let mut totals = Totals::new();
    for (key, sum) in file["totals"].as_object().into_iter().flatten() {
        let (pid, tid, number): (Option<i64>, Option<i64>, usize) = serde_json::from_str(key).expect("a key");
        let thread = pid.zip(tid).filter(|_| has_threads).map_or(String::new(), |(pid, tid)| format!("{pid}/{tid}"));
        let event = match types.len() {
            2 => totals::event_of("", expected),
            // Events with the same name are numbered.
            _ => types[number | 1][0].as_str().and_then(|name| name.split('#').next()).unwrap_or("").to_owned(),
        };
        let total = totals.entry((thread, event)).or_default();
        let sum = sum.as_u64().unwrap_or(0);
        *if number % 2 == 0 { &mut total.0 } else { &mut total.1 } += sum;
    }
    totals
}

#[test]
fn otlp_totals_equal_the_profile() {
    let Some(clients) = programs::directory() else { return };
    let recordings = files::recordings();
    let enough = if files::has_corpus("otlp") { 500 } else { 20 };
    totals::compare("otlp (opentelemetry-proto 1.45)", &recordings, enough, |recording, expected| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = directory.path().join("out.otlp");
        let file = convert(clients, &recording.path, &output, &["--symbols", "no"])?;
        totals::check_equal(&totals_of(&file, expected), expected)
    });
}

#[test]
fn times_are_kept_on_request_and_json_has_the_same_contents() {
    let Some(clients) = programs::directory() else { return };
    totals::compare("otlp with times, as JSON", &files::fixtures(), 20, |recording, expected| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let convert = |name: &str| {
            let args = ["--symbols", "no", "--timestamps", "--labels", "pid,tid"];
            let output = directory.path().join(name);
            convert(clients, &recording.path, &output, &args).or_else(|error| match &error {
                // Recordings without threads.
                _ if error.contains("--labels") => convert(clients, &recording.path, &output, &args[..3]),
                _ => Err(error),
            })
        };
        let (file, json) = (convert("out.otlp")?, convert("out.otlp.json")?);
        if file != json {
            return Err("JSON differs".to_owned());
        }
        let samples: u64 = expected.values().map(|(samples, _)| samples).sum();
        if file["with_times"].as_u64() != Some(2 * samples) {
            return Err(format!("{} times, {samples} samples", file["with_times"]));
        }
        totals::check_equal(&totals_of(&file, expected), expected)
    });
}

/// Writes symbols of the kernel of the recordings in `roundtrip/symbols`, with one function for all of its code. Otherwise, the
/// kernel would have functions only on machines that run the same.
fn kernel_symbols(directory: &Path) -> String {
    let path = directory.join("kallsyms");
    let symbols = [("81000000", "_text"), ("81000000", "_stext"), ("81000100", "of_kernel"), ("8220bb08", "_etext")];
    let lines = symbols.map(|(address, name)| format!("ffffffff{address} T {name}\n"));
    fs::write(&path, lines.concat()).expect("a temporary file");
    path.display().to_string()
}

#[test]
fn locations_have_inlined_functions_lines_and_build_ids() {
    let Some(clients) = programs::directory() else { return };
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = symbols.join("files").display().to_string();
    let kernel = kernel_symbols(directory.path());
    let args = ["--symfs", &files, "--kallsyms", &kernel, "--service-name", "foundry"];
    let file = convert(clients, &symbols.join("cxx.data"), &directory.path().join("out.otlp"), &args).expect("a file");
    let functions: Vec<(String, String, i64, i64, String, String)> =
        serde_json::from_value(file["functions"].clone()).expect("functions");
    let of = |name: &str| functions.iter().filter(|function| function.0 == name).collect::<Vec<_>>();
    let heap = of("foundry::v2::heap_phase()");
    assert!(!heap.is_empty(), "{functions:?}");
    assert!(
        heap.iter().all(|f| f.1.ends_with("foundry.cpp") && f.2 > 0 && f.4 == "native" && f.5.len() == 40),
        "{heap:?}"
    );
    assert!(functions.iter().any(|function| function.3 > 1), "inlined functions");
    assert!(functions.iter().any(|function| function.4 == "kernel"), "kernel");
    let resource = &file["resource"];
    assert_eq!((&resource["service.name"], &resource["os.type"]), (&"foundry".into(), &"linux".into()), "{resource}");
    assert!(resource["host.arch"] == "amd64" && resource["host.name"] != Value::Null, "{resource}");
    let attributes = file["attributes"].to_string();
    for key in ["process.pid", "thread.id", "thread.name", "process.executable.name", "profile.frame.type"] {
        assert!(attributes.contains(&format!("\"{key}\"")), "{key}: {attributes}");
    }
}

#[test]
fn stacks_are_those_of_folded_output() {
    let Some(clients) = programs::directory() else { return };
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = symbols.join("files").display().to_string();
    let (mut compared, kernel) = (0, kernel_symbols(directory.path()));
    for name in ["dwarf.data", "both.data", "detour.data", "words.data", "c.data"] {
        let args = ["--symfs", &files, "--kallsyms", &kernel, "--labels", "none"];
        let output = directory.path().join("out.otlp");
        let file = convert(clients, &symbols.join(name), &output, &args).expect("a file");
        let folded = directory.path().join("out.folded");
        succeed(perfconv().arg(symbols.join(name)).arg("-o").arg(&folded).args(["-f", "-q"]).args(args));
        let folded = fs::read_to_string(&folded).expect("folded stacks");
        let line =
            |line: &str| line.rsplit_once(' ').map(|(stack, count)| (stack.to_owned(), count.parse().unwrap_or(0)));
        let expected: BTreeMap<String, u64> = folded.lines().filter_map(line).collect();
        let mut stacks = BTreeMap::new();
        for (key, sum) in file["stacks"].as_object().into_iter().flatten() {
            let (stack, number): (String, u64) = serde_json::from_str(key).expect("a stack");
            if number == 1 {
                *stacks.entry(stack).or_insert(0) += sum.as_u64().unwrap_or(0);
            }
        }
        let other = stacks.iter().find(|(stack, sum)| expected.get(*stack) != Some(sum));
        assert!(
            other.is_none() && stacks.len() == expected.len(),
            "{name}: {other:?}, {} of {}",
            stacks.len(),
            expected.len()
        );
        compared += stacks.len();
    }
    note!("otlp: {compared} stacks are those of folded output");
    assert!(compared > 60, "{compared}");
}

#[test]
fn otlp_of_changed_recordings() {
    let Some(clients) = programs::directory() else { return };
    totals::compare_changed("otlp", |recording, expected, args| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = convert(clients, recording, &directory.path().join("out.otlp"), args)?;
        Ok((totals_of(&file, expected), file.to_string()))
    });
}
