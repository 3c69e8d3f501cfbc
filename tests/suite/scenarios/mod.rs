//! Recordings that are made up: each scenario in `scenarios/` says what readers are to see, and they do.

mod branches;
mod coverage;
mod forms;
mod readers;
mod schema;
mod wrong;

use std::fs;
use std::path::{Path, PathBuf};

use super::program::{perfconv, run};

/// The committed scenarios.
fn scenarios() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let found = fs::read_dir(folder).expect("scenarios").map(|entry| entry.expect("a file").path());
    let mut found: Vec<_> = found.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    found.sort();
    assert!(found.len() >= 40, "only {} scenarios were found", found.len());
    found
}

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name)
}

/// Its name without an ending.
fn name(scenario: &Path) -> &str {
    scenario.file_stem().and_then(|name| name.to_str()).expect("a name")
}

fn synth(scenario: &Path, output: &Path, args: &[&str]) {
    let run = run(perfconv().arg("synth").arg(scenario).arg("-o").arg(output).args(args));
    assert_eq!(run.status, 0, "{scenario:?} {args:?}: {}", run.stderr);
}
