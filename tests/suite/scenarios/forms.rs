//! A scenario in any container and byte order, of any length.

use std::fs;
use std::io::{self, Write};

use super::readers::perf_script;
use super::{scenario, synth};

#[test]
fn a_scenario_can_be_in_any_form_and_is_always_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let path = scenario("callgraph.toml");
    synth(&path, &file("one.data"), &["--images", file("images").to_str().expect("a path")]);
    synth(&path, &file("same.data"), &[]);
    synth(&path, &file("other.data"), &["--seed", "2"]);
    synth(&path, &file("twice.data"), &["--scale", "2"]);
    let bytes = |name: &str| fs::read(file(name)).expect("a recording");
    assert!(bytes("one.data") == bytes("same.data") && bytes("one.data") != bytes("other.data"));
    let Some(plain) = perf_script(&file("one.data"), &file("images"), folder.path()) else {
        return writeln!(io::stderr(), "scenarios: there is no perf, forms are not compared").unwrap();
    };
    let mut compared = 0;
    let forms: [&[&str]; 5] = [
        &["--container", "pipe"],
        &["--container", "dir"],
        &["--compress"],
        &["--endian", "big"],
        &["--container", "pipe", "--compress"],
    ];
    for (number, form) in forms.iter().enumerate() {
        let output = file(&format!("form-{number}"));
        synth(&path, &output, form);
        let told = perf_script(&output, &file("images"), folder.path()).expect("perf is there");
        assert_eq!((&told.events, &told.comms, &told.complaint[..]), (&plain.events, &plain.comms, ""), "{form:?}");
        compared += told.samples;
    }
    let twice = perf_script(&file("twice.data"), &file("images"), folder.path()).expect("perf is there");
    assert_eq!(twice.samples, 2 * plain.samples);
    writeln!(io::stderr(), "scenarios: {compared} samples in {} forms compared with perf script", forms.len()).unwrap();
    assert_eq!(compared, 5 * 3200);
}
