//! The main mapping of a profile: the recorded program, which pprof prints as `File:`.

use crate::common::files::{corpus, has_corpus};
use crate::common::main_mapping::{SHIM, recording};
use crate::common::pprof::{find_pprof, report_by};
use crate::common::program::{self, for_each};
use std::fs;
use std::path::Path;

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
    let Some(pprof) = find_pprof() else { return };
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
        let line = file_line(&pprof, &recording.path);
        (line.as_ref().map(Option::as_deref) != Ok(expected)).then(|| format!("{name}: {line:?}"))
    });
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{failures:?}");
}
