//! Runs the program with limited memory: hostile and sparse inputs do not need more.

use crate::common::files::fixture;
use crate::common::program::{Run, perfconv, run, succeed};
use perf_data::abi::Endian;
use perf_data::container::write::file::FileWriter;
use std::fs;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// A command that runs the program with a memory limit in megabytes.
pub(super) fn limited_to(megabytes: u32) -> Command {
    with_limits(&format!("ulimit -d {}", megabytes * 1024))
}

/// The same with a limit of its CPU time in seconds, which does not depend on the load of the machine.
pub(super) fn limited_in_time(megabytes: u32, seconds: u32) -> Command {
    with_limits(&format!("ulimit -d {} && ulimit -t {seconds}", megabytes * 1024))
}

fn with_limits(limits: &str) -> Command {
    let mut command = Command::new("sh");
    let limited = format!("{limits} && exec \"$@\"");
    command.args(["-c", &limited, "sh", "timeout", "300", env!("CARGO_BIN_EXE_perfconv")]);
    command.stdin(Stdio::null());
    command
}

/// Whether the program failed for lack of memory: shows that the limit works.
fn ran_out_of_memory(run: &Run) -> bool {
    run.status != 0 && run.stderr.contains("memory allocation of")
}

/// Creates a recording with many compressed frames.
fn create_compressed(dir: &Path) -> PathBuf {
    let [plain, path] = ["plain.data", "compressed.data"].map(|name| dir.join(name));
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml");
    for command in [
        perfconv().args(["synth", scenario, "--scale", "300", "-o"]).arg(&plain),
        perfconv().arg("rewrite").arg(&plain).args(["--compress", "-o"]).arg(&path),
    ] {
        succeed(command);
    }
    path
}

#[test]
fn dropped_records_are_not_kept_in_memory() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (input, output) = (create_compressed(dir.path()), dir.path().join("out.jsonl"));
    let convert = |megabytes| {
        let mut command = limited_to(megabytes);
        command.arg(&input).args(["--sample-every", "5000", "-f", "-o"]).arg(&output);
        run(&mut command)
    };
    let done = convert(50);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(done.stderr.contains("960000 samples in, 192 out"), "{}", done.stderr);
    assert!(ran_out_of_memory(&convert(15)), "the limit has no effect");
}

/// Creates a recording of one compressed frame.
fn with_frame(dir: &Path, records: &[u8]) -> PathBuf {
    let frame = zstd::bulk::compress(records, 19).expect("zstd should compress");
    let size = u16::try_from(8 + frame.len()).expect("compression should shrink it");
    let mut file =
        FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &[], &[]).expect("writing to memory should succeed");
    file.write_all(&[&[81, 0, 0, 0, 0, 0][..], &size.to_le_bytes(), &frame].concat())
        .expect("writing to memory should succeed");
    let bytes = file.finish(&[], &[], &Default::default()).expect("writing to memory should succeed").into_inner();
    let path = dir.join("frame.data");
    fs::write(&path, bytes).expect("a separate file");
    path
}

/// Writes compressed data that decompresses to a thousand times its size.
fn packed(dir: &Path, name: &str, pieces: impl IntoIterator<Item = Vec<u8>>) -> PathBuf {
    let path = dir.join(name);
    let file = fs::File::create(&path).expect("a separate file");
    let mut out = zstd::Encoder::new(file, 1).expect("a level that zstd has");
    pieces.into_iter().for_each(|piece| out.write_all(&piece).expect("the temporary directory should have room"));
    out.finish().expect("the temporary directory should have room");
    path
}

#[test]
fn highly_compressed_data_is_decompressed_in_pieces() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // 120 MB in one frame; an AUXTRACE record of an exabyte; 256 MB after a recording.
    let lost = [&[4, 0, 0, 0, 0, 0, 64, 0][..], &[0; 56]].concat();
    let mut endless = vec![71, 0, 0, 0, 0, 0, 48, 0];
    endless.extend((1_u64 << 60).to_le_bytes());
    endless.resize(120 << 20, 0);
    let names = ["frame", "endless", "file"].map(|name| dir.path().join(name));
    names.iter().for_each(|dir| fs::create_dir(dir).expect("a separate directory"));
    let recording = fs::read(fixture("callgraph.data")).expect("the fixture should be readable");
    let zeros = (0..256).map(|_| vec![0; 1 << 20]);
    for path in [
        with_frame(&names[0], &lost.repeat((120 << 20) / 64)),
        with_frame(&names[1], &endless),
        packed(&names[2], "zeros.data.zst", [recording].into_iter().chain(zeros)),
    ] {
        assert!(fs::metadata(&path).expect("the file should exist").len() < 1 << 20, "{}", path.display());
        succeed(limited_to(60).args(["info", "--stats", "--spool-dir"]).arg(dir.path()).arg(&path));
    }
}

#[test]
fn a_million_events_and_endless_json_stay_within_limits() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // A million attrs without IDs, and no records.
    let attr = [&[0; 4][..], &64_u32.to_le_bytes(), &[0; 56], &[0; 16]].concat();
    let count: u64 = 1 << 20;
    let mut header = b"PERFILE2".to_vec();
    let sizes = [104, attr.len() as u64, 104, count * attr.len() as u64, 104 + count * attr.len() as u64, 0, 0, 0];
    header.extend(sizes.into_iter().flat_map(u64::to_le_bytes));
    header.resize(104, 0);
    let events = dir.path().join("events.data");
    fs::write(&events, [header, attr.repeat(count as usize)].concat()).expect("a separate file");
    let checked = run(limited_to(600).arg("check").arg(&events));
    let stdout = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status == 0 && stdout.contains("ok: 0 records"), "{stdout}{}", checked.stderr);
    assert!(ran_out_of_memory(&run(limited_to(100).arg("check").arg(&events))));
    // 20 million nested arrays, and a string of 50 MB without an end.
    let header = "{\"perfconv\":1,\"container\":\"file\",\"endian\":\"little\"}\n{\"feature\":";
    for (name, megabytes, bytes) in [("deep", 40, vec![b'['; 20 << 20]), ("long", 160, vec![b'a'; 50 << 20])] {
        let path = dir.path().join(name);
        let quote = if name == "long" { "\"" } else { "" };
        fs::write(&path, [header.as_bytes(), quote.as_bytes(), &bytes].concat()).expect("a separate file");
        let mut command = limited_to(megabytes);
        command.arg(&path).args(["--from", "json", "-f", "-o"]).arg(dir.path().join("out.data"));
        let checked = run(&mut command);
        let sentence = checked.failure().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(sentence.contains("line 2"), "{name}: {sentence}");
    }
}

#[test]
fn large_aux_areas_in_a_frame_are_read_one_at_a_time() {
    // 15 areas of nearly 16 MB, compressed to 8 KB.
    let area: u64 = (16 << 20) - 64;
    let mut record = vec![71, 0, 0, 0, 0, 0, 48, 0];
    record.extend(area.to_le_bytes());
    record.resize(48 + area as usize, 0);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = with_frame(dir.path(), &record.repeat(15));
    let checked = run(limited_to(150).args(["info", "--stats"]).arg(&path));
    let areas = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status == 0 && areas.contains("AUXTRACE "), "{areas}{}", checked.stderr);
    assert!(ran_out_of_memory(&run(limited_to(20).args(["info", "--stats"]).arg(&path))));
}

#[test]
fn a_stream_of_blank_lines_is_not_kept_in_memory() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut child = limited_to(30)
        .args(["-", "--from", "json", "-o"])
        .arg(dir.path().join("out.data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program should run");
    let mut stdin = child.stdin.take().expect("a piped standard input");
    let blanks =
        thread::spawn(move || -> io::Result<()> { (0..200).try_for_each(|_| stdin.write_all(&[b'\n'; 1 << 20])) });
    let output = child.wait_with_output().expect("it should end");
    let checked = String::from_utf8_lossy(&output.stderr);
    assert!(
        blanks.join().expect("the thread should not panic").is_ok(),
        "the input should be read completely: {checked}"
    );
    assert_eq!(output.status.code(), Some(1), "{checked}");
    assert!(checked.contains("line 209715201"), "{checked}");
}
