//! Archives: `perf report` prints the same on a system without the programs.

use crate::common::archive::{entries, path, unpack, unpack_with};
use crate::common::oracle::note_missing_oracle;
use crate::common::program::{perfconv, run, run_other, succeed, with_time_limit};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A library whose symbols go into a separate debug file, and a program that uses it.
const LIBRARY: &str = "volatile unsigned long sum;\n\
    #define LOOP(name) __attribute__((noinline)) static void name(void) { for (long i = 0; i < 50000000; i++) sum += i * i; }\n\
    LOOP(inner_loop) LOOP(other_loop)\n\
    void work(void) { inner_loop(); other_loop(); sum++; }\n";

const PROGRAM: &str = "void work(void); volatile unsigned long own;\n\
    __attribute__((noinline)) static void busy(void) { for (long i = 0; i < 50000000; i++) own += i * i; }\n\
    int main(void) { work(); busy(); return 0; }\n";

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
        note!("archive: skipped: no C compiler");
        return None;
    }
    let mut perf = with_time_limit("perf");
    perf.args(["record", "-q", "-B", "-g", "-e", "cpu-clock:u", "-F", "999", "-o"])
        .arg(at("perf.data"))
        .arg(at("program"));
    if !succeeds(perf.env("HOME", dir.path())) {
        note_missing_oracle("a perf that can record");
        note!("archive: skipped: perf cannot record here");
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
    let run = succeed(
        perfconv().env("HOME", &empty).args(["archive", "--symfs", "/"]).arg(&recording).arg("-o").arg(&archive),
    );
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
    note!("archive: {} lines of perf report are the same, {} without the cache", after.len(), without.len());

    // Unpacking again has nothing to do, and does not overwrite the recording.
    let (status, said) = unpack(&archive, &cache);
    assert!(status == 1 && said.contains("perf.data: already exists; use -f to replace it"), "{said}");
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
