//! What is wrong in a scenario is told, and nothing is written.

use std::fs;

use super::super::program::{perfconv, run};
use super::{scenario, synth};

#[test]
fn what_is_wrong_in_a_scenario_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name);
    let good = fs::read_to_string(scenario("callgraph.toml")).expect("a scenario");
    for (from, to, message) in [
        ("rate = 1000", "ratio = 1000", "unknown field `ratio`"),
        ("\"parse\"] }", "\"pars\"] }", "process.thread.stack.frames: there is no function \"pars\""),
        ("percent = 60", "percent = 61", "are 101 together, not 100"),
        ("\"2s\"", "\"-2s\"", "duration: \"-2s\" is no time"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good);
        fs::write(file("wrong.toml"), &text).expect("a scenario");
        let command = &mut perfconv();
        let run = run(command.arg("synth").arg(file("wrong.toml")).arg("-o").arg(file("out.data")));
        let line = text.lines().position(|line| line.contains(to)).expect("the line") + 1;
        let failure = run.failure().expect("it fails");
        assert!(failure.contains(&format!("wrong.toml:{line}: ")) && failure.contains(message), "{failure}");
        let left = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(left, 1, "only the scenario is there");
    }
    synth(&scenario("callgraph.toml"), &file("out.data"), &["--images", file("images").to_str().expect("a path")]);
    let command = &mut perfconv();
    command.arg("synth").arg(scenario("callgraph.toml")).arg("-o").arg(file("new.data"));
    let again = run(command.arg("--images").arg(file("images")));
    assert!(again.status == 1 && again.stderr.contains("images") && !file("new.data").exists(), "{again:?}");
}
