//! Profiles for compilers and binary optimizers of objects that are not simply where they were recorded: renamed, of the same name, moved
//! to other memory, kernels.

use crate::common::branch_profiles::{directory, id_bytes, kernel_image, kernel_recording, profile};
use crate::common::program::{Run, perfconv, profile as read_profile, run};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample_type::BranchSampleType;
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};
use std::fs;
use std::path::{Path, PathBuf};

/// Build ID of the program in `roundtrip/branches`.
const SIEVE: &str = "dedc941724e37839f435de6941f08f9950cba0e0";

/// Another.
const OTHER: &str = "00112233445566778899aabbccddeeff00112233";

/// Address of the code of the program, which is at 0x1000 in its file.
const CODE: u64 = 0x40_1000;

/// A recording of processes, each with the mappings of its code and a sample of a loop in it.
fn recording(path: &Path, processes: &[&[Map]]) {
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles:u").unwrap().branches(BranchSampleType::ANY));
    for (pid, maps) in (1..).zip(processes) {
        recording.process(pid, "app");
        for (time, map) in (1..).zip(*maps) {
            recording.mmap(CpuMode::USER, Stamp::at(time, pid, pid), map.clone());
        }
        let branch =
            |from: u64, to: u64| BranchEntry { from, to, flags: BranchFlags(BranchFlags::PREDICTED.set(0, 1)) };
        let entries = vec![branch(CODE + 0xc4, CODE + 0xa0); 2];
        let branch_stack = Some(BranchStack { entries, ..BranchStack::default() });
        let (ip, task, time) = (Some(CODE + 0xa0), Some((pid, pid)), Some(1000));
        recording.sample(event, Sample { ip, task, time, branch_stack, ..Sample::default() });
    }
    fs::write(path, recording.to_bytes().unwrap()).unwrap();
}

fn code(path: &str, id: &str) -> Map {
    Map::new(path, CODE, 0x1000).pgoff(0x1000).build_id(&id_bytes(id))
}

/// The profile of one process.
const ONCE: &str = "B 4010c4 4010a0 2 0\nF 4010a0 4010c4 1\n";
/// The sum of the profiles of two processes.
const TWICE: &str = "B 4010c4 4010a0 4 0\nF 4010a0 4010c4 2\n";

fn bolt(recording: &Path, files: &Path, arguments: &str) -> Run {
    profile(recording, files, format!("-t bolt {arguments}").trim_end())
}

#[test]
fn a_renamed_program_is_known_by_its_build_id() {
    let work = tempfile::tempdir().unwrap();
    let data = work.path().join("perf.data");
    recording(&data, &[&[code("/opt/old/name", SIEVE)], &[code("/srv/bin/sieve", SIEVE)]]);
    let files = directory().join("files");
    // The object has the path that was recorded first, where there is no file.
    let missing = bolt(&data, &files, &format!("--binary {SIEVE}"));
    assert!(missing.status == 1 && missing.stderr.contains("/opt/old/name: no such file"), "{}", missing.stderr);
    let cache = work.path().join("cache/.build-id/de");
    fs::create_dir_all(&cache).unwrap();
    fs::copy(files.join("srv/bin/sieve"), cache.join(format!("{}.debug", &SIEVE[2..]))).unwrap();
    let empty = work.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let arguments = format!("--debug-dir {}", work.path().join("cache").display());
    let run = bolt(&data, &empty, &arguments);
    assert_eq!((String::from_utf8_lossy(&run.stdout), run.status), (TWICE.into(), 0), "{}", run.stderr);
}

#[test]
fn two_builds_of_one_name_are_not_added_up() {
    let work = tempfile::tempdir().unwrap();
    let data = work.path().join("perf.data");
    recording(&data, &[&[code("/srv/bin/sieve", SIEVE)], &[code("/srv/bin/sieve", OTHER)]]);
    let files = directory().join("files");
    let ambiguous = bolt(&data, &files, "--binary sieve");
    assert!(
        ambiguous.status == 1 && ambiguous.stderr.contains("is the name of several objects"),
        "{}",
        ambiguous.stderr
    );
    assert!(ambiguous.stderr.contains(SIEVE) && ambiguous.stderr.contains(OTHER), "{}", ambiguous.stderr);
    let one = bolt(&data, &files, &format!("--binary {SIEVE}"));
    assert_eq!(String::from_utf8_lossy(&one.stdout), ONCE);
    let output = work.path().join("profiles");
    let mut all = perfconv();
    let all = run(all.arg(&data).args(["-t", "bolt", "--all-binaries", "--symfs"]).arg(files).arg("-o").arg(&output));
    assert!(all.status == 0 && all.stderr.contains(OTHER), "{}", all.stderr);
    let written: Vec<PathBuf> = fs::read_dir(&output).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(written, [output.join(format!("sieve-{SIEVE}.preagg"))]);
}

#[test]
fn code_that_was_moved_to_other_memory_counts_as_that_of_its_file() {
    let work = tempfile::tempdir().unwrap();
    let data = work.path().join("perf.data");
    let moved = [code("/srv/bin/sieve", SIEVE), Map::new("//anon", CODE, 0x1000)];
    recording(&data, &[&moved, &[code("/srv/bin/sieve", SIEVE)]]);
    let files = directory().join("files");
    assert_eq!(String::from_utf8_lossy(&bolt(&data, &files, "").stdout), ONCE);
    for file in ["sieve", "/srv/bin/sieve"] {
        let run = bolt(&data, &files, &format!("--remapped //anon={file}"));
        assert_eq!(String::from_utf8_lossy(&run.stdout), TWICE);
        assert!(run.stderr.contains("1 mapping of memory over a file"), "{}", run.stderr);
    }
    for other in ["//anon=other", "[heap]=sieve"] {
        let run = bolt(&data, &files, &format!("--remapped {other}"));
        assert_eq!(String::from_utf8_lossy(&run.stdout), ONCE);
        assert!(run.stderr.contains(&format!("no memory was mapped over a file as in {other}")), "{}", run.stderr);
    }
    let invalid = bolt(&data, &files, "--remapped sieve");
    assert!(invalid.status == 2 && invalid.stderr.contains("//anon=/usr/bin/app"), "{}", invalid.stderr);
}

#[test]
fn kernels_have_the_addresses_of_their_images() {
    let work = tempfile::tempdir().unwrap();
    let image = kernel_image().display().to_string();
    let mut profiles = Vec::new();
    for text in [0xffff_ffff_8100_0000, 0xffff_ffff_a2c0_0000] {
        let data = kernel_recording(work.path(), text);
        let each = ["bolt", "profgen", "autofdo"].map(|format| {
            let run = profile(&data, work.path(), &format!("-t {format} -k {image}"));
            assert_eq!(run.status, 0, "{format}: {}", run.stderr);
            String::from_utf8(run.stdout).unwrap()
        });
        profiles.push(each);
    }
    assert_eq!(profiles[0], profiles[1]);
    let [bolt, profgen, autofdo] = &profiles[0];
    let branches: Vec<&str> = bolt.lines().filter(|line| line.starts_with("B ")).collect();
    assert_eq!(branches.len(), 3, "{bolt}");
    assert!(branches.iter().all(|line| line.starts_with("B ffffffff81")), "{bolt}");
    assert!(profgen.contains("\n11-28:1\n") && autofdo.contains("->"), "{profgen}{autofdo}");
}

/// The compiler of Go reads samples by function, with lines from the start of the function on.
#[test]
fn pprof_has_what_the_compiler_of_go_needs() {
    let work = tempfile::tempdir().unwrap();
    let output = work.path().join("default.pgo.pb.gz");
    let mut command = perfconv();
    command.arg(directory().join("sieve.data")).args(["-t", "pprof", "--symfs"]).arg(directory().join("files"));
    assert_eq!(run(command.arg("-o").arg(&output)).status, 0);
    let profile = read_profile(&output);
    let text = |index: i64| profile.string_table[index as usize].as_str();
    let types: Vec<_> = profile.sample_type.iter().map(|kind| (text(kind.r#type), text(kind.unit))).collect();
    assert!(types.contains(&("samples", "count")), "{types:?}");
    let lines = profile.location.iter().flat_map(|location| &location.line).filter(|line| line.line > 0);
    let mut compared = 0;
    for line in lines {
        let function = profile.function.iter().find(|function| function.id == line.function_id).unwrap();
        assert!((1..=line.line).contains(&function.start_line), "{}: {line:?}", text(function.name));
        compared += 1;
    }
    assert!(compared >= 5, "{compared}");
}
