//! Objects with symbols: corrupt ones, and those in archives and on servers.

use crate::common::symbols::{addresses, corpus, output_text, script};
#[cfg(feature = "debuginfod")]
use crate::common::symbols::{downloaded, frames_of, mill, serve};
use perf_symbols::symbol::find::SearchOptions;
use perf_symbols::symbol::{Addresses, ObjectKey, Options, Request, Symbolizer};
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn corrupt_objects_cost_their_own_names() {
    let directory = tempfile::tempdir().unwrap();
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/files/srv/sym/bin");
    let of_fixture = |name: &str| (fixtures.join(name), (0x1000..0x5000).step_by(8).collect::<Vec<u64>>());
    let mut objects: Vec<_> = ["foundry-fp", "mill-fp", "tower"].map(of_fixture).into();
    if let Some(corpus) = corpus() {
        let names = ["foundry-pie", "foundry-gzstd", "foundry-mini", "foundry-dw4", "mill-gz", "plt-lazy", "ferry-s"];
        objects.extend(names.map(|name| {
            let list = addresses(&corpus.join("addr").join(format!("{name}.addrs.zst")));
            (corpus.join("symfs/srv/sym/bin").join(name), list)
        }));
    } else {
        note!("skipped: there is no ../shared/symbols");
    }
    let (mut tried, mut known) = (0, 0);
    for (path, list) in objects {
        let whole = fs::read(path).unwrap();
        for round in 0..24 {
            let mut bytes = whole.clone();
            for _ in 0..1 << (round % 8) {
                let at = random(bytes.len());
                bytes[at] = [0, 0xff, 0x7f, 0x80, random(256) as u8][random(5)];
            }
            if round % 6 == 0 {
                bytes.truncate(random(whole.len()));
            }
            let path = directory.path().join("object");
            fs::write(&path, &bytes).unwrap();
            let search = SearchOptions::default();
            let symbolizer = Symbolizer::new(Options::default(), search);
            let key = ObjectKey { path, ..ObjectKey::default() };
            let requests = [Request::new(key, Addresses::Virtual(list.iter().copied().step_by(9).collect()))];
            known += symbolizer.resolve(&requests).objects[0].with_function;
            tried += 1;
        }
    }
    note!("{tried} corrupt objects, {known} addresses with a function");
    assert!(tried >= 72 && known > 1000);
}

/// Number of named frames of programs and libraries.
fn named_frames(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with('\t') && line.contains("+0x") && line.contains(" (/")).count()
}

#[test]
fn archives_are_converted_with_their_objects() {
    let Some(corpus) = corpus() else {
        note!("skipped: there is no ../shared/symbols");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let at = |path: &str| directory.path().join(path);
    let (recording, symfs) = (corpus.join("rec/d-fp-c.data"), corpus.join("symfs"));
    let perfconv = |arguments: &[&std::ffi::OsStr]| {
        let status = Command::new(env!("CARGO_BIN_EXE_perfconv")).arg("archive").args(arguments).arg("-q").status();
        assert!(status.unwrap().success());
    };
    let archive = at("c.tar.zst");
    perfconv(&[recording.as_ref(), "--symfs".as_ref(), symfs.as_ref(), "-o".as_ref(), archive.as_ref()]);
    let home = at("home");
    fs::create_dir(&home).unwrap();
    let expected = named_frames(&script(&recording, &["--symfs".as_ref(), symfs.as_ref()], &home));
    let without = named_frames(&script(&recording, &[], &home));
    let (temporary, spool) = (at("spool"), "--spool-dir".as_ref());
    fs::create_dir(&temporary).unwrap();
    let from_archive = script(&archive, &[spool, temporary.as_ref()], &home);
    note!("{expected} named frames, {without} without files, {} from the archive", named_frames(&from_archive));
    assert!(without + 1000 < expected && named_frames(&from_archive) == expected);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "temporary files remain");

    // Other commands read it as well.
    let output = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfconv"));
        let output = command.args(arguments).arg(&archive).env("HOME", &home).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (_, report) = output(&["check", "--symbols"]);
    assert!(report.starts_with(&archive.display().to_string()) && !report.contains("mill-fp"), "{report}");
    assert_eq!(output(&["check"]).0, Some(0));
    let (status, info) = output(&["info", "--stats"]);
    assert!(status == Some(0) && info.contains("SAMPLE"), "{info}");

    // The same objects, unpacked to a directory that is named and to the cache of the user.
    let unpacked = at("unpacked");
    perfconv(&[archive.as_ref(), "--unpack".as_ref(), "-o".as_ref(), unpacked.as_ref()]);
    let named = script(&recording, &["--buildid-dir".as_ref(), unpacked.as_ref()], &home);
    assert_eq!(named_frames(&named), expected);
    let alone = tempfile::tempdir().unwrap();
    fs::rename(&unpacked, alone.path().join(".debug")).unwrap();
    assert_eq!(named_frames(&script(&recording, &[], alone.path())), expected);
}

/// Recordings of the corpus, of objects with all forms of debug information.
const ARCHIVED: [&str; 18] = [
    "addr-ferry-s",
    "addr-foundry-bid",
    "addr-foundry-dw4dwp",
    "addr-foundry-dwz2",
    "addr-foundry-lld",
    "addr-foundry-mini",
    "addr-foundry-split",
    "addr-harbor-split",
    "addr-mill-dwp",
    "addr-mill-dwz",
    "addr-mill-link",
    "d-dw-foundry-dwz",
    "d-dw-go",
    "d-dw-harbor-pipe",
    "d-fp-jitdump",
    "d-fp-jitinj",
    "d-fp-jitmap",
    "d-fp-py",
];

#[test]
fn archives_contain_all_that_symbolization_needs() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols");
    let fixture = |name: &str| (fixtures.join(name).with_extension("data"), fixtures.join("files"));
    let mut recordings: Vec<_> = ["c", "cxx", "dwarf", "jitmap", "words"].map(fixture).into();
    if let Some(corpus) = corpus() {
        let of_corpus = |name: &&str| (corpus.join("rec").join(name).with_extension("data"), corpus.join("symfs"));
        recordings.extend(ARCHIVED.iter().map(of_corpus));
    } else {
        note!("skipped: there is no ../shared/symbols");
    }
    for (recording, symfs) in recordings {
        let directory = tempfile::tempdir().unwrap();
        let [archive, home] = ["x.tar.zst", "home"].map(|name| directory.path().join(name));
        fs::create_dir(&home).unwrap();
        let files = ["--symfs".as_ref(), symfs.as_os_str()];
        let mut perfconv = Command::new(env!("CARGO_BIN_EXE_perfconv"));
        perfconv.arg("archive").arg(&recording).args(files).arg("-o").arg(&archive).env("HOME", &home);
        let output = perfconv.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = |input: &Path, options: &[&std::ffi::OsStr]| {
            let with_lines = ["-F".as_ref(), "+srcline".as_ref()];
            output_text(input, &[options, &with_lines].concat(), &home)
        };
        // No files of this machine, which may run the recorded kernel.
        let (expected, archived) = (text(&recording, &files), text(&archive, &["--symfs".as_ref(), home.as_os_str()]));
        let lines = |text: &str| text.lines().filter(|line| line.starts_with("  ")).count();
        note!(
            "{}: {} of {} lines, {}",
            recording.display(),
            lines(&archived),
            lines(&expected),
            String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default()
        );
        assert!(lines(&expected) > 50 && archived == expected);
        let unpacked = directory.path().join("unpacked");
        let mut perfconv = Command::new(env!("CARGO_BIN_EXE_perfconv"));
        let status = perfconv.args(["archive", "-q", "--unpack", "-o"]).arg(&unpacked).arg(&archive).status();
        assert!(status.unwrap().success());
        let with_build_ids = unpacked.join(recording.file_name().unwrap());
        assert!(
            text(&with_build_ids, &["--buildid-dir".as_ref(), unpacked.as_ref(), "--symfs".as_ref(), home.as_os_str()])
                == expected
        );
    }
}

#[test]
#[cfg(feature = "debuginfod")]
fn missing_objects_are_downloaded_from_debuginfod_servers() {
    let (recording, program) = mill();
    let id = perf_symbols::symbol::object::Object::open(&program).unwrap().unwrap().build_id().unwrap();
    for kind in ["debuginfo", "executable"] {
        let cache = tempfile::tempdir().unwrap();
        let url = serve([(format!("/buildid/{id}/{kind}"), program.clone())].into(), None);
        let (text, messages) = downloaded(&recording, &url, cache.path());
        assert!(frames_of(&text, "mill-fp") > 4000, "{messages}");
        assert!(
            messages.contains(&format!("/srv/sym/bin/mill-fp: downloading {url}/buildid/{id}/{kind}")),
            "{messages}"
        );
        let is_complete = kind == "debuginfo";
        let missing = format!("/srv/sym/bin/mill-fp (build ID {id}): no debuginfod server has its debuginfo");
        assert_eq!(messages.contains(&missing), !is_complete, "{messages}");
        // Now the file is in the cache, which is used without a server, too.
        let other = script(&recording, &["--symbols".as_ref(), "auto".as_ref()], cache.path());
        assert_eq!(frames_of(&other, "mill-fp"), 0, "the cache is another one");
        let (cached, messages) = downloaded(&recording, "http://127.0.0.1:1", cache.path());
        assert_eq!(cached, text, "{messages}");
    }
}

#[test]
#[cfg(feature = "debuginfod")]
fn a_debuginfod_server_that_hangs_costs_its_names() {
    let ((recording, _), cache) = (mill(), tempfile::tempdir().unwrap());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (text, messages) = downloaded(&recording, &url, cache.path());
    let warning = "perfconv: warning: /srv/sym/bin/mill-fp (build ID 207889b15e1b179344ede81d1d4ea6be94e4bc74)";
    assert!(messages.contains(warning) && messages.contains("not asked again"), "{messages}");
    assert!(text.lines().count() > 4000 && frames_of(&text, "mill-fp") == 0);
}
