//! The main mapping of a profile: the recorded program, which pprof prints as `File:`.

use super::files::{corpus, has_corpus};
use super::pprof::{find_pprof, report_by};
use super::program::{self, for_each, perfconv, run};
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::record::comm::Comm;
use perf_data::abi::record::thread_map::{ThreadMap, ThreadMapEntry};
use perf_data::abi::record::{Body, CpuMode, Misc};
use perf_data::abi::sample::Sample;
use perf_data::abi::text::{FixedStr, PaddedStr};
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

const ADDRESS: u64 = 0x5555_0000_1000;

/// A process: its ID, its executable, and its number of samples.
type Process<'a> = (u32, &'a str, u64);

/// A recording with this perf command line. Processes run one after the other; a repeated process ID executes another program.
fn recording(command: &str, thread: Option<i64>, processes: &[Process<'_>]) -> RecordingBuilder {
    let mut recording = RecordingBuilder::new();
    let cycles = recording.event(Event::named("cycles").expect("an event that perf knows").period(1000));
    let words = command.split(' ').map(|word| PerfStr::new(word.as_bytes())).collect();
    recording.metadata.set(FeatureId::CMDLINE, Feature::Cmdline(StrList { strings: words }));
    if let Some(pid) = thread {
        let entries = vec![ThreadMapEntry { pid, comm: FixedStr::new(b"") }];
        recording.record(Misc::empty(), Body::ThreadMap(ThreadMap { entries }), Stamp::default());
    }
    let mut time = 1;
    for &(pid, executable, samples) in processes {
        let stamp = Stamp::at(time, pid, pid);
        let name = executable.rsplit('/').next().unwrap_or_default();
        let comm = Comm { pid, tid: pid, comm: PaddedStr::new(name.as_bytes(), 8) };
        recording.record(Misc::COMM_EXEC, Body::Comm(comm), stamp);
        recording.mmap(CpuMode::USER, stamp, Map::new(executable, ADDRESS, 0x1000));
        for _ in 0..samples {
            time += 1;
            let sample =
                Sample { ip: Some(ADDRESS + 1), task: Some((pid, pid)), time: Some(time), ..Sample::default() };
            recording.sample(cycles, sample);
        }
    }
    recording
}

/// The file names of the mappings in the profile of a recording.
fn mappings(recording: &RecordingBuilder, args: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (data, output) = (dir.path().join("perf.data"), dir.path().join("out.pb.gz"));
    fs::write(&data, recording.to_bytes().expect("a recording")).expect("the file should be writable");
    let run = run(perfconv().arg(&data).args(["-q", "-o"]).arg(&output).args(args));
    assert_eq!(run.status, 0, "{}", run.stderr);
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

const SHIM: [Process<'_>; 2] = [(7, "/usr/bin/bash", 30), (7, "/usr/bin/python3.11", 70)];

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
    let run = run(perfconv().arg(&data).args(["-q", "--split-by", "pid", "-o"]).arg(&parts));
    assert_eq!(run.status, 0, "{}", run.stderr);
    let first = |name: &str| names(&parts.join(name)).swap_remove(0);
    assert_eq!([first("7.pb.gz"), first("8.pb.gz")], ["/bin/a", "/bin/c"]);
}

/// The value of `File:` in pprof's report.
fn file_line(pprof: &Path, data: &Path) -> Result<Option<String>, String> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let output = dir.path().join("out.pb.gz");
    program::convert(data, &output);
    let text = report_by(pprof, "-top", &output)?;
    Ok(text.lines().find_map(|line| line.strip_prefix("File: ")).map(str::to_owned))
}

#[test]
fn pprof_prints_the_main_program_except_for_system_wide_recordings() {
    let pprof = match find_pprof() {
        Ok(pprof) => pprof,
        Err(reason) => return writeln!(io::stderr(), "main mapping: skipped pprof: {reason}").unwrap(),
    };
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("perf.data");
    for (command, expected) in [("perf record -- python3 x.py", Some("python3.11")), ("perf record -a", None)] {
        let recording = recording(command, None, &SHIM);
        fs::write(&data, recording.to_bytes().expect("a recording")).expect("the file should be writable");
        assert_eq!(file_line(&pprof, &data).as_ref().map(Option::as_deref), Ok(expected), "{command}");
    }
    if !has_corpus("main program of real recordings") {
        return;
    }
    let expected = [
        ("own/guest-bookworm-amd64/sys-a.data", None),
        ("own/guest-bookworm-amd64/sched.data", None),
        ("own/p612/switch-cpuwide.data", None),
        ("own/p61/threads.dir", None),
        ("own/p612/pid-attach.data", Some("loop-pie")),
        ("own/p612/sh-heavy.data", Some("ls")),
        ("own/p61/jit-java.data", Some("java")),
        ("own/p61/pipe-s.data", Some("forky")),
    ];
    let recordings = corpus();
    let failures = for_each(&expected, |&(name, expected)| {
        let recording =
            recordings.iter().find(|recording| recording.name == name).expect("the manifest should list it");
        let found = file_line(&pprof, &recording.path);
        (found.as_ref().map(Option::as_deref) != Ok(expected)).then(|| format!("{name}: {found:?}"))
    });
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{failures:?}");
}
