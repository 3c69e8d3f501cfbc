//! Invalid scenarios: the message names file, line and key, and nothing is written.

use std::fs;

use crate::common::program::{perfconv, run};
use crate::common::scenarios::{scenario, synth};

#[test]
fn rejects_invalid_scenarios_without_writing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| dir.path().join(name);
    let good = fs::read_to_string(scenario("callgraph.toml")).expect("a scenario");
    for (from, to, message) in [
        ("rate = 1000", "ratio = 1000", "unknown field `ratio`"),
        ("\"parse\"] }", "\"pars\"] }", "process.thread.stack.frames: unknown function 'pars'"),
        ("percent = 60", "percent = 61", "add up to 101, not 100"),
        ("\"2s\"", "\"-2s\"", "duration: '-2s' is not a duration"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        fs::write(file("invalid.toml"), &text).expect("a scenario");
        let command = &mut perfconv();
        let run = run(command.arg("synth").arg(file("invalid.toml")).arg("-o").arg(file("out.data")));
        let line = text.lines().position(|line| line.contains(to)).expect("the line") + 1;
        let failure = run.failure().expect("the command should fail");
        assert!(failure.contains(&format!("invalid.toml:{line}: ")) && failure.contains(message), "{failure}");
        let left = fs::read_dir(dir.path()).expect("a directory").count();
        assert_eq!(left, 1, "only the scenario should exist");
    }
    synth(&scenario("callgraph.toml"), &file("out.data"), &["--images", file("images").to_str().expect("a path")]);
    let command = &mut perfconv();
    command.arg("synth").arg(scenario("callgraph.toml")).arg("-o").arg(file("new.data"));
    let repeated = run(command.arg("--images").arg(file("images")));
    assert!(repeated.status == 1 && repeated.stderr.contains("images") && !file("new.data").exists(), "{repeated:?}");
}
