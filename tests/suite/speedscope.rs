//! Files of speedscope.

use super::clients;
use super::files::{self, fixture};
use super::program::{self, perfconv, run};
use super::totals::{self, Totals};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn convert(recording: &Path, output: &Path, args: &[&str]) -> Result<Value, String> {
    let run = run(perfconv().arg(recording).arg("-o").arg(output).args(["-f", "-q"]).args(args));
    if run.status != 0 {
        return Err(run.stderr);
    }
    serde_json::from_slice(&fs::read(output).expect("an output")).map_err(|error| error.to_string())
}

/// The thread and the event of a profile's name. With one event it is not in the name.
fn thread_and_event(name: &str, expected: &Totals) -> (String, String) {
    let event = totals::event_of(name, expected);
    let name = name.strip_suffix(&event).map_or(name, str::trim_end);
    let thread = name.rsplit(' ').next().filter(|word| word.contains('/')).unwrap_or_default();
    (thread.to_owned(), event)
}

fn totals_of(file: &Value, expected: &Totals) -> Result<Totals, String> {
    let mut totals = Totals::new();
    let frames = file["shared"]["frames"].as_array().ok_or("no frames")?.len() as u64;
    for profile in file["profiles"].as_array().ok_or("no profiles")? {
        let key = thread_and_event(profile["name"].as_str().ok_or("no name")?, expected);
        let [samples, weights] =
            ["samples", "weights"].map(|name| profile[name].as_array().cloned().unwrap_or_default());
        let sum: u64 = weights.iter().filter_map(Value::as_u64).sum();
        if samples.len() != weights.len() || Some(sum) != profile["endValue"].as_u64() {
            return Err(format!("{key:?}: {} samples, {} weights with sum {sum}", samples.len(), weights.len()));
        }
        if samples
            .iter()
            .flat_map(|stack| stack.as_array().into_iter().flatten())
            .any(|frame| frame.as_u64() >= Some(frames))
        {
            return Err(format!("{key:?}: invalid frame"));
        }
        let total = totals.entry(key).or_default();
        *total = (total.0 + samples.len() as u64, total.1 + sum);
    }
    Ok(totals)
}

#[test]
fn speedscope_totals_equal_the_profile() {
    let recordings = files::recordings();
    let enough = if files::has_corpus("speedscope") { 300 } else { 15 };
    totals::compare("speedscope", &recordings, enough, |recording, expected| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = directory.path().join("out.speedscope.json");
        let file = convert(&recording.path, &output, &["--symbols", "no"])?;
        totals::check_equal(&totals_of(&file, expected)?, expected)
    });
}

#[test]
fn speedscope_lists_the_threads() {
    const ONE_OF: usize = 64;
    let Some(clients) = clients::directory().filter(|_| clients::has_browser()) else { return };
    let schema = clients.join("node_modules/speedscope/dist/release/file-format-schema.json");
    const VALIDATE: &str = "import json, sys, jsonschema
schema, document = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.validate(document, schema)";
    let directory = tempfile::tempdir().expect("a temporary directory");
    let enough = files::enough("speedscope", ONE_OF, 300, 15);
    totals::compare("speedscope 1.25", &files::share(ONE_OF), enough, |recording, expected| {
        let name = recording.name.replace(['.', '/'], "-");
        let output = directory.path().join(format!("{name}.speedscope.json"));
        let file = convert(&recording.path, &output, &["--weight", "samples", "--symbols", "no"])?;
        clients::python(clients, VALIDATE, &[&schema, &output])?;
        let page = clients::speedscope(clients, &output);
        // A single profile is not listed, but the title shows that it is loaded.
        if file["profiles"].as_array().map_or(0, Vec::len) < 2 {
            if !page.title.starts_with(file["name"].as_str().unwrap_or_default()) {
                return Err(format!("the title of the page is {:?}", page.title));
            }
            return totals::check_equal(&totals_of(&file, expected)?, &totals::counts(expected));
        }
        let mut found = Totals::new();
        for (name, value) in &page.profiles {
            let total = found.entry(thread_and_event(name, expected)).or_default();
            let samples: u64 = value.replace(',', "").parse().map_err(|_| format!("{name}: {value}"))?;
            *total = (total.0 + samples, total.1 + samples);
        }
        totals::check_equal(&found, &totals::counts(expected))
    });
}

#[test]
fn speedscope_reads_compressed_files() {
    let Some(clients) = clients::directory().filter(|_| clients::has_browser()) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [plain, compressed] = ["forks.speedscope.json", "forks.speedscope.json.gz"].map(|name| {
        let output = directory.path().join(name);
        let run = program::convert(&fixture("forks.data"), &output);
        assert_eq!(run.status, 0, "{}", run.stderr);
        clients::speedscope(clients, &output).profiles
    });
    assert!(plain.len() > 3 && plain == compressed, "{plain:?} {compressed:?}");
}

#[test]
fn speedscope_has_inlined_functions_and_lines() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = symbols.join("files").display().to_string();
    let frames = |what: &str| {
        let output = directory.path().join("out.speedscope.json");
        let file = convert(&symbols.join("cxx.data"), &output, &["--symfs", &files, "--frames", what]).expect("a file");
        let frames = file["shared"]["frames"].as_array().cloned().unwrap_or_default();
        let of_function = frames.iter().filter(|frame| frame["name"] == "foundry::v2::heap_phase");
        let lines: Vec<_> = of_function
            .map(|frame| (frame["file"].as_str().unwrap_or("").to_owned(), frame["line"].as_u64()))
            .collect();
        (frames.len(), lines)
    };
    let (functions, of_function) = frames("functions");
    let (lines, of_lines) = frames("lines");
    assert!(lines > functions && of_function.len() == 1 && of_lines.len() > 1, "{of_function:?} {of_lines:?}");
    assert!(of_lines.iter().chain(&of_function).all(|(file, line)| file.ends_with("foundry.cpp") && line.is_some()));
}

#[test]
fn labels_select_the_profiles() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.speedscope.json");
    let names = |labels: &str| {
        let file =
            convert(&fixture("system-wide.data"), &output, &["--labels", labels, "--symbols", "no"]).expect("a file");
        let names = file["profiles"].as_array().cloned().unwrap_or_default();
        names.iter().map(|profile| profile["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("none"), ["all threads"]);
    assert_eq!(names("timestamp_ns"), ["all threads"]);
    assert!(names("cpu").iter().all(|name| name.starts_with("cpu ")), "{:?}", names("cpu"));
}
