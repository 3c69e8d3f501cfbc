//! Small inputs made to need much memory or time: they cost their own names, or are rejected.

use super::memory::limited_to;
use crate::common::program::{profile, run, succeed};
use std::fs;
use std::io::Write;

#[test]
fn a_file_of_speedscope_with_too_many_frames_is_rejected() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("x.speedscope.json.gz");
    let file = fs::File::create(&path).expect("a separate file");
    let mut out = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let start = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":["#;
    let end = r#"{"name":"b"}]},"profiles":[{"type":"sampled","name":"x","unit":"none","startValue":0,"endValue":1,
        "samples":[[0]],"weights":[1]}]}"#;
    out.write_all(&[start.as_bytes(), &br#"{"name":"a"},"#.repeat(2 << 20), end.as_bytes()].concat()).expect("room");
    out.finish().expect("room");
    let rejected = run(limited_to(350).arg(&path).arg("-o").arg(directory.path().join("out.pb")));
    let message = rejected.failure().unwrap_or_else(|error| panic!("{error}"));
    assert!(message.ends_with("shared.frames: more than 2097152 frames"), "{message}");
}

#[test]
fn long_names_of_profiles_are_truncated() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (path, out) = (directory.path().join("x.folded"), directory.path().join("out.pb.gz"));
    // Each of the stacks has an address of its own.
    let name = "n".repeat(1 << 20);
    let stacks: String = (0..2).map(|number| format!("root{number};{name} 1\n")).collect();
    fs::write(&path, stacks).expect("a separate file");
    succeed(limited_to(100).arg(&path).arg("-o").arg(&out));
    let longest = profile(&out).string_table.into_iter().max_by_key(String::len).unwrap_or_default();
    assert_eq!(longest.len(), 16 << 10);
    assert!(longest.ends_with("n..."), "the reader does not see that the name is truncated");
}
