//! The program with hardly any memory, all its threads together: what is hostile or sparse does not make it need more.

use super::program::{Run, perfconv, run};
use perfconv::abi::Endian;
use perfconv::container::write::file::FileWriter;
use std::fs;
use std::io::{self, Cursor, Write};
use std::path::Path;
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
fn compressed(folder: &Path) -> std::path::PathBuf {
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

#[test]
fn aux_areas_of_megabytes_in_a_frame_come_one_after_the_other() {
    // 15 areas of nearly 16 MB, in 8 KB.
    let area: u64 = (16 << 20) - 64;
    let mut record = vec![71, 0, 0, 0, 0, 0, 48, 0];
    record.extend(area.to_le_bytes());
    record.resize(48 + area as usize, 0);
    let frame = zstd::bulk::compress(&record.repeat(15), 19).expect("zstd compresses");
    let size = u16::try_from(8 + frame.len()).expect("it compresses well");
    let mut file = FileWriter::begin(Cursor::new(Vec::new()), Endian::Little, &[], &[]).expect("it goes to memory");
    file.write_all(&[&[81, 0, 0, 0, 0, 0][..], &size.to_le_bytes(), &frame].concat()).expect("it goes to memory");
    let bytes = file.finish(&[], &[], &Default::default()).expect("it goes to memory").into_inner();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("bomb.data");
    fs::write(&path, bytes).expect("a file of its own");
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
