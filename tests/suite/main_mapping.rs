//! The main mapping of a profile: the recorded program.

use crate::common::main_mapping::{SHIM, recording};
use crate::common::program::{self, perfconv, succeed};
use perfconv::synth::RecordingBuilder;
use std::fs;
use std::path::Path;

/// The file names of the mappings in the profile of a recording.
fn mappings(recording: &RecordingBuilder, args: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (data, output) = (dir.path().join("perf.data"), dir.path().join("out.pb.gz"));
    fs::write(&data, recording.to_bytes().expect("a recording")).expect("the file should be writable");
    succeed(perfconv().arg(&data).args(["-q", "-o"]).arg(&output).args(args));
    names(&output)
}

fn names(profile: &Path) -> Vec<String> {
    let profile = program::profile(profile);
    let name = |index: i64| profile.string_table[index as usize].clone();
    profile.mapping.iter().map(|mapping| name(mapping.filename)).collect()
}

fn first(recording: &RecordingBuilder) -> String {
    mappings(recording, &[]).swap_remove(0)
}

#[test]
fn an_interpreter_started_by_a_shim_is_the_main_program() {
    for command in ["perf record -- python3 x.py", "perf record -g -o x.data /shims/python3 x.py", "perf record -p 7"] {
        assert_eq!(first(&recording(command, None, &SHIM)), "/usr/bin/python3.11", "{command}");
        assert_eq!(first(&recording(command, Some(7), &SHIM)), "/usr/bin/python3.11", "{command}");
    }
}

#[test]
fn a_launcher_with_few_samples_is_not_the_main_program() {
    let build = [(7, "/usr/bin/make", 3), (8, "/usr/lib/gcc/cc1", 60), (9, "/usr/bin/as", 20)];
    assert_eq!(first(&recording("perf record make -j2", Some(7), &build)), "/usr/lib/gcc/cc1");
    let server = [(7, "/opt/server", 20), (8, "/usr/bin/gzip", 80)];
    assert_eq!(first(&recording("perf record -g /opt/server", Some(7), &server)), "/opt/server");
}

#[test]
fn many_short_processes_of_one_program_count_together() {
    let mut processes = vec![(7, "/bin/sh", 5)];
    processes.extend((8..18).map(|pid| (pid, "/bin/cat", 2)));
    assert_eq!(first(&recording("perf record ./run.sh", Some(7), &processes)), "/bin/cat");
}

#[test]
fn a_system_wide_recording_has_no_main_program() {
    let unnamed = ["", "/usr/bin/bash", "/usr/bin/python3.11"];
    for command in ["perf record -a", "perf record -ag -- python3 x.py", "perf record -C 0 python3 x.py"] {
        assert_eq!(mappings(&recording(command, None, &SHIM), &[]), unnamed, "{command}");
    }
    // perf sched record passes -a to perf record.
    assert_eq!(mappings(&recording("perf sched record python3 x.py", Some(-1), &SHIM), &[]), unnamed);
    let other = [(7, "/usr/bin/python3.11", 10), (8, "/usr/bin/bash", 10)];
    let filtered = mappings(&recording("perf record -a", Some(-1), &other), &["--pid", "8"]);
    assert_eq!(filtered, ["/usr/bin/bash"], "expected the only program with samples");
}

#[test]
fn each_part_of_a_split_has_its_own_main_program() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (data, parts) = (dir.path().join("perf.data"), dir.path().join("parts"));
    let system = recording("perf record -a", Some(-1), &[(7, "/bin/a", 5), (8, "/bin/b", 5), (8, "/bin/c", 9)]);
    fs::write(&data, system.to_bytes().expect("a recording")).expect("the file should be writable");
    succeed(perfconv().arg(&data).args(["-q", "--split-by", "pid", "-o"]).arg(&parts));
    let first = |name: &str| names(&parts.join(name)).swap_remove(0);
    assert_eq!([first("7.pb.gz"), first("8.pb.gz")], ["/bin/a", "/bin/c"]);
}
