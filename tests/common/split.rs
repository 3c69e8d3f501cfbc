//! Splits recordings.

use crate::common::files::fixture;
use crate::common::perf_script::Script;
use crate::common::program::{Run, perfconv, run};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn split(input: &Path, output: &Path, by: &str, args: &[&str]) -> Run {
    run(perfconv().arg("split").arg(input).args(["-q", "--by", by]).args(args).arg("-o").arg(output))
}

/// The parts in a directory, sorted by name.
pub(crate) fn parts(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory of parts");
    let mut parts: Vec<_> = entries.map(|entry| entry.expect("the directory should be listable").path()).collect();
    parts.sort();
    parts
}

/// Splits a recording by process: the parts have the samples of the original.
pub(crate) fn split_by_process(script: Script) {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("parts");
    let fields = "comm,pid,tid,time,event,ip,sym,dso";
    let original = script(&fixture("system-wide.data"), fields);
    for (by, args) in
        [("pid", &["--compress"][..]), ("pid", &["--container", "pipe", "-f"]), ("pid", &["--container", "dir", "-f"])]
    {
        let run = split(&fixture("system-wide.data"), &output, by, args);
        assert_eq!(run.status, 0, "{args:?}: {}", run.stderr);
        if by == "pid"
            && let Some(original) = &original
        {
            let mut all = Vec::new();
            for part in parts(&output) {
                let samples = script(&part, fields).expect("it should be printed");
                let name = part.file_stem().unwrap().to_str().unwrap().to_owned();
                let pid: i64 = name.strip_prefix("pid-").unwrap().parse().unwrap();
                let of_pid = format!(" {pid}/");
                assert!(samples.iter().all(|samples| samples.line.contains(&of_pid)), "{name}: {samples:?}");
                all.extend(samples);
            }
            all.sort();
            let mut original = original.clone();
            original.sort();
            assert_eq!(all, original, "{args:?}");
        }
    }
    // Of 60 processes, described in 127 kB, a part needs only one and its ancestors.
    let sizes: Vec<_> =
        parts(&output).iter().map(|part| part.join("data")).map(|part| fs::metadata(part).unwrap().len()).collect();
    let total = fs::metadata(fixture("system-wide.data")).unwrap().len();
    assert!(sizes.iter().all(|&size| size < total * 3 / 4), "{sizes:?} of {total}");
}
