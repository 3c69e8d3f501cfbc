//! Archives: `perf report` prints the same on a system without the programs, and unpacking rejects unsafe entries.

use crate::suite::program::{note_missing_oracle, perfconv, run, run_other, with_time_limit};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

/// A library whose symbols go into a separate debug file, and a program that uses it.
const LIBRARY: &str = "volatile unsigned long sum;\n\
    #define LOOP(name) __attribute__((noinline)) static void name(void) { for (long i = 0; i < 50000000; i++) sum += i * i; }\n\
    LOOP(inner_loop) LOOP(other_loop)\n\
    void work(void) { inner_loop(); other_loop(); sum++; }\n";
const PROGRAM: &str = "void work(void); volatile unsigned long own;\n\
    __attribute__((noinline)) static void busy(void) { for (long i = 0; i < 50000000; i++) own += i * i; }\n\
    int main(void) { work(); busy(); return 0; }\n";

fn path(dir: &TempDir, name: &str) -> PathBuf {
    dir.path().join(name)
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Builds a program and its library, and records them; `None`, with a note, if there is no compiler or perf cannot record.
fn record(dir: &TempDir) -> Option<PathBuf> {
    let at = |name: &str| path(dir, name);
    fs::write(at("library.c"), LIBRARY).unwrap();
    fs::write(at("program.c"), PROGRAM).unwrap();
    let library = ["-O1", "-g", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o"];
    let is_built = succeeds(Command::new("cc").args(library).arg(at("libwork.so")).arg(at("library.c")))
        && succeeds(
            Command::new("cc")
                .args(["-O1", "-Wl,--build-id=md5", "-o"])
                .arg(at("program"))
                .args([at("program.c"), at("libwork.so")])
                .arg(format!("-Wl,-rpath,{}", dir.path().display())),
        );
    if !is_built {
        note_missing_oracle("a C compiler");
        print_note(format_args!("archive: skipped: no C compiler"));
        return None;
    }
    let mut perf = with_time_limit("perf");
    perf.args(["record", "-q", "-B", "-g", "-e", "cpu-clock:u", "-F", "999", "-o"])
        .arg(at("perf.data"))
        .arg(at("program"));
    if !succeeds(perf.env("HOME", dir.path())) {
        note_missing_oracle("a perf that can record");
        print_note(format_args!("archive: skipped: perf cannot record here"));
        return None;
    }
    Some(at("perf.data"))
}

/// Returns the objects and functions that perf report prints with a build ID cache.
fn report(recording: &Path, cache: &Path) -> Vec<String> {
    let mut perf = with_time_limit("perf");
    perf.arg("--buildid-dir")
        .arg(cache)
        .args(["report", "--stdio", "-f", "-g", "none", "-s", "dso,sym", "-i"])
        .arg(recording);
    let run = run_other(perf.env("HOME", cache).env("LC_ALL", "C").env_remove("DEBUGINFOD_URLS").stdin(Stdio::null()));
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let mut lines: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    lines.sort();
    lines
}

#[test]
fn perf_report_prints_the_same_from_an_unpacked_archive() {
    let dir = tempfile::tempdir().unwrap();
    let Some(recording) = record(&dir) else { return };
    let elsewhere = tempfile::tempdir().unwrap();
    let empty = path(&elsewhere, "empty");
    fs::create_dir(&empty).unwrap();
    let before = report(&recording, &empty);
    let has_function = |lines: &[String], name: &str| lines.iter().any(|line| line.ends_with(&format!("[.] {name}")));
    assert!(["inner_loop", "other_loop", "busy"].iter().all(|name| has_function(&before, name)), "{before:?}");
    // As in distributions: the symbols are in a separate debug file.
    let (library, debug) = (path(&dir, "libwork.so"), path(&dir, "libwork.so.debug"));
    let is_split = succeeds(Command::new("objcopy").arg("--only-keep-debug").args([&library, &debug]))
        && succeeds(Command::new("strip").arg(&library));
    assert!(is_split, "objcopy and strip should come with the compiler");
    let archive = path(&dir, "out.tar.zst");
    let run =
        run(perfconv().env("HOME", &empty).args(["archive", "--symfs", "/"]).arg(&recording).arg("-o").arg(&archive));
    assert_eq!(run.status, 0, "{}", run.stderr);
    // Warnings name missing files: neither the program nor the library should be among them.
    assert!(
        run.warnings().iter().all(|warning| !warning.contains("libwork") && !warning.contains("/program")),
        "{}",
        run.stderr
    );

    fs::create_dir(path(&dir, "away")).unwrap();
    for file in ["program", "libwork.so", "libwork.so.debug"] {
        fs::rename(path(&dir, file), path(&dir, "away").join(file)).unwrap();
    }
    let cache = path(&elsewhere, "cache");
    let unpacked = unpack(&archive, &cache);
    assert_eq!(unpacked.0, 0, "{}", unpacked.1);
    let after = report(&cache.join("perf.data"), &cache);
    let without = report(&cache.join("perf.data"), &empty);
    assert_eq!(before, after);
    assert!(!["inner_loop", "other_loop", "busy"].iter().any(|name| has_function(&without, name)), "{without:?}");
    print_note(format_args!(
        "archive: {} lines of perf report are the same, {} without the cache",
        after.len(),
        without.len()
    ));

    // Unpacking again has nothing to do, and does not overwrite the recording.
    let (status, said) = unpack(&archive, &cache);
    assert!(status == 1 && said.contains("perf.data: already exists; use -f to overwrite it"), "{said}");
    let (status, said) = unpack_with(&archive, &cache, &["-f"]);
    assert!(status == 0 && said.contains(": 0 files, "), "{said}");
    // An archive of the unpacked recording is the same: the cache has all files.
    let repacked = path(&dir, "repacked.tar");
    let mut command = perfconv();
    command
        .args(["archive", "--strict", "--buildid-dir"])
        .arg(&cache)
        .arg(cache.join("perf.data"))
        .arg("-o")
        .arg(&repacked);
    let run = self::run(command.env("HOME", &empty));
    assert_eq!(run.status, i32::from(!run.warnings().is_empty()) * 3, "{}", run.stderr);
    let plain = zstd::decode_all(&fs::read(&archive).unwrap()[..]).unwrap();
    assert_eq!(entries(&fs::read(&repacked).unwrap()), entries(&plain));
}

fn entries(tar: &[u8]) -> Vec<PathBuf> {
    let mut archive = tar::Archive::new(tar);
    let mut paths: Vec<_> =
        archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned()).collect();
    paths.sort();
    paths
}

fn unpack(archive: &Path, cache: &Path) -> (i32, String) {
    unpack_with(archive, cache, &[])
}

fn unpack_with(archive: &Path, cache: &Path, args: &[&str]) -> (i32, String) {
    let run = run(perfconv().args(["archive", "--unpack"]).arg(archive).arg("-o").arg(cache).args(args));
    (run.status, run.stderr)
}

#[test]
fn rejects_entries_that_lead_out_of_the_cache() {
    const ID: &str = "abcdef0123456789abcdef0123456789abcdef01";
    let link = || format!(".build-id/ab/{}", &ID[2..]);
    let file = |path: &str| (EntryType::Regular, path.replace("ID", ID), String::new());
    let links = |from: String, to: &str| (EntryType::Symlink, from, to.replace("ID", ID));
    let good = || vec![file("perf.data"), file("usr/bin/x/ID/elf"), links(link(), "../../usr/bin/x/ID")];
    let dir = tempfile::tempdir().unwrap();
    let outside = path(&dir, "outside");
    fs::create_dir(&outside).unwrap();
    let unpack_entries = |entries: &[(EntryType, String, String)], cache: &Path| {
        let archive = path(&dir, "made.tar");
        fs::write(&archive, build_archive(entries)).unwrap();
        unpack_with(&archive, cache, &["-f"])
    };
    for unsafe_entry in [
        file("../outside/x/ID/elf"),
        file("/tmp/x/ID/elf"),
        file("usr/../../outside/ID/elf"),
        file("usr/bin/x/ID/sh"),
        file(".bashrc"),
        file(".build-id/ab/x/ID/elf"),
        file("usr/bin/x/ID/elf"),
        links("usr".to_owned(), "../outside"),
        links(link(), "../../../outside"),
        links(link(), "/etc"),
        links(link(), "../../usr/bin/x/aabb"),
        links(format!("usr/bin/y/{ID}/elf"), "/etc/passwd"),
        (EntryType::Link, format!("usr/bin/y/{ID}/elf"), "/etc/passwd".to_owned()),
        (EntryType::Fifo, format!("usr/bin/y/{ID}/elf"), String::new()),
        (EntryType::Char, "perf.data".to_owned(), String::new()),
    ] {
        let cache = path(&dir, "cache");
        let mut entries = good();
        entries.push(unsafe_entry.clone());
        let (status, said) = unpack_entries(&entries, &cache);
        assert!(
            status == 1 && said.lines().count() == 1 && said.contains("nothing was unpacked"),
            "{unsafe_entry:?}: {said}"
        );
        assert!(!cache.exists() && fs::read_dir(&outside).unwrap().next().is_none(), "{unsafe_entry:?}");
    }
    // A symbolic link in place of a directory of the cache is not followed.
    let cache = path(&dir, "linked");
    fs::create_dir(&cache).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, cache.join("usr")).unwrap();
    let (status, said) = unpack_entries(&good(), &cache);
    assert!(status == 1 && said.contains("cannot move into place"), "{said}");
    assert!(fs::read_dir(&outside).unwrap().next().is_none());
    let left: Vec<_> = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["usr"], "files put in place before the error should be removed");

    let complete = build_archive(&good());
    let cache = path(&dir, "truncated");
    for (bytes, what) in
        [(&complete[..700], "truncated"), (&complete[..0], "empty"), (b"no archive at all", "no archive")]
    {
        let archive = path(&dir, "truncated.tar");
        fs::write(&archive, bytes).unwrap();
        let (status, said) = unpack(&archive, &cache);
        assert!(status == 1 && said.lines().count() == 1 && !cache.exists(), "{what}: {said}");
    }
    let cache = path(&dir, "good");
    let (status, said) = unpack_entries(&good(), &cache);
    assert_eq!(status, 0, "{said}");
    assert_eq!(fs::read(cache.join(link()).join("elf")).unwrap(), b"content");
}

/// Builds an archive with any entries, without validating paths.
fn build_archive(entries: &[(EntryType, String, String)]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (kind, path, to) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        let put = |field: &mut [u8], text: &str| field[..text.len()].copy_from_slice(text.as_bytes());
        let old = header.as_old_mut();
        put(&mut old.name, path);
        put(&mut old.linkname, to);
        let content: &[u8] = if *kind == EntryType::Regular { b"content" } else { b"" };
        header.set_size(content.len() as u64);
        header.set_cksum();
        tar.append(&header, content).unwrap();
    }
    tar.into_inner().unwrap()
}

#[test]
fn recordings_keep_their_names_when_unpacked() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = crate::suite::files::fixture("plain.data");
    let bytes = fs::read(&fixture).unwrap();
    fs::write(path(&dir, "run 7.data.zst"), zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    fs::write(path(&dir, ".hidden"), &bytes).unwrap();
    let json = run(perfconv().current_dir(&dir).arg(&fixture).args(["-q", "-o", "x.jsonl"]));
    assert_eq!(json.status, 0, "{}", json.stderr);
    for (input, name) in
        [("run 7.data.zst", "run 7.data"), (".hidden", "perf.data"), ("x.jsonl", "perf.data"), ("-", "perf.data")]
    {
        let mut command = perfconv();
        command.current_dir(&dir).args(["archive", "-f", "-o", "a.tar", input]);
        let packed = run(command.stdin(fs::File::open(&fixture).unwrap()));
        assert_eq!(packed.status, 0, "{}", packed.stderr);
        let cache = path(&dir, "cache");
        let (status, said) = unpack(&path(&dir, "a.tar"), &cache);
        assert_eq!(status, 0, "{said}");
        assert!(fs::read(cache.join(name)).unwrap().starts_with(b"PERFILE2"), "{input}: {said}");
        fs::remove_dir_all(cache).unwrap();
    }
    // Only a recording may have its own name, and there is only one.
    for (names, what) in [
        (&["Makefile"][..], "Makefile is not a recording"),
        (&["perf.data", "other.data"], "other.data does not belong"),
        (&[".bashrc"], ".bashrc does not belong"),
    ] {
        let entries: Vec<_> =
            names.iter().map(|name| (EntryType::Regular, (*name).to_owned(), String::new())).collect();
        fs::write(path(&dir, "made.tar"), build_archive(&entries)).unwrap();
        let (status, said) = unpack(&path(&dir, "made.tar"), &path(&dir, "none"));
        assert!(status == 1 && said.contains(what) && !path(&dir, "none").exists(), "{said}");
    }
}

#[test]
fn rejects_bad_options() {
    let fixture = crate::suite::files::fixture("plain.data");
    for (args, said) in [
        (&["-o", "x.zip"][..], "x.zip: unknown archive type; expected an extension of: .tar, .tar.gz, .tar.zst"),
        (&["--unpack", "--symfs", "/"], "--symfs cannot be used with --unpack"),
    ] {
        let run = run(perfconv().arg("archive").arg(&fixture).args(args));
        assert_eq!((run.status, run.stderr.contains(said)), (2, true), "{}", run.stderr);
    }
    let dir = tempfile::tempdir().unwrap();
    let (status, message) = unpack(&fixture, dir.path());
    let expected = "plain.data: not a tar archive; name an archive written by perfconv archive\n";
    assert!(status == 1 && message.ends_with(expected), "{message}");
}

/// Prints a line to standard error, not with the print macros, whose output the test harness captures.
fn print_note(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error should be writable");
}
