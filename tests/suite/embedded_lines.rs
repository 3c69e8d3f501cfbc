//! Lines, inlined functions and whole symbol tables that travel inside a recording: `rewrite --embed-symbols=full`, `=all`.

use super::embedded_symbols::{RECORDINGS, embed_which, perfconv_in, symbols};
use crate::common::program::succeed;
use std::fs;
use std::path::Path;

/// The pprof of a recording without compression.
fn pprof(recording: &Path, objects: &Path, from: &str) -> Vec<u8> {
    let mut command = perfconv_in(recording.parent().expect("a directory"));
    command.arg(recording).arg("--symfs").arg(objects).args(["--symbols", from, "-q", "-t", "pprof", "-o", "-"]);
    succeed(&mut command).stdout
}

#[test]
fn profiles_with_lines_are_those_with_the_objects() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    let files = symbols().join("files");
    let mut equal = 0;
    note!("recording          profile equal   bytes   added");
    for (name, passes) in RECORDINGS {
        let [output, without] = ["data", "plain.data"].map(|end| directory.path().join(name).with_extension(end));
        embed_which(name, passes, "full", &output);
        let expected = pprof(&output, &files, "objects");
        let is_equal = pprof(&output, &empty, "embedded") == expected;
        let mut command = perfconv_in(directory.path());
        command.arg("rewrite").arg(&output).args(["--strip-symbols", "-q", "-o"]).arg(&without);
        succeed(&mut command);
        let [size, plain] = [&output, &without].map(|path| fs::metadata(path).expect("a file").len());
        note!("{name:18} {is_equal:13} {plain:7} {:7}", size - plain);
        equal += usize::from(is_equal);
    }
    assert_eq!(equal, RECORDINGS.len());
}

#[test]
fn whole_tables_have_functions_without_samples() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let has_function = |which: &str| {
        let output = directory.path().join(which);
        embed_which("c", &[], which, &output);
        memchr::memmem::find(&fs::read(output).expect("a recording"), b"__do_global_dtors_aux").is_some()
    };
    assert_eq!(["functions", "full", "all"].map(has_function), [false, false, true]);
}
