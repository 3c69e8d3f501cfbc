//! Several recordings at a time, each converted by itself into a folder.

use super::files::{fixture, fixtures};
use super::program::{Run, perfconv, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// All outputs in a folder, by their names.
fn outputs(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    // What is made of a folder is one.
    let read = |path: &Path| fs::read(path).or_else(|_| fs::read(path.join("data"))).expect("it can be read");
    entries.map(|entry| (entry.file_name().into_string().expect("text"), read(&entry.path()))).collect()
}

fn convert_all(folder: &Path, options: &[&str]) -> Run {
    let inputs = fixtures().into_iter().map(|fixture| fixture.path);
    run(perfconv().args(inputs).arg("--out-dir").arg(folder).args(options))
}

#[test]
fn each_is_what_it_is_alone_whatever_the_number_of_threads() {
    let desk = tempdir().expect("a folder");
    let mut told = BTreeMap::new();
    for (to, ending) in [("pprof", "pb.gz"), ("jsonl", "jsonl"), ("perf.data", "data")] {
        for jobs in ["1", "2", "7"] {
            let folder = desk.path().join(format!("{to}{jobs}"));
            let run = convert_all(&folder, &["-t", to, "-J", jobs]);
            assert_eq!(run.status, 0, "{}", run.stderr);
            let stderr = run.stderr.replace(&*folder.to_string_lossy(), "");
            let (first_told, first) = told.entry(to).or_insert_with(|| (stderr.clone(), outputs(&folder)));
            assert_eq!(*first_told, stderr, "what is told is in the order of the inputs");
            assert!(*first == outputs(&folder), "-J {jobs} makes something else");
        }
        let (_, all) = &told[to];
        assert_eq!(all.len(), fixtures().len());
        for fixture in fixtures() {
            let stem = fixture.name.trim_end_matches(".data");
            let alone = desk.path().join(format!("{stem} alone.{ending}"));
            let run = run(perfconv().arg(&fixture.path).args(["-f", "-t", to, "-o"]).arg(&alone));
            assert_eq!(run.status, 0, "{}", run.stderr);
            if alone.is_file() {
                assert!(all[&format!("{stem}.{ending}")] == fs::read(&alone).expect("a file"), "{stem}");
            }
        }
    }
}

#[test]
fn one_that_cannot_be_converted_keeps_no_other_from_it() {
    let desk = tempdir().expect("a folder");
    let (empty, profiles) = (desk.path().join("empty.data"), desk.path().join("a/profiles"));
    fs::write(&empty, b"").expect("it can be written");
    let inputs = [&fixture("plain.data"), &empty, &fixture("pipe.data")];
    let run_all = |options: &[&str]| run(perfconv().args(inputs).arg("--out-dir").arg(&profiles).args(options));
    let run = run_all(&["--strict"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    assert!(run.stderr.ends_with("perfconv: 1 of 3 recordings could not be converted\n"), "{}", run.stderr);
    assert_eq!(outputs(&profiles).into_keys().collect::<Vec<_>>(), ["pipe.pb.gz", "plain.pb.gz"]);
    let again = run_all(&[]);
    assert_eq!(again.status, 1);
    assert_eq!(again.stderr.matches("exists already; -f overwrites it").count(), 2, "{}", again.stderr);
    let incomplete = super::program::run(
        perfconv()
            .arg(fixture("truncated.data"))
            .arg(fixture("plain.data"))
            .args(["--strict", "--out-dir"])
            .arg(desk.path()),
    );
    assert_eq!(incomplete.status, 3, "{}", incomplete.stderr);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let desk = tempdir().expect("a folder");
    let (other, folder) = (desk.path().join("plain.data"), desk.path().join("out"));
    fs::copy(fixture("plain.data"), &other).expect("it can be copied");
    let refused = |arguments: &[&Path], options: &[&str], what: &str| {
        let run = run(perfconv().args(arguments).arg("--out-dir").arg(&folder).args(options));
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.contains(what), "{what}: {}", run.stderr);
        assert!(!folder.exists());
    };
    refused(&[&fixture("plain.data"), &other], &[], "would both be");
    refused(&[Path::new("-"), &other], &[], "- has no name by which its output could be called");
    refused(&[], &[], "no recording is named");
    refused(&[&other], &["-t", "nothing"], "there is no format nothing");
    refused(&[&other], &["--endian", "big"], "--endian is not for pprof");
    refused(&[&other], &["-J", "0"], "invalid value");
    refused(&[&other], &["-o", "x"], "cannot be used with");
}
