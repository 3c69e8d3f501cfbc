//! Unusual file names and file types as inputs and outputs.

use crate::common::files::fixture;
use crate::common::program::{Run, perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::abi::attr::Attr;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample_type::SampleType;
use perf_data::container::read::ReadOptions;
use perf_data::container::read::file::FileAttr;
use perf_data::container::read::input::Input;
use perf_data::container::write::file::FileWriter;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_data::stream::source::Source;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Unusual names: with a space, not UTF-8, with a terminal escape sequence, like an option.
const NAMES: [&[u8]; 4] = [b"with a space", b"not \xff\xfe UTF-8", b"line\nand \x1b[31mred", b"-o"];

#[test]
fn every_command_accepts_unusual_names() {
    let mut runs = 0;
    for name in NAMES {
        let temp = tempfile::tempdir().unwrap();
        let temp = temp.path().join(OsStr::from_bytes(name));
        fs::create_dir(&temp).unwrap();
        let path = |ending: &str| temp.join(OsStr::from_bytes(&[name, ending.as_bytes()].concat()));
        let input = path(".data");
        fs::copy(fixture("callgraph.data"), &input).unwrap();
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/callgraph.toml"), path(".toml")).unwrap();
        let dir = path(".dir");
        let commands: Vec<(&[&str], Vec<PathBuf>, Option<PathBuf>)> = vec![
            (&["convert"], vec![input.clone()], Some(path(".pb.gz"))),
            (&["convert", "-t", "csv"], vec![input.clone()], Some(path(".csv"))),
            (&["convert"], vec![input.clone()], Some(path(".jsonl"))),
            (&["convert"], vec![path(".jsonl")], Some(path(".restored.data"))),
            (&["rewrite", "--container", "dir"], vec![input.clone()], Some(dir.clone())),
            (&["convert"], vec![dir.clone()], Some(path(".dir.jsonl"))),
            (&["convert", "-t", "perf.data"], vec![path(".dir.jsonl")], Some(path(".restored.dir"))),
            (&["rewrite", "--sort"], vec![input.clone()], Some(path(".sorted.data"))),
            (&["repair"], vec![input.clone()], Some(path(".repaired.data"))),
            (&["merge"], vec![input.clone(), dir.clone()], Some(path(".merged.data"))),
            (&["split", "--by", "tid"], vec![input.clone()], Some(path(".split"))),
            (&["archive"], vec![input.clone()], Some(path(".tar.zst"))),
            (&["archive", "--unpack"], vec![path(".tar.zst")], Some(path(".unpacked"))),
            (&["synth"], vec![path(".toml")], Some(path(".synth.data"))),
            (&["check"], vec![input.clone(), dir.clone()], None),
            (&["info"], vec![input.clone()], None),
            (&["dump"], vec![dir.clone()], None),
            (&["diff"], vec![input.clone(), path(".repaired.data")], None),
        ];
        for (args, inputs, output) in commands {
            let mut command = perfconv();
            command.args(args).args(output.as_ref().map(|_| "-o")).args(&output).arg("--").args(&inputs);
            let run = run(&mut command);
            // `check` reports findings, and `diff` differences.
            assert!(matches!(run.status, 0 | 3) || args == ["diff"] && run.status == 1, "{args:?}: {}", run.stderr);
            assert!(output.is_none_or(|output| output.exists()), "{args:?}: no output is written");
            let is_plain = |byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..);
            assert!(run.stderr.as_bytes().iter().all(is_plain), "{args:?}: {:?}", run.stderr);
            runs += 1;
        }
        assert!(fs::read(path(".restored.data")).unwrap() == fs::read(&input).unwrap(), "round trip through JSON");
    }
    note!("{runs} runs with {} kinds of names", NAMES.len());
    assert!(runs >= 70);
}

/// Converts a file, and returns the error.
fn reject(input: &Path, output: &Path) -> String {
    let run = run(perfconv().arg(input).arg("-f").arg("-o").arg(output));
    run.failure().unwrap_or_else(|error| panic!("{}: {error}", input.display())).to_owned()
}

#[test]
fn rejects_devices_sockets_and_broken_links() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name);
    symlink(path("loop"), path("loop")).unwrap();
    symlink(path("nowhere"), path("broken")).unwrap();
    let _socket = UnixListener::bind(path("socket")).unwrap();
    let output = path("out.pb.gz");
    let mut errors = BTreeMap::new();
    for input in [
        Path::new("/dev/null"),
        Path::new("/dev/zero"),
        Path::new("/dev/full"),
        Path::new("/proc/self/mem"),
        Path::new("/proc/self/status"),
        Path::new("/sys/kernel/notes"),
        Path::new("/proc"),
        &path("loop"),
        &path("broken"),
        &path("socket"),
        &path("broken/below"),
        temp.path(),
    ] {
        if !input.starts_with(temp.path()) && !input.exists() {
            continue;
        }
        let sentence = reject(input, &output);
        assert!(sentence.contains(&*input.to_string_lossy()), "{sentence}");
        assert!(!output.exists(), "{sentence}");
        errors.insert(input.to_owned(), sentence);
    }
    note!("{} inputs that are no recordings were rejected: {:?}", errors.len(), errors.values().collect::<Vec<_>>());
    assert!(errors.len() >= 9);
}

#[test]
fn reads_open_file_descriptors() {
    let expected = run(perfconv().arg(fixture("callgraph.data")).args(["-q", "-t", "pprof", "-o", "-"]));
    assert_eq!(expected.status, 0);
    for name in ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"] {
        let file = File::open(fixture("callgraph.data")).unwrap();
        let result = run(perfconv().stdin(file).args([name, "-q", "-t", "pprof", "-o", "-"]));
        assert_eq!((result.status, &*result.stderr), (0, ""), "{name}");
        assert!(result.stdout == expected.stdout, "{name}: outputs differ");
    }
    let (reader, mut writer) = io::pipe().unwrap();
    let bytes = fs::read(fixture("pipe.data")).unwrap();
    let by_path = run(perfconv().arg(fixture("pipe.data")).args(["-q", "-t", "pprof", "-o", "-"]));
    let mut command = perfconv();
    command.args(["/dev/fd/0", "-q", "-t", "pprof", "-o", "-"]).stdin(reader);
    let writing = std::thread::spawn(move || writer.write_all(&bytes));
    let result = run(&mut command);
    writing.join().unwrap().unwrap();
    assert_eq!((result.status, result.stdout == by_path.stdout), (0, true), "{}", result.stderr);
}

/// Makes a command run as an unprivileged user if the tests run as root.
fn as_nobody(command: &mut Command) -> &mut Command {
    if fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0) {
        command.uid(65534).gid(65534);
    }
    command
}

fn failure_as_nobody(args: &[&OsStr]) -> String {
    let result: Run = run(as_nobody(perfconv().args(args)));
    result.failure().unwrap_or_else(|error| panic!("{args:?}: {error}")).to_owned()
}

#[test]
fn does_not_replace_a_directory_with_a_file() {
    let temp = tempfile::tempdir().unwrap();
    let directory = temp.path().join("folder.data");
    fs::create_dir(&directory).unwrap();
    fs::copy(fixture("plain.data"), directory.join("data")).unwrap();
    for name in ["callgraph.data", "compressed.data"] {
        let sentence = reject(&fixture(name), &directory);
        assert!(sentence.contains("folder.data: is a directory; name a file in it"), "{sentence}");
    }
    assert_eq!(fs::read(directory.join("data")).unwrap(), fs::read(fixture("plain.data")).unwrap());
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
}

#[test]
fn does_not_replace_directories_with_other_files() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name);
    let recording = fixture("callgraph.data");
    let folded = path("in.folded");
    fs::write(&folded, "main;f 1\n").unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/callgraph.toml");
    let data = path("out.data");
    let mut kept = 0;
    for (input, others, args) in [
        (&recording, &["mine.data"][..], &["split", "IN", "--by", "pid", "-o", "DIR"][..]),
        (&recording, &["001.data"], &["split", "IN", "--by", "pid", "-o", "DIR"]),
        (&recording, &["mine.pb.gz"], &["convert", "IN", "--split-by", "comm", "-o", "DIR"]),
        (&recording, &["data", "main.c"], &["rewrite", "IN", "--container", "dir", "-o", "DIR"]),
        (&recording, &["data"], &["merge", "IN", "IN", "--container", "dir", "-o", "DIR"]),
        (&recording, &["samples.csv", "mine.csv"], &["convert", "IN", "-t", "csv", "-o", "DIR"]),
        (&folded, &[".build-id/12/3456/elf", "usr/bin/mine"], &["convert", "IN", "-o", "OUT", "--images", "DIR"]),
        (&folded, &[".build-id/12/3456.debug"], &["convert", "IN", "-o", "OUT", "--images", "DIR"]),
        (&scenario, &[".build-id/12/3456/elf", "mine"], &["synth", "IN", "-o", "OUT", "--images", "DIR"]),
    ] {
        let dir = path(&format!("dir-{kept}"));
        for name in others {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, if name.ends_with("elf") { "\x7fELF" } else { "mine" }).unwrap();
        }
        let mut command = perfconv();
        command.args(args.iter().map(|&arg| match arg {
            "IN" => input.as_os_str(),
            "OUT" => data.as_os_str(),
            "DIR" => dir.as_os_str(),
            other => other.as_ref(),
        }));
        let run = run(command.arg("-f"));
        let sentence = run.failure().unwrap_or_else(|error| panic!("{args:?}: {error}"));
        assert!(sentence.contains(&*dir.to_string_lossy()), "{sentence}");
        assert!(others.iter().all(|name| dir.join(name).is_file()), "{args:?}: {others:?} should be kept");
        assert!(!data.exists(), "{args:?}: a recording was written without its images");
        kept += 1;
    }
    note!("{kept} directories with other files were kept");
}

#[test]
fn reports_missing_permissions_and_writes_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let path = |name: &str| temp.path().join(name);
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    mode(temp.path(), 0o755);
    for (name, bits) in [("read-only", 0o555), ("open", 0o777)] {
        fs::create_dir(path(name)).unwrap();
        fs::copy(fixture("callgraph.data"), path(name).join("in.data")).unwrap();
        mode(&path(name).join("in.data"), 0o444);
        mode(&path(name), bits);
    }
    fs::copy(fixture("callgraph.data"), path("open/secret.data")).unwrap();
    mode(&path("open/secret.data"), 0o000);
    let program = run(as_nobody(perfconv().arg("--version")));
    if program.status != 0 {
        note!("skipped: other users cannot run the program");
        return;
    }
    let (closed, open, secret) = (path("read-only/in.data"), path("open/in.data"), path("open/secret.data"));
    let (to_closed, to_open) = (path("read-only/out.pb.gz"), path("open/out.pb.gz"));
    let option = OsStr::new("-o");
    let sentence = failure_as_nobody(&[secret.as_os_str(), option, to_open.as_os_str()]);
    assert!(sentence.contains("secret.data: ") && sentence.contains("ermission denied"), "{sentence}");
    let sentence = failure_as_nobody(&[open.as_os_str(), option, to_closed.as_os_str()]);
    assert!(sentence.contains("out.pb.gz: cannot create: ") && !sentence.contains(".perfconv-"), "{sentence}");
    let read_only_dir = path("read-only");
    let spool = [OsStr::new("--spool-dir"), read_only_dir.as_os_str()];
    let gz = path("open/in.data.zst");
    fs::write(&gz, zstd::encode_all(&*fs::read(fixture("callgraph.data")).unwrap(), 1).unwrap()).unwrap();
    let sentence = failure_as_nobody(&[&[gz.as_os_str(), option, to_open.as_os_str()][..], &spool].concat());
    assert!(sentence.contains("cannot spool to a temporary file"), "{sentence}");
    for (temp, names) in [("read-only", vec!["in.data"]), ("open", vec!["in.data", "in.data.zst", "secret.data"])] {
        let mut existing: Vec<_> = fs::read_dir(path(temp)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        existing.sort();
        assert_eq!(existing, names, "{temp}");
    }
    // Nothing is written next to the input.
    succeed(as_nobody(perfconv().arg(&closed).arg("-o").arg(&to_open)));
}

#[test]
fn reads_records_beyond_four_gigabytes() {
    const HOLE: u64 = 9 << 29;
    let mut attr = Attr::read(&[0; Attr::SIZE_VER0], Endian::Little).expect("zeros should decode as an attr");
    attr.size = Attr::SIZE_VER0 as u32;
    attr.sample_type = SampleType::IP | SampleType::TID | SampleType::TIME;
    let events = [FileAttr { attr, ids: Vec::new() }];
    let sample = |time: u64| {
        let words = [0x1000, 1 | 1 << 32, time].into_iter().flat_map(u64::to_le_bytes);
        [9, 0, 0, 0, 2, 0, 32, 0].into_iter().chain(words).collect::<Vec<u8>>()
    };
    let path = tempfile::NamedTempFile::new().unwrap();
    let mut file = path.reopen().unwrap();
    let mut writer = FileWriter::begin(file.try_clone().unwrap(), Endian::Little, &events, &[]).unwrap();
    writer.write_all(&sample(1)).unwrap();
    // An AUX area that is a hole in the file.
    writer.write_all(&[71, 0, 0, 0, 0, 0, 48, 0]).unwrap();
    writer.write_all(&HOLE.to_le_bytes()).unwrap();
    writer.write_all(&[0; 32]).unwrap();
    file.seek(SeekFrom::Current(HOLE as i64)).unwrap();
    writer.skip(HOLE);
    for time in 2..12 {
        writer.write_all(&sample(time)).unwrap();
    }
    writer.finish(&events, &[], &BTreeMap::new()).unwrap();
    assert!(fs::metadata(path.path()).unwrap().len() > HOLE);

    #[derive(Default)]
    struct Offsets(Vec<u64>);
    impl Sink for Offsets {
        fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> perfconv::Result<()> {
            self.0.extend((raw.header().kind == RecordType::SAMPLE).then(|| raw.offset()));
            Ok(())
        }
    }
    let mut offsets = Offsets::default();
    let source = Source::open(Input::Path(path.path().to_owned()), ReadOptions::default()).unwrap();
    let (_, ledger) = source.run(&mut offsets).unwrap();
    assert_eq!((ledger.messages(), offsets.0.len()), (&[][..], 11));
    assert_eq!(offsets.0[1] - offsets.0[0], 32 + 48 + HOLE);
    let output = tempfile::tempdir().unwrap();
    let result = run(perfconv().arg(path.path()).arg("-o").arg(output.path().join("out.pb.gz")));
    assert_eq!(
        result.ledger().map(|ledger| (ledger.samples_in, ledger.samples_out)),
        Ok((11, 11)),
        "{}",
        result.stderr
    );
}
