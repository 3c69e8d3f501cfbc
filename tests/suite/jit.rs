//! JIT code: images of jitdumps, and dumps that are corrupt or of other recordings.

use crate::common::jit::{
    ADDRESS, CODE, DumpBuilder, Map, contents, dump_of_ours, ours, path, relocate, rewrite, rewrite_with, with_dump,
};
use crate::common::program::{perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::abi::jitdump::header::JitDumpHeader;
use perf_data::abi::jitdump::record::RecordKind;
use std::fs;
use std::path::Path;

fn maps_and_warnings(dump: &DumpBuilder) -> (Vec<Map>, Vec<String>) {
    let (dir, run) = with_dump(dump);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let warnings = run.warnings().iter().map(|&warning| warning.to_owned()).collect();
    (contents(&path(&dir, "out.data")).maps, warnings)
}

/// CPython 3.13 writes machine 0. perf does not read the field, and the recorded architecture is known.
#[test]
fn the_machine_of_a_dump_may_be_missing_or_wrong() {
    let dump = dump_of_ours();
    let names = [62_u32, 0, 183].map(|machine| {
        let dir = tempfile::tempdir().unwrap();
        let mut dump = dump.clone();
        dump[12..16].copy_from_slice(&machine.to_le_bytes());
        let recording = relocate(&dir, &ours("java.data"), "jit-11901.dump", &dump);
        let output = path(&dir, "out.data");
        rewrite(&recording, &output, &["--jit"]);
        let run = run(perfconv().arg(&output).args(["-t", "folded", "-q", "-o", "-"]));
        String::from_utf8(run.stdout).unwrap().replace(&dir.path().display().to_string(), "")
    });
    assert!(names[0].contains("Interpreter") && names[0] == names[1] && names[0] == names[2], "{names:?}");
}

#[test]
fn reports_unusable_records_of_a_dump_and_uses_the_rest() {
    let dump = || DumpBuilder::new(Endian::Little, |_| {}).load(1, 1, ADDRESS, 16, "before", &CODE);
    let complete = |dump: DumpBuilder| dump.load(9, 9, ADDRESS + 0x100, 16, "after", &CODE);
    let both = [(1, ADDRESS, 16, 0x1000), (9, ADDRESS + 0x100, 16, 0x1010)];
    assert_eq!(maps_and_warnings(&complete(dump())), (both.to_vec(), Vec::new()));
    let half = &bytes_of(|dump| dump.load(9, 9, ADDRESS, 16, "half", &CODE))[..40];
    let no_name = [&[0; 40][..], b"no end"].concat();
    for (dump_with_error, said) in [
        (dump().load(2, 2, ADDRESS, 17, "liar", &CODE), "liar has 17 bytes of code, but the record contains 16"),
        (
            dump().load(2, 2, ADDRESS, u64::MAX, "liar", &CODE),
            "18446744073709551615 bytes of code, but the record contains 16",
        ),
        (dump().load(2, 2, u64::MAX - 7, 16, "far", &CODE), "exceed the address space"),
        (dump().move_code(2, 77, ADDRESS, 16), "1 functions are too large, or moved without being loaded: number 77"),
        (dump().record(RecordKind(99), 2, &[b"new"]), "99 record skipped: unknown type"),
        (dump().record(RecordKind::CODE_LOAD, 2, &[b"short"]), "CODE_LOAD record skipped: too short for its fields"),
        (dump().record(RecordKind::CODE_LOAD, 2, &[&no_name]), "too short for its fields"),
        (dump().record(RecordKind::CODE_DEBUG_INFO, 2, &[&[0xff; 16]]), "CODE_DEBUG_INFO record skipped"),
        (
            dump().unwinding(&[0; 8], &[0; 4], u64::MAX),
            "18446744073709551615 bytes of unwinding data, but the record contains 12",
        ),
    ] {
        let (maps, warnings) = maps_and_warnings(&complete(dump_with_error));
        assert_eq!(maps, both, "{said}");
        assert!(warnings.len() == 1 && warnings[0].contains(said), "{said}: {warnings:?}");
    }
    // Empty functions, and meaningless unwinding and line records, cause no warning.
    let empty = complete(dump().load(2, 2, ADDRESS, 0, "empty", &[]).unwinding(&[7; 24], &[0; 20], 44));
    assert_eq!(maps_and_warnings(&empty), (both.to_vec(), Vec::new()));
    // A truncated dump is used up to the end of its last complete record.
    for cut in [&half[..7], half, &[0; 16]] {
        let mut dump_with_error = dump();
        dump_with_error.bytes.extend(cut);
        let (maps, warnings) = maps_and_warnings(&dump_with_error);
        assert_eq!(maps, both[..1], "{cut:?}");
        assert!(warnings.len() == 1 && warnings[0].contains("jit-11901.dump: offset 0x"), "{warnings:?}");
    }
    let twice = DumpBuilder::new(Endian::Little, |_| {}).load(1, 1, ADDRESS, 16, "one", &CODE).load(
        2,
        2,
        ADDRESS + 8,
        16,
        "other",
        &CODE,
    );
    let later = vec![(1, ADDRESS, 16, 0x1000), (2, ADDRESS + 8, 16, 0x1010)];
    let (maps, warnings) = maps_and_warnings(&twice);
    assert_eq!((maps, warnings.len()), (later, 1));
    assert!(warnings[0].contains("1 functions replace others at the same addresses"), "{warnings:?}");
}

fn bytes_of(make: impl FnOnce(DumpBuilder) -> DumpBuilder) -> Vec<u8> {
    make(DumpBuilder { bytes: Vec::new(), endian: Endian::Little }).bytes
}

#[test]
fn rejects_dumps_of_other_recordings() {
    for (change, said) in [
        ((|header| header.pid = 7) as fn(&mut JitDumpHeader), "jitdump of process 7, expected 11901"),
        (|header| header.version = 2, "unsupported jitdump version 2; expected 1"),
        (|header| header.flags = 4, "flags 0x4"),
        (|header| header.flags = 1, "record without -k"),
        (|header| header.magic = 1, "not a jitdump"),
    ] {
        let dump = DumpBuilder::new(Endian::Little, change).load(1, 1, ADDRESS, 16, "f", &CODE);
        assert_rejected(&dump, said);
    }
    let big = DumpBuilder::new(Endian::Big, |_| {}).load(1, 1, ADDRESS, 16, "f", &CODE);
    assert_rejected(&big, "another machine (big-endian); the recording has the other byte order");
    let bytes = DumpBuilder::new(Endian::Little, |_| {}).bytes;
    for len in [0, 3, 39] {
        assert_rejected(&DumpBuilder { bytes: bytes[..len].to_vec(), endian: Endian::Little }, "jit-11901.dump: ");
    }
}

/// Asserts that the error contains a text, and that no files are written.
fn assert_rejected(dump: &DumpBuilder, said: &str) {
    let (dir, run) = with_dump(dump);
    let failure = run.failure().expect("one line");
    assert!(failure.contains(said), "{said}: {failure}");
    assert_eq!(entries(dir.path()), ["jit-11901.dump"], "{said}");
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

#[test]
fn rejects_recordings_without_dumps_or_with_another_clock() {
    let dir = tempfile::tempdir().unwrap();
    let assert_error = |input: &Path, args: &[&str], said: &str| {
        let mut command = perfconv();
        let run = run(command.arg("rewrite").arg(input).args(args).arg("-o").arg(path(&dir, "out.data")));
        let failure = run.failure().expect("one line");
        assert!(failure.contains(said), "{said}: {failure}");
        assert!(!path(&dir, "out.data").exists());
    };
    let plain = crate::common::files::fixture("plain.data");
    assert_error(&plain, &["--jit"], "maps no jit-PID.dump");
    assert_error(&plain, &["--perf-map"], "--perf-map: ");
    assert_error(&ours("java.data"), &["--jit"], "jit-11901.dump: jitdump not found; use --jit-dump DIR");
    let json = path(&dir, "clock.jsonl");
    succeed(perfconv().arg(ours("java.data")).arg("-o").arg(&json));
    let text = fs::read_to_string(&json).unwrap();
    let others = text.replace("\"clockid\":1", "\"clockid\":7");
    assert_ne!(others, text);
    fs::write(&json, others).unwrap();
    fs::write(path(&dir, "jit-11901.dump"), dump_of_ours()).unwrap();
    let dir_name = dir.path().to_str().unwrap();
    assert_error(&json, &["--jit", "--jit-dump", dir_name], "record with -k 1 (perf record -k mono)");
    for (args, said) in
        [(&["--jit-dump", "/"][..], "--jit-dump requires --jit"), (&["--jit-dir", "/"], "--jit-dir requires")]
    {
        let run = run(perfconv().arg("rewrite").arg(&plain).args(args).arg("-o").arg(path(&dir, "out.data")));
        assert_eq!((run.status, run.stderr.contains(said)), (2, true), "{}", run.stderr);
    }
}

#[test]
fn images_are_written_with_the_output_and_overwrite_only_images() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(path(&dir, "jit-11901.dump"), dump_of_ours()).unwrap();
    let (image, images) = (path(&dir, "jit-11901.so"), path(&dir, "images"));
    fs::create_dir(&images).unwrap();
    let dir_name = dir.path().to_str().unwrap().to_owned();
    let rewrite = |args: &[&str]| run(rewrite_with(&dir, args).args(["--jit-dump", &dir_name]));

    fs::write(&image, "another's").unwrap();
    let rejected = rewrite(&[]);
    assert!(
        rejected.failure().unwrap().contains("jit-11901.so: already exists; use -f to replace it"),
        "{}",
        rejected.stderr
    );
    assert_eq!(entries(dir.path()), ["images", "jit-11901.dump", "jit-11901.so"]);
    assert_eq!(fs::read(&image).unwrap(), b"another's");
    assert_eq!(rewrite(&["--jit-dir", images.to_str().unwrap()]).status, 0);
    assert_eq!(entries(&images), ["jit-11901.so"]);
    let rejected = rewrite(&["-f"]);
    assert!(rejected.failure().unwrap().contains("exists and is not an image"), "{}", rejected.stderr);
    assert_eq!(fs::read(&image).unwrap(), b"another's", "other files should be kept");
    fs::write(&image, b"\x7fELF another's").unwrap();
    fs::remove_file(path(&dir, "out.data")).unwrap();
    assert_eq!(rewrite(&["-f"]).status, 0);
    let written = fs::read(&image).unwrap();
    assert_eq!(written, fs::read(images.join("jit-11901.so")).unwrap());
    // An identical image exists already.
    fs::remove_file(path(&dir, "out.data")).unwrap();
    assert_eq!(rewrite(&[]).status, 0);
    assert_eq!(fs::read(&image).unwrap(), written);
    fs::remove_file(&image).unwrap();

    let full = Path::new("/dev/full");
    if full.exists() {
        let mut command = perfconv();
        command.arg("rewrite").arg(ours("java.data")).args(["--jit", "--jit-dump", &dir_name, "-o"]).arg(full);
        let run = run(command.args(["--jit-dir", images.to_str().unwrap(), "--jit-dir", &dir_name]).env("LC_ALL", "C"));
        assert_eq!(run.status, 2, "--jit-dir given twice: {}", run.stderr);
        let mut command = perfconv();
        command.arg("rewrite").arg(ours("java.data")).args(["--jit", "--jit-dump", &dir_name, "--jit-dir", &dir_name]);
        let run = self::run(command.arg("-o").arg(full));
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert_eq!(entries(dir.path()), ["images", "jit-11901.dump", "out.data"]);
    }
}
