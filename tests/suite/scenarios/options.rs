//! Options of `synth`: containers, byte orders, compression, seed, scale.

use std::fs;
use std::io::{self, Write};

use super::readers::perf_script;
use super::{scenario, synth};

#[test]
fn output_is_reproducible_in_every_container_and_byte_order() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| dir.path().join(name);
    let path = scenario("callgraph.toml");
    synth(&path, &file("one.data"), &["--images", file("images").to_str().expect("a path")]);
    synth(&path, &file("same.data"), &[]);
    synth(&path, &file("other.data"), &["--seed", "2"]);
    synth(&path, &file("twice.data"), &["--scale", "2"]);
    let bytes = |name: &str| fs::read(file(name)).expect("a recording");
    assert!(bytes("one.data") == bytes("same.data") && bytes("one.data") != bytes("other.data"));
    let Some(plain) = perf_script(&file("one.data"), &file("images"), dir.path()) else {
        return writeln!(io::stderr(), "scenarios: skipped comparing containers: no perf").unwrap();
    };
    let mut compared = 0;
    let option_sets: [&[&str]; 5] = [
        &["--container", "pipe"],
        &["--container", "dir"],
        &["--compress"],
        &["--endian", "big"],
        &["--container", "pipe", "--compress"],
    ];
    for (number, options) in option_sets.iter().enumerate() {
        let output = file(&format!("output-{number}"));
        synth(&path, &output, options);
        let printed = perf_script(&output, &file("images"), dir.path()).expect("perf should be installed");
        assert_eq!(
            (&printed.events, &printed.comms, &printed.messages[..]),
            (&plain.events, &plain.comms, ""),
            "{options:?}"
        );
        compared += printed.samples;
    }
    let twice = perf_script(&file("twice.data"), &file("images"), dir.path()).expect("perf should be installed");
    assert_eq!(twice.samples, 2 * plain.samples);
    writeln!(
        io::stderr(),
        "scenarios: {compared} samples of {} sets of options compared with perf script",
        option_sets.len()
    )
    .unwrap();
    assert_eq!(compared, 5 * 3200);
}
