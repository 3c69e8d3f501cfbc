//! Files of speedscope.

use crate::common::files::fixture;
use crate::common::speedscope::convert;
use std::path::Path;

#[test]
fn speedscope_has_inlined_functions_and_lines() {
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let files = symbols.join("files").display().to_string();
    let frames = |what: &str| {
        let output = directory.path().join("out.speedscope.json");
        let file = convert(&symbols.join("cxx.data"), &output, &["--symfs", &files, "--frames", what]).expect("a file");
        let frames = file["shared"]["frames"].as_array().cloned().unwrap_or_default();
        let of_function = frames.iter().filter(|frame| frame["name"] == "foundry::v2::heap_phase");
        let lines: Vec<_> = of_function
            .map(|frame| (frame["file"].as_str().unwrap_or("").to_owned(), frame["line"].as_u64()))
            .collect();
        (frames.len(), lines)
    };
    let (functions, of_function) = frames("functions");
    let (lines, of_lines) = frames("lines");
    assert!(lines > functions && of_function.len() == 1 && of_lines.len() > 1, "{of_function:?} {of_lines:?}");
    assert!(of_lines.iter().chain(&of_function).all(|(file, line)| file.ends_with("foundry.cpp") && line.is_some()));
}

#[test]
fn labels_select_the_profiles() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let output = directory.path().join("out.speedscope.json");
    let names = |labels: &str| {
        let file =
            convert(&fixture("system-wide.data"), &output, &["--labels", labels, "--symbols", "no"]).expect("a file");
        let names = file["profiles"].as_array().cloned().unwrap_or_default();
        names.iter().map(|profile| profile["name"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("none"), ["all threads"]);
    assert_eq!(names("timestamp_ns"), ["all threads"]);
    assert!(names("cpu").iter().all(|name| name.starts_with("cpu ")), "{:?}", names("cpu"));
}
