//! Files of speedscope, in its page.

use super::programs;
use crate::common::files::{self, fixture};
use crate::common::program::{self};
use crate::common::speedscope::convert;
use crate::common::totals::{self, Totals};
use serde_json::Value;

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
    let Some(clients) = programs::directory().filter(|_| programs::has_browser()) else { return };
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
        programs::python(clients, VALIDATE, &[&schema, &output])?;
        let page = programs::speedscope(clients, &output);
        // A single profile is not listed, but the title shows that it is loaded.
        if file["profiles"].as_array().map_or(0, Vec::len) < 2 {
            if !page.title.starts_with(file["name"].as_str().unwrap_or_default()) {
                return Err(format!("the title of the page is {:?}", page.title));
            }
            return totals::check_equal(&totals_of(&file, expected)?, &totals::counts(expected));
        }
        let mut totals = Totals::new();
        for (name, value) in &page.profiles {
            let total = totals.entry(thread_and_event(name, expected)).or_default();
            let samples: u64 = value.replace(',', "").parse().map_err(|_| format!("{name}: {value}"))?;
            *total = (total.0 + samples, total.1 + samples);
        }
        totals::check_equal(&totals, &totals::counts(expected))
    });
}

#[test]
fn speedscope_reads_compressed_files() {
    let Some(clients) = programs::directory().filter(|_| programs::has_browser()) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [plain, compressed] = ["forks.speedscope.json", "forks.speedscope.json.gz"].map(|name| {
        let output = directory.path().join(name);
        let run = program::convert(&fixture("forks.data"), &output);
        assert_eq!(run.status, 0, "{}", run.stderr);
        programs::speedscope(clients, &output).profiles
    });
    assert!(plain.len() > 3 && plain == compressed, "{plain:?} {compressed:?}");
}
