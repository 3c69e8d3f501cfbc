//! Profiles of the Firefox Profiler.

use crate::common::files::{self, fixture};
use crate::common::firefox::{convert, key};
use crate::common::program::{perfconv, run, succeed};
use crate::common::totals::{self, Totals};
use serde_json::Value;
use std::path::Path;

/// The totals, after checks of the references between tables.
fn totals_of(profile: &Value, expected: &Totals) -> Result<Totals, String> {
    let shared = &profile["shared"];
    let length = |table: &str| shared[table]["length"].as_u64().unwrap_or(0);
    let column = |table: &str, column: &str| shared[table][column].as_array().cloned().unwrap_or_default();
    let strings = shared["stringArray"].as_array().map_or(0, Vec::len) as u64;
    for (table, of, limit) in [
        ("stackTable", "frame", length("frameTable")),
        ("stackTable", "prefix", length("stackTable")),
        ("frameTable", "func", length("funcTable")),
        ("frameTable", "nativeSymbol", length("nativeSymbols")),
        ("funcTable", "name", strings),
        ("funcTable", "source", length("sources")),
        ("resourceTable", "lib", profile["libs"].as_array().map_or(0, Vec::len) as u64),
    ] {
        let values = column(table, of);
        if values.len() as u64 != length(table) || values.iter().any(|value| value.as_u64() >= Some(limit)) {
            return Err(format!("{table}.{of} refers to what does not exist"));
        }
    }
    let mut totals = Totals::new();
    for thread in profile["threads"].as_array().ok_or("no threads")? {
        let samples = &thread["samples"];
        let [stacks, times, weights] =
            ["stack", "time", "weight"].map(|name| samples[name].as_array().cloned().unwrap_or_default());
        let count = samples["length"].as_u64().ok_or("no length")?;
        let times: Vec<_> = times.iter().filter_map(Value::as_f64).collect();
        if [stacks.len(), times.len(), weights.len()] != [count as usize; 3] || !times.is_sorted() {
            return Err("columns of samples differ in length, or are not in time order".to_owned());
        }
        if stacks.iter().any(|stack| stack.as_u64() >= Some(length("stackTable"))) {
            return Err("a stack does not exist".to_owned());
        }
        if count == 0 {
            continue;
        }
        let is_time = samples["weightType"] == "tracing-ms";
        let weight = |weight: &Value| {
            if is_time { (weight.as_f64().unwrap_or(0.0) * 1e6).round() as u64 } else { weight.as_u64().unwrap_or(0) }
        };
        let total = totals.entry(key(thread, expected)).or_default();
        *total = (total.0 + count, total.1 + weights.iter().map(weight).sum::<u64>());
    }
    Ok(totals)
}

#[test]
fn firefox_totals_equal_the_profile() {
    let recordings = files::recordings();
    let enough = if files::has_corpus("firefox") { 500 } else { 20 };
    totals::compare("firefox", &recordings, enough, |recording, expected| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let output = directory.path().join("out.fx.json.gz");
        let profile = convert(&recording.path, &output, &["--symbols", "no"])?;
        totals::check_equal(&totals_of(&profile, expected)?, expected)
    });
}

#[test]
fn threads_have_categories_inlined_functions_and_libraries() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = symbols.join("files").display().to_string();
    let profile = convert(&symbols.join("cxx.data"), &directory.path().join("out.fx.json.gz"), &["--symfs", &files])
        .expect("a profile");
    let frames = &profile["shared"]["frameTable"];
    let deepest = frames["inlineDepth"].as_array().into_iter().flatten().filter_map(Value::as_u64).max();
    assert!(deepest > Some(2), "{deepest:?}");
    assert!(frames["line"].as_array().into_iter().flatten().any(|line| line.as_u64() > Some(0)));
    assert!(frames["category"].as_array().into_iter().flatten().any(|category| category == 1), "kernel");
    let lib =
        profile["libs"].as_array().into_iter().flatten().find(|lib| lib["name"] == "foundry-fp").expect("a library");
    let (code_id, debug_id) = (lib["codeId"].as_str().unwrap_or(""), lib["breakpadId"].as_str().unwrap_or(""));
    assert!(code_id.len() == 40 && debug_id.len() == 33 && debug_id.ends_with('0'), "{lib}");
    let names: Vec<_> =
        profile["threads"].as_array().into_iter().flatten().map(|thread| thread["name"].clone()).collect();
    assert_eq!(names, ["foundry-fp", "smith"]);
}

#[test]
fn context_switches_and_tracepoints_are_markers() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.fx.json.gz");
    let markers = |recording: &Path| {
        let profile = convert(recording, &output, &["--symbols", "no"]).expect("a profile");
        let data = profile["threads"].as_array().cloned().unwrap_or_default();
        data.iter()
            .flat_map(|thread| thread["markers"]["data"].as_array().cloned().unwrap_or_default())
            .collect::<Vec<_>>()
    };
    let tracepoints = markers(&fixture("tracepoints.data"));
    assert!(
        tracepoints.iter().any(|data| data["fields"].as_str().is_some_and(|fields| fields.contains("prev_comm="))),
        "{tracepoints:?}"
    );
    let recording = directory.path().join("switches.data");
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/switches.toml");
    succeed(perfconv().arg("synth").arg(scenario).arg("-o").arg(&recording).arg("-q"));
    let switches = markers(&recording);
    assert!(switches.iter().any(|data| data["type"] == "Running"), "{switches:?}");
}

#[test]
fn other_events_are_counters_of_processes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.fx.json.gz");
    let profile = convert(&fixture("two-events.data"), &output, &["--symbols", "no"]).expect("a profile");
    let counters = profile["counters"].as_array().cloned().unwrap_or_default();
    let processes: Vec<_> = counters.iter().map(|counter| counter["pid"].as_str().unwrap_or_default()).collect();
    assert_eq!(processes, ["203", "210", "211"]);
    let mut sum = 0.0;
    for counter in &counters {
        assert_eq!((&counter["name"], &counter["event"]), (&"task-clock (ms)".into(), &"task-clock".into()));
        let thread = &profile["threads"][counter["mainThreadIndex"].as_u64().expect("a thread") as usize];
        assert!(thread["pid"] == counter["pid"] && thread["isMainThread"] == true, "{thread}");
        let column = |name: &str| -> Vec<f64> {
            let values = counter["samples"][name].as_array().into_iter().flatten();
            values.map(|value| value.as_f64().expect("a number")).collect()
        };
        let (times, counts) = (column("time"), column("count"));
        assert!(times.is_sorted() && times.len() == counts.len() && counter["samples"]["length"] == times.len());
        sum += counts.iter().sum::<f64>();
    }
    assert!((sum - 121.212_12).abs() < 1e-6, "{sum} ms");
    // They repeat what threads have, so that an import loses nothing.
    let imported = run(perfconv().arg(&output).args(["-t", "folded", "--event", "task-clock", "-o", "-"]));
    assert!(imported.status == 0 && !imported.stderr.contains("counters"), "{}", imported.stderr);

    let one = convert(&fixture("two-events.data"), &output, &["--symbols", "no", "--event", "cpu-clock"]);
    assert_eq!(one.expect("a profile")["counters"], Value::Array(Vec::new()));
}

#[test]
fn threads_have_lifetimes_and_wall_clock_times() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.fx.json.gz");
    let profile = convert(&fixture("forks.data"), &output, &["--symbols", "no"]).expect("a profile");
    let threads = profile["threads"].as_array().cloned().unwrap_or_default();
    let lives: Vec<_> = threads
        .iter()
        .filter_map(|thread| thread["registerTime"].as_f64().zip(thread["unregisterTime"].as_f64()))
        .collect();
    assert!(lives.len() > 4 && lives.iter().all(|(start, end)| start < end), "{lives:?}");
}
