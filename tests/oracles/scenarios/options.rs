//! Options of `synth`: perf prints the same in every container and byte order.

use super::readers::perf_script;
use crate::common::scenarios::{scenario, synth};

#[test]
fn perf_prints_the_same_in_every_container_and_byte_order() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| dir.path().join(name);
    let path = scenario("callgraph.toml");
    synth(&path, &file("one.data"), &["--images", file("images").to_str().expect("a path")]);
    synth(&path, &file("twice.data"), &["--scale", "2"]);
    let Some(plain) = perf_script(&file("one.data"), &file("images"), dir.path()) else { return };
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
    note!("scenarios: {compared} samples of {} sets of options compared with perf script", option_sets.len());
    assert_eq!(compared, 5 * 3200);
}
