//! Scenarios: readers print what each scenario in `scenarios/` expects.

mod branches;
mod coverage;
mod invalid;
mod options;
mod readers;
mod schema;

use std::fs;
use std::path::{Path, PathBuf};

use super::program::{perfconv, run};

/// The scenarios in the repository.
fn scenarios() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let found = fs::read_dir(dir).expect("scenarios").map(|entry| entry.expect("a file").path());
    let mut found: Vec<_> = found.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    found.sort();
    assert!(found.len() >= 40, "found only {} scenarios", found.len());
    found
}

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name)
}

/// The name without its extension.
fn name(scenario: &Path) -> &str {
    scenario.file_stem().and_then(|name| name.to_str()).expect("a name")
}

fn synth(scenario: &Path, output: &Path, args: &[&str]) {
    let run = run(perfconv().arg("synth").arg(scenario).arg("-o").arg(output).args(args));
    assert_eq!(run.status, 0, "{scenario:?} {args:?}: {}", run.stderr);
}
