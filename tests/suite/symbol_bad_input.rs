//! Files that symbolization cannot use: a message names the object and the file, and the conversion goes on without their names.

use crate::common::program::{Run, perfconv, profile, succeed};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols").join(path)
}

/// The program of the recording `c.data`.
const PROGRAM: &str = "srv/sym/bin/mill-fp";

/// Converts `c.data` to pprof with these options, listing the files that were tried. All of its samples must be converted.
fn converted(symfs: &Path, options: &[&str]) -> (Run, usize) {
    let directory = tempfile::tempdir().unwrap();
    // The kernel of this machine may be the recorded one.
    let recording = directory.path().join("c.data");
    let foreign = ["-q", "--set", "hostname=other", "-o"];
    succeed(perfconv().arg(in_repository("c.data")).args(foreign).arg(&recording));
    let output = directory.path().join("out.pb.gz");
    let mut command = perfconv();
    command.arg(recording).args(["-v", "-o"]).arg(&output).arg("--symfs").arg(symfs);
    let run = succeed(command.args(options).env("HOME", "/nonexistent"));
    assert!(run.stderr.contains(": 1348 samples in, 1348 out, 0 dropped ]"), "{}", run.stderr);
    let profile = profile(&output);
    let named = profile.function.iter().filter(|function| {
        let name = &profile.string_table[function.name as usize];
        !name.is_empty() && !name.contains('+') && !name.starts_with('[')
    });
    let named = named.count();
    (run, named)
}

/// A change of the program's bytes.
type Change = fn(&mut Vec<u8>);

/// Overwrites a field of each section header: the offset and the length of the field in a header.
fn set_in_sections(bytes: &mut [u8], field: usize, value: u64) {
    let at = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (start, count) = (at(bytes, 40), usize::from(bytes[60]));
    for header in 0..count {
        let field = start + 64 * header + field;
        bytes[field..field + 8].copy_from_slice(&value.to_le_bytes());
    }
}

/// Changed programs: the change, and what `-v` says of the file or the report of the object.
const CHANGES: [(&str, Change, &str); 9] = [
    ("empty", Vec::clear, "mill-fp: not found"),
    ("text", |bytes| *bytes = b"#!/bin/sh\n".to_vec(), "mill-fp: is no ELF file"),
    ("header only", |bytes| bytes.truncate(64), "mill-fp: has no build ID"),
    ("truncated", |bytes| bytes.truncate(bytes.len() / 2), "mill-fp"),
    ("another build", |bytes| flip_build_id(bytes), "mill-fp: has build ID "),
    ("sections at the end of memory", |bytes| bytes[40..48].fill(0xff), "mill-fp"),
    ("huge sections", |bytes| set_in_sections(bytes, 32, u64::MAX), "mill-fp"),
    ("sections beyond the file", |bytes| set_in_sections(bytes, 24, 1 << 62), "mill-fp"),
    ("compressed sections", |bytes| set_in_sections(bytes, 8, 1 << 11), "mill-fp"),
];

/// Changes the build ID, which follows a header with its name.
fn flip_build_id(bytes: &mut [u8]) {
    let header = [4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, b'G', b'N', b'U', 0];
    let at = bytes.windows(16).position(|window| window == header).unwrap() + 16;
    bytes[at] ^= 1;
}

#[test]
fn unusable_objects_cost_their_own_names() {
    let original = fs::read(in_repository("files").join(PROGRAM)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join(PROGRAM);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, &original).unwrap();
    let (_, all) = converted(directory.path(), &[]);
    for (name, change, message) in CHANGES {
        let mut bytes = original.clone();
        change(&mut bytes);
        fs::write(&program, bytes).unwrap();
        let (run, named) = converted(directory.path(), &[]);
        note!("{name}: {named} of {all} functions");
        assert!(named < all && run.stderr.contains(message), "{name}: {}", run.stderr);
        assert!(run.stderr.contains("/srv/sym/bin/mill-fp (build ID 207889b1"), "{name}: {}", run.stderr);
    }
    let replaced_by = |name: &str, create: &dyn Fn(&Path), message: &str| {
        fs::remove_file(&program).or_else(|_| fs::remove_dir(&program)).unwrap();
        create(&program);
        let (run, named) = converted(directory.path(), &[]);
        note!("{name}: {named} of {all} functions");
        assert!(named < all && run.stderr.contains(message), "{name}: {}", run.stderr);
    };
    replaced_by("directory", &|path| fs::create_dir(path).unwrap(), "mill-fp: not found");
    replaced_by("loop of links", &|path| symlink("mill-fp", path).unwrap(), "mill-fp: cannot be read: ");
    let fifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    replaced_by("FIFO", &fifo, "mill-fp: not found");
}

#[test]
fn unreadable_directories_are_reported_and_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let looping = directory.path().join("loop");
    symlink("loop", &looping).unwrap();
    let files = in_repository("files");
    let (_, all) = converted(&files, &[]);
    let option = |path: &Path| path.to_str().unwrap().to_owned();
    let (run, named) = converted(&files, &["--debug-dir", &option(&looping)]);
    assert_eq!(named, all);
    // The C library, whose file is missing, is searched there.
    let is_tried = |line: &str| line.contains(looping.to_str().unwrap()) && line.contains("cannot be read: ");
    assert!(run.stderr.lines().any(is_tried), "{}", run.stderr);
    // Permissions do not apply to root.
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let (run, named) = converted(&files, &["--debug-dir", &option(&closed)]);
    assert!(named == all && run.stderr.contains(&option(&closed)), "{}", run.stderr);
}

#[test]
fn kallsyms_of_another_kernel_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kallsyms");
    let kernel = |end: u64| {
        let names = "ffffffff81000000 T _text\nffffffff81000100 T every_function\n";
        fs::write(&path, format!("{names}{end:x} T _etext\n")).unwrap();
    };
    let files = in_repository("files");
    let options = ["--kallsyms", path.to_str().unwrap()];
    let (_, without) = converted(&files, &[]);
    kernel(0xffff_ffff_8220_bb08);
    let (run, named) = converted(&files, &options);
    assert!(named == without + 1 && !run.stderr.contains("[kernel.kallsyms] ("), "{}", run.stderr);
    kernel(0xffff_ffff_8220_bb00);
    let (run, named) = converted(&files, &options);
    let message =
        "kallsyms: is of another kernel, which has 18922240 bytes; use --kallsyms FILE of the recorded kernel";
    assert!(named == without && run.stderr.contains(message), "{}", run.stderr);
    let (_, forced) = converted(&files, &["--kallsyms", options[1], "--symbols", "force"]);
    assert_eq!(forced, without + 1);
    for (text, message) in [
        ("0000000000000000 T _text\n0000000000000000 T start\n", "kallsyms: has only addresses 0: "),
        ("", "kallsyms: has no symbols"),
        ("\u{7f}ELF\0\0\nffffffffffffffffffff T x\nffffffff81000000 T\n", "kallsyms: has no symbols"),
    ] {
        fs::write(&path, text).unwrap();
        let (run, named) = converted(&files, &options);
        assert!(named == without && run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn kallsyms_in_a_directory_are_used() {
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("recording");
    let options = ["-q", "--set", "hostname=other", "--container", "dir", "-o"];
    succeed(perfconv().arg("rewrite").arg(in_repository("c.data")).args(options).arg(&recording));
    let names = || {
        let run = succeed(perfconv().arg(&recording).args(["-q", "-t", "perf-script"]).env("HOME", "/nonexistent"));
        String::from_utf8(run.stdout).unwrap().matches(" every_function+0x").count()
    };
    assert_eq!(names(), 0);
    let copy = recording.join("kcore_dir");
    fs::create_dir(&copy).unwrap();
    let text = "ffffffff81000000 T _text\nffffffff81000100 T every_function\nffffffff8220bb08 T _etext\n";
    fs::write(copy.join("kallsyms"), text).unwrap();
    assert!(names() > 0);
}
