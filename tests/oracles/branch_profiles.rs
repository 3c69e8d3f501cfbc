//! What perf2bolt, llvm-profgen, llvm-profdata and gcc make of profiles.

use crate::common::branch_profiles::{Goldens, directory, profile, sorted_lines};
use crate::common::oracle::{has_program, llvm_tool};
use crate::common::program::{perfconv, succeed};
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

/// Programs without symbols, whose debug files are beside them.
#[test]
fn stripped_programs_have_the_same_profiles() {
    if !has_program("objcopy") || !has_program("strip") {
        return;
    }
    let formats = ["bolt", "profgen", "autofdo", "gcc", "llvm --llvm-format text"];
    let (goldens, mut compared) = (Goldens::find(), 0);
    for case in cases(goldens.as_ref()) {
        let work = tempfile::tempdir().unwrap();
        let stripped = work.path().join(case.program.strip_prefix(&case.files).unwrap());
        fs::create_dir_all(stripped.parent().unwrap()).unwrap();
        let debug = stripped.with_extension("debug");
        succeed(Command::new("objcopy").arg("--only-keep-debug").arg(&case.program).arg(&debug));
        succeed(Command::new("strip").arg("-o").arg(&stripped).arg(&case.program));
        for format in formats {
            let of = |files: &Path| {
                let run = profile(&case.recording, files, &format!("-t {format}"));
                assert_eq!(run.status, 0, "{} as {format}: {}", case.name, run.stderr);
                run.stdout
            };
            assert!(of(work.path()) == of(&case.files), "{} as {format}", case.name);
            compared += 1;
        }
    }
    note!("{compared} profiles of stripped programs are equal");
    assert!(compared >= formats.len());
}

/// Profiles as llvm-profdata writes them with these arguments.
fn merged(profdata: &Path, arguments: &[&str], inputs: &[&Path]) -> Vec<u8> {
    let work = tempfile::tempdir().unwrap();
    let output = work.path().join("out");
    let run =
        Command::new(profdata).args(["merge", "--sample"]).args(arguments).args(inputs).arg("-o").arg(&output).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{inputs:?}: {}", String::from_utf8_lossy(&run.stderr));
    fs::read(&output).unwrap()
}

#[test]
fn llvm_profdata_reads_all_forms() {
    let Some(profdata) = llvm_tool("llvm-profdata") else { return };
    let (goldens, work) = (Goldens::find(), tempfile::tempdir().unwrap());
    let [binary, golden] = ["in.sampleprof", "golden"].map(|name| work.path().join(name));
    let mut compared = 0;
    for case in cases(goldens.as_ref()) {
        for arguments in ["-t llvm", "-t llvm --llvm-compress", "-t llvm --llvm-format text"] {
            write(&case, arguments, &binary);
            assert!(merged(&profdata, &["--text"], &[&binary]) == case.llvm, "{} {arguments}", case.name);
            compared += 1;
        }
        fs::write(&golden, &case.llvm).unwrap();
        // Names are not in the profile.
        let hashes = ["--extbinary", "--use-md5"];
        let expected = merged(&profdata, &hashes, &[&golden]);
        for arguments in ["-t llvm --llvm-format md5", "-t llvm --llvm-format md5 --llvm-compress"] {
            write(&case, arguments, &binary);
            fs::write(&golden, &expected).unwrap();
            let [ours, expected] = [&binary, &golden].map(|path| merged(&profdata, &["--text"], &[path]));
            assert!(ours == expected, "{} {arguments}", case.name);
            compared += 1;
        }
    }
    note!("{compared} profiles are the same for llvm-profdata");
}

#[test]
fn sums_equal_those_of_llvm_profdata() {
    let Some(profdata) = llvm_tool("llvm-profdata") else { return };
    let (goldens, work) = (Goldens::find(), tempfile::tempdir().unwrap());
    let [text, sum] = ["in.sampleprof", "sum.sampleprof"].map(|name| work.path().join(name));
    for case in cases(goldens.as_ref()) {
        write(&case, "-t llvm --llvm-format text", &text);
        let mut merge = perfconv();
        succeed(merge.arg("merge").args([&text, &text, &text]).arg("-f").arg("-o").arg(&sum));
        assert!(
            fs::read(&sum).unwrap() == merged(&profdata, &["--text"], &[&text; 3].map(|path| &**path)),
            "{}",
            case.name
        );
    }
}

/// Profiles of perf2bolt that are stored beside the repository: recording, program, profile, arguments of both.
const FDATA: [(&str, &str, &str, &str, &str); 8] = [
    ("interp", "interp", "interp", "-t bolt", ""),
    ("interp-gcc", "interp-gcc", "interp-gcc", "-t bolt", ""),
    ("sorter", "sorter", "sorter", "-t bolt", ""),
    ("squeeze", "squeeze", "squeeze", "-t bolt", ""),
    ("squeeze-nochain", "squeeze", "squeeze", "-t bolt", ""),
    ("mixed", "interp", "mixed-interp", "-t bolt --binary interp", ""),
    ("mixed", "sorter", "mixed-sorter", "-t bolt --binary sorter", ""),
    ("sorter-ip", "sorter", "sorter-ip", "-t bolt --bolt-version 22", "-ba"),
];

#[test]
fn perf2bolt_makes_the_stored_profiles_of_our_records() {
    let Some(goldens) = Goldens::find() else { return note!("no goldens beside the repository") };
    let Some(perf2bolt) = llvm_tool("perf2bolt") else { return };
    let work = tempfile::tempdir().unwrap();
    let [records, output, yaml] = ["in.preagg", "out.fdata", "out.yaml"].map(|name| work.path().join(name));
    let (mut lines, mut profiles) = (0, 0);
    for (recording, program, golden, arguments, option) in FDATA {
        let run = profile(&goldens.recording(recording), &goldens.files(), arguments);
        fs::write(&records, run.stdout).unwrap();
        let mut command = Command::new(&perf2bolt);
        command.args(["--pa", "-p"]).arg(&records).arg(goldens.files().join("opt/bench").join(program));
        command.arg("-o").arg(&output).arg("-w").arg(&yaml);
        if !option.is_empty() {
            command.arg(option);
        }
        let run = command.output().unwrap();
        if option == "-ba" && !run.status.success() {
            note!("{} reads no records of instruction pointers", perf2bolt.display());
            continue;
        }
        // The name of the event is followed by a colon, where it comes from the text of perf.
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace("no_lbr cycles:u:", "no_lbr cycles:u");
        let (ours, expected) = (text(fs::read(&output).unwrap()), text(goldens.golden(&format!("{golden}.fdata"))));
        assert!(sorted_lines(ours.as_bytes()) == sorted_lines(expected.as_bytes()), "{golden}");
        lines += expected.lines().count();
        // Other versions write other blocks.
        let is_same_version = perf2bolt.to_string_lossy().contains("llvm-22");
        if let Some(expected) = goldens.find_golden(&format!("{golden}.bolt.yaml")).filter(|_| is_same_version) {
            let without_path = |bytes: Vec<u8>| {
                let text = String::from_utf8(bytes).unwrap();
                text.lines().filter(|line| !line.contains("binary-name:")).map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(without_path(fs::read(&yaml).unwrap()), without_path(expected), "{golden}");
            profiles += 1;
        }
    }
    note!("{lines} lines and {profiles} profiles as YAML of {} equal the stored ones", perf2bolt.display());
    assert!(lines >= 1700, "{lines}");
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
