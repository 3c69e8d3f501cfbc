//! Recordings of a killed `perf record`, on the machine that made them: without host name, architecture and build IDs, only the
//! inodes of mapped files show that those are the recorded ones.

use crate::common::program::{perfconv, run, succeed};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A recording of `spin`, which is at a path of this machine.
struct Recorded {
    directory: tempfile::TempDir,
    data: PathBuf,
}

impl Recorded {
    /// Its mapping has the inode of the file plus `added`.
    fn new(name: &str, added: u64) -> Self {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/reports/interrupted-no-names");
        let directory = tempfile::tempdir().unwrap();
        let (program, json, data) =
            (directory.path().join("spin"), directory.path().join("in.jsonl"), directory.path().join("perf.data"));
        fs::copy(from.join("spin"), &program).unwrap();
        let metadata = program.metadata().unwrap();
        let (major, minor) = (metadata.dev() >> 8 & 0xfff, metadata.dev() & 0xff | metadata.dev() >> 12 & 0xfff00);
        let inode = format!("\"maj\":{major},\"min\":{minor},\"ino\":{}", metadata.ino() + added);
        let text = fs::read_to_string(from.join(name)).unwrap();
        let text = text.replace("\"maj\":254,\"min\":0,\"ino\":10920171", &inode);
        let text = text.replace("/srv/app/reportsB/fail/interrupted-no-names/spin", program.to_str().unwrap());
        fs::write(&json, text).unwrap();
        succeed(perfconv().arg(&json).arg("-o").arg(&data));
        Self { directory, data }
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("spin")
    }

    /// The folded stacks, and the messages.
    fn stacks(&self) -> (String, String) {
        let mut command = perfconv();
        command.arg(&self.data).args(["-t", "folded", "-o", "-"]).env("HOME", "/nonexistent");
        let run = succeed(&mut command);
        (String::from_utf8(run.stdout).unwrap(), run.stderr)
    }
}

#[test]
fn files_with_the_recorded_inodes_have_names_and_unwind() {
    // The leaf has no frame pointer, so that the chain of frame pointers lacks its caller.
    for (name, expected) in [("fp.jsonl", ";main;leaf"), ("dwarf.jsonl", ";main;work;leaf")] {
        let (stacks, messages) = Recorded::new(name, 0).stacks();
        assert!(stacks.contains(expected), "{name}: {stacks}{messages}");
        assert!(!messages.contains("cannot be unwound"), "{name}: {messages}");
    }
}

#[test]
fn files_with_other_inodes_and_newer_files_are_not_used() {
    let other = Recorded::new("fp.jsonl", 1);
    assert!(!other.stacks().0.contains("leaf"));
    let newer = Recorded::new("fp.jsonl", 0);
    let program = fs::File::options().append(true).open(newer.program()).unwrap();
    program.set_modified(SystemTime::now() + Duration::from_secs(60)).unwrap();
    assert!(!newer.stacks().0.contains("leaf"));
}

/// `repair -b` follows the same rule.
#[test]
fn build_ids_come_from_files_with_the_recorded_inodes() {
    for (added, expected) in [(0, true), (1, false)] {
        let recorded = Recorded::new("fp.jsonl", added);
        let repaired = recorded.directory.path().join("repaired.data");
        succeed(perfconv().args(["repair", "-b"]).arg(&recorded.data).arg("-o").arg(&repaired));
        let listed = self::run(perfconv().arg(&repaired).args(["-t", "jsonl", "-o", "-"])).stdout;
        let listed = String::from_utf8(listed).unwrap();
        let path = recorded.program().display().to_string();
        let mut features = listed.lines().filter(|line| line.starts_with("{\"feature\":\"BUILD_ID\""));
        assert_eq!(features.any(|feature| feature.contains(&path)), expected, "{listed}");
    }
}
