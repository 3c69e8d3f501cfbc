//! Archives: what `perf report` shows of them on a system without the programs, and what is not unpacked.

use crate::suite::program::{perfconv, run, run_other, with_time_limit};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

/// A library, whose symbols go into a file of their own, and a program that uses it.
const LIBRARY: &str = "volatile unsigned long sum;\n\
    #define LOOP(name) __attribute__((noinline)) static void name(void) { for (long i = 0; i < 50000000; i++) sum += i * i; }\n\
    LOOP(inner_loop) LOOP(other_loop)\n\
    void work(void) { inner_loop(); other_loop(); sum++; }\n";
const PROGRAM: &str = "void work(void); volatile unsigned long own;\n\
    __attribute__((noinline)) static void busy(void) { for (long i = 0; i < 50000000; i++) own += i * i; }\n\
    int main(void) { work(); busy(); return 0; }\n";

fn path(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

fn is_done(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A program, its library and a recording of them; `None` where there is no compiler or no perf that can record, which is said.
fn made(folder: &TempDir) -> Option<PathBuf> {
    let at = |name: &str| path(folder, name);
    fs::write(at("library.c"), LIBRARY).unwrap();
    fs::write(at("program.c"), PROGRAM).unwrap();
    let library = ["-O1", "-g", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o"];
    let made = is_done(Command::new("cc").args(library).arg(at("libwork.so")).arg(at("library.c")))
        && is_done(
            Command::new("cc")
                .args(["-O1", "-Wl,--build-id=md5", "-o"])
                .arg(at("program"))
                .args([at("program.c"), at("libwork.so")])
                .arg(format!("-Wl,-rpath,{}", folder.path().display())),
        );
    if !made {
        say(format_args!("archive: there is no compiler, nothing is compared"));
        return None;
    }
    let mut perf = with_time_limit("perf");
    perf.args(["record", "-q", "-B", "-g", "-e", "cpu-clock:u", "-F", "999", "-o"])
        .arg(at("perf.data"))
        .arg(at("program"));
    if !is_done(perf.env("HOME", folder.path())) {
        say(format_args!("archive: perf cannot record here, nothing is compared"));
        return None;
    }
    Some(at("perf.data"))
}

/// The functions that perf report shows with a cache of build ids, and in which objects.
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
fn perf_report_shows_the_same_functions_where_the_programs_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let Some(recording) = made(&folder) else { return };
    let elsewhere = tempfile::tempdir().unwrap();
    let empty = path(&elsewhere, "empty");
    fs::create_dir(&empty).unwrap();
    let before = report(&recording, &empty);
    let knows = |lines: &[String], name: &str| lines.iter().any(|line| line.ends_with(&format!("[.] {name}")));
    assert!(["inner_loop", "other_loop", "busy"].iter().all(|name| knows(&before, name)), "{before:?}");
    // As distributions install it: the names are in a file of their own.
    let (library, debug) = (path(&folder, "libwork.so"), path(&folder, "libwork.so.debug"));
    let is_split = is_done(Command::new("objcopy").arg("--only-keep-debug").args([&library, &debug]))
        && is_done(Command::new("strip").arg(&library));
    assert!(is_split, "objcopy and strip come with the compiler");
    let archive = path(&folder, "out.tar.zst");
    let run =
        run(perfconv().env("HOME", &empty).args(["archive", "--symfs", "/"]).arg(&recording).arg("-o").arg(&archive));
    assert_eq!(run.status, 0, "{}", run.stderr);
    // All that is missing is told: nothing of it is the program's or the library's.
    assert!(
        run.warnings().iter().all(|warning| !warning.contains("libwork") && !warning.contains("/program")),
        "{}",
        run.stderr
    );

    fs::create_dir(path(&folder, "away")).unwrap();
    for file in ["program", "libwork.so", "libwork.so.debug"] {
        fs::rename(path(&folder, file), path(&folder, "away").join(file)).unwrap();
    }
    let cache = path(&elsewhere, "cache");
    let unpacked = unpack(&archive, &cache);
    assert_eq!(unpacked.0, 0, "{}", unpacked.1);
    let after = report(&cache.join("perf.data"), &cache);
    let without = report(&cache.join("perf.data"), &empty);
    assert_eq!(before, after);
    assert!(!["inner_loop", "other_loop", "busy"].iter().any(|name| knows(&without, name)), "{without:?}");
    say(format_args!("archive: {} lines of perf report are the same, {} without", after.len(), without.len()));

    // Once more, there is nothing to do; the recording is not overwritten.
    let (status, said) = unpack(&archive, &cache);
    assert!(status == 1 && said.contains("perf.data: exists already; -f overwrites it"), "{said}");
    let (status, said) = unpack_with(&archive, &cache, &["-f"]);
    assert!(status == 0 && said.contains(": 0 files, "), "{said}");
    // The same archive of what was unpacked: the cache has all of it.
    let again = path(&folder, "again.tar");
    let mut command = perfconv();
    command
        .args(["archive", "--strict", "--buildid-dir"])
        .arg(&cache)
        .arg(cache.join("perf.data"))
        .arg("-o")
        .arg(&again);
    let run = self::run(command.env("HOME", &empty));
    assert_eq!(run.status, i32::from(!run.warnings().is_empty()) * 3, "{}", run.stderr);
    let plain = zstd::decode_all(&fs::read(&archive).unwrap()[..]).unwrap();
    assert_eq!(entries(&fs::read(&again).unwrap()), entries(&plain));
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
fn nothing_is_unpacked_that_leads_elsewhere() {
    const ID: &str = "abcdef0123456789abcdef0123456789abcdef01";
    let link = || format!(".build-id/ab/{}", &ID[2..]);
    let file = |path: &str| (EntryType::Regular, path.replace("ID", ID), String::new());
    let links = |from: String, to: &str| (EntryType::Symlink, from, to.replace("ID", ID));
    let good = || vec![file("perf.data"), file("usr/bin/x/ID/elf"), links(link(), "../../usr/bin/x/ID")];
    let folder = tempfile::tempdir().unwrap();
    let outside = path(&folder, "outside");
    fs::create_dir(&outside).unwrap();
    let try_it = |entries: &[(EntryType, String, String)], cache: &Path| {
        let archive = path(&folder, "made.tar");
        fs::write(&archive, made_of(entries)).unwrap();
        unpack_with(&archive, cache, &["-f"])
    };
    for bad in [
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
        let cache = path(&folder, "cache");
        let mut entries = good();
        entries.push(bad.clone());
        let (status, said) = try_it(&entries, &cache);
        assert!(status == 1 && said.lines().count() == 1 && said.contains("nothing is unpacked"), "{bad:?}: {said}");
        assert!(!cache.exists() && fs::read_dir(&outside).unwrap().next().is_none(), "{bad:?}");
    }
    // A cache that has a link where a folder would be is not gone through.
    let cache = path(&folder, "linked");
    fs::create_dir(&cache).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, cache.join("usr")).unwrap();
    let (status, said) = try_it(&good(), &cache);
    assert!(status == 1 && said.contains("cannot put in place"), "{said}");
    assert!(fs::read_dir(&outside).unwrap().next().is_none());
    let left: Vec<_> = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["usr"], "what was put in place before is taken away again");

    let whole = made_of(&good());
    let cache = path(&folder, "cut");
    for (bytes, what) in [(&whole[..700], "cut"), (&whole[..0], "empty"), (b"no archive at all", "another")] {
        let archive = path(&folder, "cut.tar");
        fs::write(&archive, bytes).unwrap();
        let (status, said) = unpack(&archive, &cache);
        assert!(status == 1 && said.lines().count() == 1 && !cache.exists(), "{what}: {said}");
    }
    let cache = path(&folder, "good");
    let (status, said) = try_it(&good(), &cache);
    assert_eq!(status, 0, "{said}");
    assert_eq!(fs::read(cache.join(link()).join("elf")).unwrap(), b"content");
}

/// An archive with whatever in it, without a look at paths.
fn made_of(entries: &[(EntryType, String, String)]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (kind, path, to) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        let put = |place: &mut [u8], text: &str| place[..text.len()].copy_from_slice(text.as_bytes());
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
fn a_recording_is_unpacked_under_its_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = crate::suite::files::fixture("plain.data");
    let bytes = fs::read(&fixture).unwrap();
    fs::write(path(&folder, "run 7.data.zst"), zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    fs::write(path(&folder, ".hidden"), &bytes).unwrap();
    let json = run(perfconv().current_dir(&folder).arg(&fixture).args(["-q", "-o", "x.jsonl"]));
    assert_eq!(json.status, 0, "{}", json.stderr);
    for (input, name) in
        [("run 7.data.zst", "run 7.data"), (".hidden", "perf.data"), ("x.jsonl", "perf.data"), ("-", "perf.data")]
    {
        let mut command = perfconv();
        command.current_dir(&folder).args(["archive", "-f", "-o", "a.tar", input]);
        let packed = run(command.stdin(fs::File::open(&fixture).unwrap()));
        assert_eq!(packed.status, 0, "{}", packed.stderr);
        let cache = path(&folder, "cache");
        let (status, said) = unpack(&path(&folder, "a.tar"), &cache);
        assert_eq!(status, 0, "{said}");
        assert!(fs::read(cache.join(name)).unwrap().starts_with(b"PERFILE2"), "{input}: {said}");
        fs::remove_dir_all(cache).unwrap();
    }
    // Only a recording has a name of its own, and there is one.
    for (names, what) in [
        (&["Makefile"][..], "Makefile has a name of its own and is no recording"),
        (&["perf.data", "other.data"], "other.data does not belong"),
        (&[".bashrc"], ".bashrc does not belong"),
    ] {
        let entries: Vec<_> =
            names.iter().map(|name| (EntryType::Regular, (*name).to_owned(), String::new())).collect();
        fs::write(path(&folder, "made.tar"), made_of(&entries)).unwrap();
        let (status, said) = unpack(&path(&folder, "made.tar"), &path(&folder, "none"));
        assert!(status == 1 && said.contains(what) && !path(&folder, "none").exists(), "{said}");
    }
}

#[test]
fn what_is_asked_wrongly_is_said() {
    let fixture = crate::suite::files::fixture("plain.data");
    for (args, said) in [
        (&["-o", "x.zip"][..], "x.zip: an archive is a .tar, a .tar.gz or a .tar.zst"),
        (&["--unpack", "--symfs", "/"], "--symfs is not for --unpack"),
    ] {
        let run = run(perfconv().arg("archive").arg(&fixture).args(args));
        assert_eq!((run.status, run.stderr.contains(said)), (2, true), "{}", run.stderr);
    }
}

/// Not through the macros, whose output the test harness hides when the test passes.
fn say(line: std::fmt::Arguments<'_>) {
    writeln!(io::stderr(), "{line}").expect("standard error can be written to");
}
