//! `-t perf-json`: without `--exact`, samples have more fields.

use crate::common::files::fixture;
use crate::common::perf_json::convert;
use crate::common::program::{perfconv, run};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn default_output_has_additional_members() {
    let json = convert(&fixture("callgraph.data"), &[]).unwrap();
    let sample = &json["samples"][0];
    assert_eq!(sample["event"], "cpu-clock");
    assert_eq!(sample["period"], 250_000);
    assert_eq!(sample["cpumode"], "USER");
    let frame = &sample["callchain"][0];
    assert_eq!(frame["dso"], "ld-linux-x86-64.so.2");
    assert_eq!(frame["build_id"], "7ebc65e52f2bbea498b4040fa92f7238377aaba9");
    let exact = convert(&fixture("callgraph.data"), &["--exact", "--symbols", "no"]).unwrap();
    assert_eq!(exact["samples"][0].as_object().unwrap().len(), 5);
    assert_eq!(exact["samples"][0]["callchain"][0].as_object().unwrap().len(), 1);
    assert_eq!(exact["samples"].as_array().unwrap().len(), 377);
    let weight = convert(&fixture("weight.data"), &[]).unwrap();
    assert!(!weight["samples"][0]["weight"].is_null());
    // A tracepoint field with the same name as a member of the sample.
    let fork = convert(&fixture("tracepoints.data"), &[]).unwrap();
    let samples = fork["samples"].as_array().unwrap();
    assert!(samples.iter().any(|sample| sample["_pid"].is_string() && sample["pid"].is_number()));
    assert!(samples.iter().all(|sample| sample["pid"].is_number()));
}

#[test]
fn converts_pipes_and_recordings_without_dropping_samples() {
    let pipe = convert(&fixture("pipe-tracepoints.data"), &["--exact"]).unwrap();
    assert_eq!(pipe["headers"]["data-offset"], 0);
    assert!(pipe["samples"].as_array().unwrap().iter().any(|sample| sample["next_comm"].is_string()));
    let forks = run(perfconv().arg(fixture("forks.data")).args(["-t", "perf-json", "--exact", "-o", "-"]));
    assert_eq!(forks.ledger().unwrap().dropped, 0);
    let other = run(perfconv().arg(fixture("plain.data")).args(["-t", "pprof", "--exact", "-o", "-"]));
    assert_eq!((other.status, &*other.stderr), (2, "perfconv: --exact applies to perf-json, not to pprof\n"));
}

#[test]
fn exact_frames_have_one_function_and_its_file() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let files = directory.join("files");
    let named = ["--exact", "--kallsyms", "/dev/null", "--symfs", files.to_str().unwrap()];
    let json = convert(&directory.join("cxx.data"), &named).unwrap();
    let frames = json["samples"].as_array().unwrap().iter().flat_map(|sample| sample["callchain"].as_array().unwrap());
    let mut functions = BTreeSet::new();
    for frame in frames {
        let keys: Vec<_> = frame.as_object().unwrap().keys().map(|key| &**key).collect();
        assert!(keys == ["ip"] || keys == ["dso", "ip", "symbol"], "{frame}");
        functions.extend(frame["symbol"].as_str().map(str::to_owned));
    }
    assert!(functions.contains("main") && functions.iter().any(|name| name.contains("::")), "{functions:?}");
    assert!(functions.contains("foundry::v2::smithy"), "as perf 6.1, without parameters: {functions:?}");
}
