//! What perf2bolt, llvm-profgen, llvm-profdata and gcc make of profiles.

use crate::common::branch_profiles::{Goldens, directory, profile};
use crate::common::oracle::{has_program, llvm_tool};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A recording, its program, and the profiles that tools made of the recording.
struct Case {
    name: &'static str,
    recording: PathBuf,
    files: PathBuf,
    program: PathBuf,
    llvm: Vec<u8>,
}

/// The repository's recording, and those beside the repository.
fn cases(goldens: Option<&Goldens>) -> Vec<Case> {
    let own = directory();
    let read = |name: &str| fs::read(own.join(name)).unwrap();
    let files = own.join("files");
    let mut cases = vec![Case {
        name: "sieve",
        recording: own.join("sieve.data"),
        program: files.join("srv/bin/sieve"),
        files,
        llvm: read("sieve.llvm.txt"),
    }];
    let names =
        [("sorter", "sorter"), ("interp", "interp"), ("interp-gcc", "interp-gcc"), ("squeeze-nochain", "squeeze")];
    if let Some(goldens) = goldens {
        cases.extend(names.map(|(name, program)| Case {
            name,
            recording: goldens.recording(name),
            files: goldens.files(),
            program: goldens.files().join("opt/bench").join(program),
            llvm: goldens.golden(&format!("{program}.llvm.txt")),
        }));
    }
    cases
}

/// Writes a profile of a case to a file.
fn write(case: &Case, arguments: &str, target: &Path) {
    let run = profile(&case.recording, &case.files, arguments);
    assert_eq!(run.status, 0, "{}: {}", case.name, run.stderr);
    fs::write(target, run.stdout).unwrap();
}

/// Versions of perf2bolt differ in the returns that they keep.
#[test]
fn perf2bolt_makes_the_same_of_our_records_as_of_the_recording() {
    let Some(perf2bolt) = llvm_tool("perf2bolt").filter(|_| has_program("perf")) else { return };
    let (goldens, work) = (Goldens::find(), tempfile::tempdir().unwrap());
    let [records, output] = ["in.preagg", "out.fdata"].map(|name| work.path().join(name));
    let mut lines = 0;
    // Version 16 misplaces what it reads from recordings of position-independent programs.
    for case in cases(goldens.as_ref()).into_iter().filter(|case| case.name != "squeeze-nochain") {
        write(&case, "-t bolt", &records);
        let profile = |arguments: &[&str], input: &Path| {
            let mut command = Command::new(&perf2bolt);
            command.args(arguments).arg("-p").arg(input).arg(&case.program).arg("-o").arg(&output);
            let run = command.output().unwrap();
            assert!(run.status.success(), "{}: {}", case.name, String::from_utf8_lossy(&run.stderr));
            String::from_utf8(fs::read(&output).unwrap()).unwrap()
        };
        let [ours, theirs] = [profile(&["--pa"], &records), profile(&[], &case.recording)];
        let [ours, theirs] = [&ours, &theirs].map(|text| text.lines().collect::<BTreeSet<_>>());
        assert!(ours == theirs, "{}: {:#?}", case.name, ours.symmetric_difference(&theirs));
        lines += ours.len();
    }
    note!("{lines} lines of {} are equal", perf2bolt.display());
    assert!(lines >= 30, "{lines}");
}

#[test]
fn llvm_profgen_makes_the_same_of_our_pairs_as_of_the_recording() {
    let Some(profgen) = llvm_tool("llvm-profgen") else { return };
    let (goldens, work) = (Goldens::find(), tempfile::tempdir().unwrap());
    let [pairs, output] = ["in.unsymbolized", "out.txt"].map(|name| work.path().join(name));
    for case in cases(goldens.as_ref()) {
        write(&case, "-t profgen", &pairs);
        let mut command = Command::new(&profgen);
        command.arg(format!("--unsymbolized-profile={}", pairs.display()));
        command.arg(format!("--binary={}", case.program.display())).args(["--format=text", "-o"]).arg(&output);
        assert!(command.output().unwrap().status.success(), "{}", case.name);
        assert!(fs::read(&output).unwrap() == case.llvm, "{}", case.name);
    }
}

#[test]
fn llvm_profdata_reads_all_forms() {
    let Some(profdata) = llvm_tool("llvm-profdata") else { return };
    let (goldens, work) = (Goldens::find(), tempfile::tempdir().unwrap());
    let [binary, output] = ["in.sampleprof", "out.txt"].map(|name| work.path().join(name));
    for case in cases(goldens.as_ref()) {
        write(&case, "-t llvm", &binary);
        let mut command = Command::new(&profdata);
        command.args(["merge", "--sample", "--text"]).arg(&binary).arg("-o").arg(&output);
        assert!(command.output().unwrap().status.success(), "{}", case.name);
        assert!(fs::read(&output).unwrap() == case.llvm, "{}", case.name);
    }
}

#[test]
fn gcc_accepts_profiles() {
    if !has_program("gcc") {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    let [afdo, object] = ["sieve.afdo", "sieve.o"].map(|name| work.path().join(name));
    write(&cases(None)[0], "-t gcc", &afdo);
    let mut command = Command::new("gcc");
    command.args(["-O2", "-g", "-ffreestanding", "-c"]).arg(format!("-fauto-profile={}", afdo.display()));
    let output = command.arg(directory().join("sieve.c")).arg("-o").arg(&object).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
