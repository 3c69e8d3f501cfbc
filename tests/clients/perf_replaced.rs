//! Programs that run perf, or read its text, with `perfconv perf` in its place: their outputs equal those with perf 6.1.

use super::programs;
use crate::common::oracle::note_missing_oracle;
use crate::common::program::{run_other, with_time_limit};
use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Stands for sudo, without which 0x does not run perf. It does not edit the recording.
const SUDO: &str = r#"#!/bin/sh
[ "$1" = -E ] && shift
[ "$1" = sed ] || exec "$@"
"#;

/// Stands for perf: instead of recording a program, it prints a recording. Inlined functions are omitted, of which perf finds few.
const PERF: &str = r#"#!/bin/sh
[ "$1" = record ] || exec $REAL_PERF script --no-inline --symfs "$SYMFS" -i "$RECORDING"
"#;

/// A recording, its program, and one of its functions.
const RECORDING: &str = "words.data";
const FILES: &str = "files";
const FUNCTION: &str = "count_words";

/// The commands of perf and of perfconv; `None` if perf 6.1 is missing.
fn perfs() -> Option<[String; 2]> {
    if !run_other(with_time_limit("perf").arg("--version")).stdout.starts_with(b"perf version 6.1.") {
        note_missing_oracle("perf 6.1");
        return None;
    }
    // By its path, since scripts have its name in PATH.
    let path = env::var_os("PATH").unwrap_or_default();
    let perf = env::split_paths(&path).map(|directory| directory.join("perf")).find(|perf| perf.is_file())?;
    Some([perf.display().to_string(), format!("{} perf", env!("CARGO_BIN_EXE_perfconv"))])
}

fn symbols(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(name)
}

fn write_script(path: &Path, text: &str) {
    fs::write(path, text).expect("a written file");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("an executable file");
}

/// Compares outputs of a program with both.
fn compare(program: &str, outputs: [String; 2]) {
    let [with_perf, ours] = outputs;
    assert!(with_perf.contains(FUNCTION), "{program}: no functions in {with_perf}");
    assert!(ours == with_perf, "{program}: outputs of {} and {} bytes differ", with_perf.len(), ours.len());
    note!("{program}: {} bytes equal those with perf", ours.len());
}

#[test]
fn zerox_draws_the_flame_graph_that_it_draws_with_perf() {
    let Some((clients, perfs)) = programs::directory().zip(perfs()) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_script(&directory.path().join("sudo"), SUDO);
    write_script(&directory.path().join("perf"), PERF);
    let path = format!("{}:{}", directory.path().display(), env::var("PATH").unwrap_or_default());
    let pages = perfs.map(|perf| {
        let output = directory.path().join("output");
        let mut zerox = with_time_limit("node");
        zerox.arg(clients.join("node_modules/0x/cmd.js")).args(["--kernel-tracing", "--name", "graph", "-D"]);
        zerox.arg(&output).args(["--", "node", "-e", "0"]).current_dir(directory.path());
        zerox.env("PATH", &path).env("REAL_PERF", perf).env("HOME", directory.path());
        let run = run_other(zerox.env("RECORDING", symbols(RECORDING)).env("SYMFS", symbols(FILES)));
        let page = fs::read_to_string(output.join("graph.html"));
        let page = page.unwrap_or_else(|error| panic!("0x: {error}: {}", run.stderr));
        fs::remove_dir_all(&output).expect("a removed directory");
        page
    });
    compare("0x 6.0", pages);
}

#[test]
fn gprof2dot_draws_the_graph_that_it_draws_with_perf() {
    let Some((clients, perfs)) = programs::directory().zip(perfs()) else { return };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let wrapper = directory.path().join("perf");
    write_script(&wrapper, PERF);
    let graphs = perfs.map(|perf| {
        let mut script = with_time_limit(wrapper.to_str().expect("the path is UTF-8"));
        script.env("RECORDING", symbols(RECORDING)).env("SYMFS", symbols(FILES)).env("REAL_PERF", perf);
        let text = directory.path().join("perf.txt");
        fs::write(&text, run_other(script.env("HOME", directory.path()).arg("script")).stdout).expect("a written file");
        let code = "import sys, gprof2dot; gprof2dot.main(['-f', 'perf', sys.argv[1]])";
        programs::python(clients, code, &[&text]).expect("gprof2dot should read the text")
    });
    compare("gprof2dot 2025.4", graphs);
}
