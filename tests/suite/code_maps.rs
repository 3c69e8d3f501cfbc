//! Names of code that a process generated, from its map file, wherever the code is and however the file is written.

use crate::common::program::{perfconv, succeed};
use flate2::read::GzDecoder;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

const PID: u32 = 7484;

/// Writes the recording with another name of the memory, and a map file below `files`.
fn recorded(directory: &Path, memory: &str, map: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/reports/jit-memory/anon.jsonl");
    let text = fs::read_to_string(from).unwrap();
    assert!(text.contains("\"filename\":\"//anon\""));
    let (json, data) = (directory.join("in.jsonl"), directory.join("perf.data"));
    fs::write(&json, text.replace("\"filename\":\"//anon\"", &format!("\"filename\":\"{memory}\""))).unwrap();
    succeed(perfconv().arg(&json).arg("-f").arg("-o").arg(&data));
    fs::create_dir_all(directory.join("files/tmp")).unwrap();
    fs::write(directory.join(format!("files/tmp/perf-{PID}.map")), map).unwrap();
    data
}

/// The folded stacks of a recording, with the files of a directory.
fn stacks(data: &Path, files: &Path) -> String {
    let mut command = perfconv();
    command.arg(data).args(["-t", "folded", "--weight", "samples", "-o", "-", "--symfs"]).arg(files);
    let run = succeed(command.env("HOME", "/nonexistent"));
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn generated_code_has_names_in_every_kind_of_memory() {
    let memories = [
        "//anon",
        "/anon_hugepage (deleted)",
        "/anon_hugepage",
        "/memfd:doublemapper (deleted)",
        "/memfd:x",
        "/dev/zero (deleted)",
        "[anon:code]",
    ];
    for memory in memories {
        let directory = tempfile::tempdir().unwrap();
        let data = recorded(directory.path(), memory, "7ff9f3c00040 e generated\n");
        let stacks = stacks(&data, &directory.path().join("files"));
        assert!(stacks.ends_with(";generated 3\n"), "{memory}: {stacks}");
    }
}

#[test]
fn fields_of_map_files_are_separated_as_perf_reads_them() {
    let lines = [
        "7ff9f3c00040\te\tgenerated\n",
        "  7ff9f3c00040 e generated\n",
        "\t7ff9f3c00040  e generated\n",
        "0x7ff9f3c00040 0xe generated\n",
        "7FF9F3C00040 E generated\r\n",
        "# comment\n\n7ff9f3c00040 e generated",
    ];
    for map in lines {
        let directory = tempfile::tempdir().unwrap();
        let data = recorded(directory.path(), "//anon", map);
        let stacks = stacks(&data, &directory.path().join("files"));
        assert!(stacks.ends_with(";generated 3\n"), "{map:?}: {stacks}");
    }
}

#[test]
fn archives_have_the_map_files_of_every_kind_of_memory() {
    for memory in ["//anon", "/anon_hugepage (deleted)", "/memfd:x (deleted)"] {
        let directory = tempfile::tempdir().unwrap();
        let data = recorded(directory.path(), memory, "7ff9f3c00040 e generated\n");
        let archive = directory.path().join("archive.tar.gz");
        let mut command = perfconv();
        command.arg("archive").arg(&data).arg("-o").arg(&archive).arg("--symfs").arg(directory.path().join("files"));
        succeed(command.env("HOME", "/nonexistent"));
        let mut contents = Vec::new();
        GzDecoder::new(fs::File::open(&archive).unwrap()).read_to_end(&mut contents).unwrap();
        let has = |text: &str| contents.windows(text.len()).any(|bytes| bytes == text.as_bytes());
        assert!(has(&format!("processes/{PID}/perf.map")) && has("7ff9f3c00040 e generated"), "{memory}");
    }
}

/// Without a file with their names, frames are labelled with the memory that they are in.
#[test]
fn unnamed_code_is_labelled_with_its_memory() {
    let labels = [("/memfd:x (deleted)", ";[memfd:x (deleted)] 3"), ("//anon", ";[perf-7484.map] 3")];
    for (memory, expected) in labels {
        let directory = tempfile::tempdir().unwrap();
        let data = recorded(directory.path(), memory, "");
        let stacks = stacks(&data, directory.path());
        assert!(stacks.contains(expected), "{memory}: {stacks}");
    }
}
