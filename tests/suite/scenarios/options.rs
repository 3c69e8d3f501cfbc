//! Options of `synth`: seed and scale.

use std::fs;

use crate::common::consumers::linux_perf_data;
use crate::common::scenarios::{scenario, synth};

#[test]
fn output_is_reproducible() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| dir.path().join(name);
    let path = scenario("callgraph.toml");
    synth(&path, &file("one.data"), &["--images", file("images").to_str().expect("a path")]);
    synth(&path, &file("same.data"), &[]);
    synth(&path, &file("other.data"), &["--seed", "2"]);
    synth(&path, &file("twice.data"), &["--scale", "2"]);
    let bytes = |name: &str| fs::read(file(name)).expect("a recording");
    assert!(bytes("one.data") == bytes("same.data") && bytes("one.data") != bytes("other.data"));
    // Whatever the options, it has as many samples.
    let samples = |name: &str| linux_perf_data(&file(name)).expect("a reader").expect("a readable recording");
    assert_eq!(samples("twice.data"), 2 * samples("one.data"));
}
