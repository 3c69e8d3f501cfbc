//! Archives: unpacking rejects unsafe entries.

use crate::common::archive::{path, unpack, unpack_with};
use crate::common::program::{perfconv, run, succeed};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

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
    let fixture = crate::common::files::fixture("plain.data");
    let bytes = fs::read(&fixture).unwrap();
    fs::write(path(&dir, "run 7.data.zst"), zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
    fs::write(path(&dir, ".hidden"), &bytes).unwrap();
    succeed(perfconv().current_dir(&dir).arg(&fixture).args(["-q", "-o", "x.jsonl"]));
    for (input, name) in
        [("run 7.data.zst", "run 7.data"), (".hidden", "perf.data"), ("x.jsonl", "perf.data"), ("-", "perf.data")]
    {
        let mut command = perfconv();
        command.current_dir(&dir).args(["archive", "-f", "-o", "a.tar", input]);
        succeed(command.stdin(fs::File::open(&fixture).unwrap()));
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

/// An archive as `perf archive` writes it, alone and beside a recording as with `--all`.
#[test]
fn unpacks_archives_of_perf() {
    let dir = tempfile::tempdir().unwrap();
    let compressed = |entries: &[(EntryType, String, String)]| {
        let mut bzip2 =
            bzip2::read::BzEncoder::new(io::Cursor::new(build_archive(entries)), bzip2::Compression::fast());
        let mut bytes = Vec::new();
        bzip2.read_to_end(&mut bytes).unwrap();
        bytes
    };
    const ID: &str = "abcdef0123456789abcdef0123456789abcdef01";
    let object = format!("usr/bin/x/{ID}");
    let link = PathBuf::from(format!(".build-id/ab/{}", &ID[2..]));
    let file = |name: &str| (EntryType::Regular, format!("{object}/{name}"), String::new());
    let to_object = (EntryType::Symlink, link.display().to_string(), format!("../../{object}"));
    let entries = [to_object, file("probes"), file("elf")];
    fs::write(path(&dir, "perf.data.tar.bz2"), compressed(&entries)).unwrap();
    let (status, said) = unpack(&path(&dir, "perf.data.tar.bz2"), &path(&dir, "cache"));
    assert_eq!(status, 0, "{said}");
    assert_eq!(fs::read(path(&dir, "cache").join(&link).join("elf")).unwrap(), b"content");
    assert!(!path(&dir, "cache").join(&link).join("probes").exists());
    let run = run(perfconv().arg(path(&dir, "perf.data.tar.bz2")).arg("-o").arg(path(&dir, "x.pb.gz")));
    assert!(run.stderr.contains("no recording; unpack it with perfconv archive --unpack"), "{}", run.stderr);

    let mut tar = Builder::new(Vec::new());
    let recording = fs::read(crate::common::files::fixture("plain.data")).unwrap();
    for (name, bytes) in [("perf.data", &recording), ("perf.symbols.tar.bz2", &compressed(&entries))] {
        let mut header = Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, &bytes[..]).unwrap();
    }
    fs::write(path(&dir, "all.tar"), tar.into_inner().unwrap()).unwrap();
    let (status, said) = unpack(&path(&dir, "all.tar"), &path(&dir, "all"));
    assert_eq!(status, 0, "{said}");
    assert!(path(&dir, "all").join("perf.data").exists() && path(&dir, "all").join(&link).join("elf").exists());
    let truncated = fs::read(path(&dir, "perf.data.tar.bz2")).unwrap();
    fs::write(path(&dir, "truncated.tar.bz2"), &truncated[..truncated.len() / 2]).unwrap();
    let (status, said) = unpack(&path(&dir, "truncated.tar.bz2"), &path(&dir, "none"));
    assert!(status == 1 && !path(&dir, "none").exists(), "{said}");
}

#[test]
fn rejects_bad_options() {
    let fixture = crate::common::files::fixture("plain.data");
    for (args, said) in [
        (&["-o", "x.zip"][..], "x.zip: unknown archive type; expected an extension of: .tar, .tar.gz, .tar.zst"),
        (&["--unpack", "--symfs", "/"], "--symfs cannot be used with --unpack"),
    ] {
        let run = run(perfconv().arg("archive").arg(&fixture).args(args));
        assert_eq!((run.status, run.stderr.contains(said)), (2, true), "{}", run.stderr);
    }
    let dir = tempfile::tempdir().unwrap();
    let (status, message) = unpack(&fixture, dir.path());
    let expected = "plain.data: not a tar archive; name an archive written by perfconv archive or perf archive\n";
    assert!(status == 1 && message.ends_with(expected), "{message}");
}

#[test]
fn functions_of_a_summary_are_named_by_the_archive() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("words.tar.zst");
    let words = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let mut pack = perfconv();
    pack.arg("archive").arg(words.join("words.data")).arg("--symfs").arg(words.join("files"));
    succeed(pack.arg("-o").arg(&archive));
    let summary = String::from_utf8(succeed(perfconv().arg(&archive)).stdout).unwrap();
    assert!(summary.contains("28.48%  find (words)\n"), "{summary}");
}
