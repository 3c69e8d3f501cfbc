//! Functions, inlined functions and lines in outputs, compared with pprof and c++filt.

use crate::common::oracle::{has_program, note_missing_oracle};
use crate::common::pprof::find_pprof;
use crate::common::program::{decode, perfconv, profile, run, run_other, succeed, with_time_limit};
use crate::common::symbol_outputs::{by_function, convert, demangled, files, recording};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn pprof_shows_what_it_shows_when_it_symbolizes_itself() {
    let Some(pprof) = find_pprof() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut functions = 0;
    for name in ["c", "cxx"] {
        let [addresses, named, by_pprof] =
            ["addresses", "named", "by-pprof"].map(|file| dir.path().join(format!("{name}-{file}.pb.gz")));
        let convert_to = |path: &Path, args: &[&str]| {
            succeed(convert(name, args).arg("-o").arg(path));
        };
        // pprof does not read symbols of the kernel.
        convert_to(&named, &["--kallsyms", "/dev/null"]);
        let mut command = perfconv();
        command.arg(recording(name)).args(["--symbols", "no", "-o"]).arg(&addresses);
        succeed(&mut command);
        let mut command = with_time_limit(&pprof.to_string_lossy());
        command.args(["-symbolize=force:local", "-proto", "-output"]).arg(&by_pprof).arg(&addresses);
        command.env("PPROF_BINARY_PATH", files().join("srv/sym/bin")).env("PPROF_TMPDIR", dir.path());
        let run = run_other(command.stdin(Stdio::null()));
        assert_eq!(run.status, 0, "{}", run.stderr);
        // Functions of libraries that only this machine has depend on it.
        let ours = profile(&named);
        let is_of_program = |name: &String| !name.contains("+0x") && !name.contains("[unknown]");
        let (ours, theirs) = (by_function(&ours), by_function(&decode(&fs::read(&by_pprof).unwrap())));
        let of_program: BTreeMap<_, _> = ours.iter().filter(|(name, _)| is_of_program(name)).collect();
        for (function, samples) in &of_program {
            assert_eq!(theirs.get(*function), Some(*samples), "{name}: {function}");
        }
        assert!(of_program.values().copied().sum::<i64>() > 900, "{name}: {of_program:?}");
        functions += of_program.len();
    }
    note!("symbols: {functions} functions have the samples that pprof counts");
    assert!(functions >= 12, "compared too little");
}

#[test]
fn a_file_without_build_id_must_be_the_recorded_one() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("program.c");
    let program = dir.path().join("program");
    fs::write(&source, "int spin(void) { volatile int n = 0; while (n < 300000000) n++; return n; }\nint main(void) { return spin() == 0; }\n").unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-g", "-Wl,--build-id=none", "-o"]).arg(&program).arg(&source);
    if !cc.status().is_ok_and(|status| status.success()) {
        note_missing_oracle("a C compiler");
        return note!("symbols: skipped: no C compiler");
    }
    let data = dir.path().join("perf.data");
    let mut record = with_time_limit("perf");
    record.args(["record", "-q", "-e", "cpu-clock", "-o"]).arg(&data).arg(&program).env("HOME", dir.path());
    if run_other(record.stdin(Stdio::null())).status != 0 {
        note_missing_oracle("a perf that can record");
        return note!("symbols: skipped: perf cannot record here");
    }
    let names_spin = || {
        let mut command = perfconv();
        command.arg(&data).args(["-t", "perf-script", "-q"]).env("HOME", dir.path());
        String::from_utf8(run(&mut command).stdout).unwrap().contains("spin+0x")
    };
    assert!(names_spin(), "the recorded file should be used");
    let copy = dir.path().join("copy");
    let modified = fs::metadata(&program).unwrap().modified().unwrap();
    fs::copy(&program, &copy).unwrap();
    fs::File::options().write(true).open(&copy).unwrap().set_modified(modified).unwrap();
    fs::rename(&program, dir.path().join("recorded")).unwrap();
    fs::rename(&copy, &program).unwrap();
    assert!(!names_spin(), "a file with another inode should not be used");
}

#[test]
fn names_are_demangled_as_by_cxxfilt() {
    if !has_program("c++filt") {
        return;
    }
    let command = convert("cxx", &[]);
    let (full, mangled) = (demangled(&command, "full"), demangled(&command, "no"));
    let names: BTreeSet<_> = mangled.iter().zip(&full).filter(|(mangled, _)| mangled.starts_with("_Z")).collect();
    assert!(names.len() >= 10, "{names:?}");
    let output = Command::new("c++filt").args(names.iter().map(|(mangled, _)| mangled)).output().unwrap();
    let expected = String::from_utf8(output.stdout).unwrap();
    // Expressions in types and lambdas are written differently.
    let equal = names.iter().zip(expected.lines()).filter(|((_, full), expected)| full == expected).count();
    note!("symbols: {equal} of {} names equal those of c++filt", names.len());
    assert!(equal * 4 > names.len() * 3);
}
