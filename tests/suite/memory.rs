//! The program with hardly any memory, all its threads together: what is hostile or sparse does not make it need more.

use super::files::fixture;
use super::program::{Run, perfconv, run};
use perfconv::abi::Endian;
use perfconv::container::write::file::FileWriter;
use std::fs;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The program, which may have so many megabytes.
fn within(megabytes: u32) -> Command {
    let mut command = Command::new("bash");
    let limited = "ulimit -d $(($0 * 1024)); exec \"$@\"";
    command.args(["-c", limited, &megabytes.to_string(), "timeout", "60", env!("CARGO_BIN_EXE_perfconv")]);
    command.stdin(Stdio::null());
    command
}

/// That what needs more does fail.
fn failed_for_want_of_memory(run: &Run) -> bool {
    run.status != 0 && run.stderr.contains("memory allocation of")
}

/// A recording whose samples fill many pieces of compressed frames.
fn compressed(folder: &Path) -> PathBuf {
    let [plain, path] = ["plain.data", "compressed.data"].map(|name| folder.join(name));
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/callgraph.toml");
    for command in [
        perfconv().args(["synth", scenario, "--scale", "300", "-o"]).arg(&plain),
        perfconv().arg("rewrite").arg(&plain).args(["--compress", "-o"]).arg(&path),
    ] {
        let made = run(command);
        assert_eq!(made.status, 0, "{}", made.stderr);
    }
    path
}

#[test]
fn what_is_left_out_between_few_samples_is_not_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (compressed(folder.path()), folder.path().join("out.jsonl"));
    let job = |megabytes| {
        let mut command = within(megabytes);
        command.arg(&input).args(["--sample-every", "5000", "-f", "-o"]).arg(&output);
        run(&mut command)
    };
    let done = job(50);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert!(done.stderr.contains("960000 samples in, 192 out"), "{}", done.stderr);
    assert!(failed_for_want_of_memory(&job(15)), "it does with any memory");
}

/// A recording of one frame.
fn with_frame(folder: &Path, records: &[u8]) -> PathBuf {
    let frame = zstd::bulk::compress(records, 19).expect("zstd compresses");
    let size = u16::try_from(8 + frame.len()).expect("it compresses well");
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &[], &[]).expect("it goes to memory");
    file.write_all(&[&[81, 0, 0, 0, 0, 0][..], &size.to_le_bytes(), &frame].concat()).expect("it goes to memory");
    let bytes = file.finish(&[], &[], &Default::default()).expect("it goes to memory").into_inner();
    let path = folder.join("frame.data");
    fs::write(&path, bytes).expect("a file of its own");
    path
}

/// Bytes, compressed a thousandfold, as a file of their own.
fn packed(folder: &Path, name: &str, pieces: impl IntoIterator<Item = Vec<u8>>) -> PathBuf {
    let path = folder.join(name);
    let file = fs::File::create(&path).expect("a file of its own");
    let mut out = zstd::Encoder::new(file, 1).expect("zstd has such a level");
    pieces.into_iter().for_each(|piece| out.write_all(&piece).expect("there is room"));
    out.finish().expect("there is room");
    path
}

#[test]
fn what_is_packed_a_thousandfold_is_unpacked_piece_by_piece() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // 120 MB in a frame of records; a record that says that it goes on for an exabyte; a gigabyte behind a recording.
    let lost = [&[4, 0, 0, 0, 0, 0, 64, 0][..], &[0; 56]].concat();
    let mut endless = vec![71, 0, 0, 0, 0, 0, 48, 0];
    endless.extend((1_u64 << 60).to_le_bytes());
    endless.resize(120 << 20, 0);
    let names = ["frame", "endless", "file"].map(|name| folder.path().join(name));
    names.iter().for_each(|folder| fs::create_dir(folder).expect("a folder of its own"));
    let recording = fs::read(fixture("callgraph.data")).expect("a fixture can be read");
    let zeros = (0..1024).map(|_| vec![0; 1 << 20]);
    for path in [
        with_frame(&names[0], &lost.repeat((120 << 20) / 64)),
        with_frame(&names[1], &endless),
        packed(&names[2], "zeros.data.zst", [recording].into_iter().chain(zeros)),
    ] {
        assert!(fs::metadata(&path).expect("it is there").len() < 1 << 20, "{}", path.display());
        let told = run(within(60).args(["info", "--stats", "--spool-dir"]).arg(folder.path()).arg(&path));
        assert_eq!(told.status, 0, "{}: {}", path.display(), told.stderr);
    }
}

#[test]
fn a_million_events_and_brackets_without_end_are_refused_or_read_within_limits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A million attrs, with no ids, and no records.
    let attr = [&[0; 4][..], &64_u32.to_le_bytes(), &[0; 56], &[0; 16]].concat();
    let count: u64 = 1 << 20;
    let mut header = b"PERFILE2".to_vec();
    let sizes = [104, attr.len() as u64, 104, count * attr.len() as u64, 104 + count * attr.len() as u64, 0, 0, 0];
    header.extend(sizes.into_iter().flat_map(u64::to_le_bytes));
    header.resize(104, 0);
    let events = folder.path().join("events.data");
    fs::write(&events, [header, attr.repeat(count as usize)].concat()).expect("a file of its own");
    let told = run(within(600).arg("check").arg(&events));
    let sound = String::from_utf8_lossy(&told.stdout);
    assert!(told.status == 0 && sound.contains("sound: 0 records"), "{sound}{}", told.stderr);
    assert!(failed_for_want_of_memory(&run(within(100).arg("check").arg(&events))));
    // Twenty million brackets; and fifty megabytes of a string that does not end.
    let header = "{\"perfconv\":1,\"container\":\"file\",\"endian\":\"little\"}\n{\"feature\":";
    for (name, megabytes, bytes) in [("deep", 40, vec![b'['; 20 << 20]), ("long", 160, vec![b'a'; 50 << 20])] {
        let path = folder.path().join(name);
        let quote = if name == "long" { "\"" } else { "" };
        fs::write(&path, [header.as_bytes(), quote.as_bytes(), &bytes].concat()).expect("a file of its own");
        let mut command = within(megabytes);
        command.arg(&path).args(["--from", "json", "-f", "-o"]).arg(folder.path().join("out.data"));
        let told = run(&mut command);
        let sentence = told.failure().unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        assert!(sentence.contains("line 2"), "{name}: {sentence}");
    }
}

#[test]
fn aux_areas_of_megabytes_in_a_frame_come_one_after_the_other() {
    // 15 areas of nearly 16 MB, in 8 KB.
    let area: u64 = (16 << 20) - 64;
    let mut record = vec![71, 0, 0, 0, 0, 0, 48, 0];
    record.extend(area.to_le_bytes());
    record.resize(48 + area as usize, 0);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = with_frame(folder.path(), &record.repeat(15));
    let told = run(within(150).args(["info", "--stats"]).arg(&path));
    let areas = String::from_utf8_lossy(&told.stdout);
    assert!(told.status == 0 && areas.contains("AUXTRACE "), "{areas}{}", told.stderr);
    assert!(failed_for_want_of_memory(&run(within(20).args(["info", "--stats"]).arg(&path))));
}

#[test]
fn of_a_stream_of_blanks_nothing_is_kept() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = within(30)
        .args(["-", "--from", "json", "-o"])
        .arg(folder.path().join("out.data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    let blanks =
        thread::spawn(move || -> io::Result<()> { (0..200).try_for_each(|_| stdin.write_all(&[b'\n'; 1 << 20])) });
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(blanks.join().expect("no panic").is_ok(), "not all was read: {told}");
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("line 209715201"), "{told}");
}
