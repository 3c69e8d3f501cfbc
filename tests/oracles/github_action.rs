//! The steps of the GitHub Action, run as shell scripts.

use crate::common::oracle::has_program;
use crate::common::program::{Run, perfconv, run_other, succeed, with_time_limit};
use std::fs;
use std::path::Path;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The scripts of the steps.
fn scripts() -> Vec<String> {
    let action = fs::read_to_string(Path::new(REPOSITORY).join("action.yml")).unwrap();
    let steps = action.split("      run: |\n").skip(1);
    let is_in_script = |line: &&str| line.is_empty() || line.starts_with("        ");
    steps.map(|step| step.lines().take_while(is_in_script).map(|line| format!("{}\n", line.trim())).collect()).collect()
}

/// Runs the steps with these inputs, as a runner does.
fn run_steps(directory: &Path, base: &str, limit: &str) -> Run {
    let program = Path::new(env!("CARGO_BIN_EXE_perfconv")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut scripts = scripts();
    assert_eq!(scripts.len(), 3);
    if base.is_empty() {
        scripts.pop();
    }
    let mut shell = with_time_limit("bash");
    shell.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", &scripts.concat()]).current_dir(directory);
    let inputs = [("RECORDING", "new.data"), ("BASE", base), ("LIMIT", limit), ("OPTIONS", "--symfs files")];
    shell.envs(inputs).env("DIRECTORY", "out").env("GITHUB_STEP_SUMMARY", directory.join("summary.md"));
    run_other(shell.env("PATH", path).env("HOME", directory).env("GITHUB_ACTION_PATH", REPOSITORY))
}

#[test]
fn steps_report_and_compare_a_recording() {
    if !has_program("jq") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path();
    let symbols = Path::new(REPOSITORY).join("roundtrip/symbols");
    fs::copy(symbols.join("words.data"), workspace.join("new.data")).unwrap();
    std::os::unix::fs::symlink(symbols.join("files"), workspace.join("files")).unwrap();
    let done = run_steps(workspace, "", "");
    assert_eq!(done.status, 0, "{}", done.stderr);
    let summary = fs::read_to_string(workspace.join("summary.md")).unwrap();
    assert!(summary.starts_with("# Profile") && summary.contains("`find`"), "{summary}");
    assert!(fs::read_to_string(workspace.join("out/profile.html")).unwrap().starts_with("<!DOCTYPE html>"));

    let mut base = perfconv();
    base.arg(workspace.join("new.data")).args(["-q", "--time", "0%-40%", "-o"]).arg(workspace.join("base.data"));
    succeed(&mut base);
    assert_eq!(run_steps(workspace, "base.data", "90").status, 0);
    let summary = fs::read_to_string(workspace.join("summary.md")).unwrap();
    assert!(summary.contains("## Changes since the base") && workspace.join("out/diff.html").exists(), "{summary}");
    let failed = run_steps(workspace, "base.data", "0.5");
    let text = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(failed.status == 1 && text.contains("::error::the share of "), "{text} {}", failed.stderr);
}
