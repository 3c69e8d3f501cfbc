//! Recordings with branch stacks, and profiles for compilers and binary optimizers.

use super::program::{Run, perfconv, run};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Formats that need the object files of a recording with branches; tests of all formats on any recording leave them out.
pub(crate) const BRANCH_PROFILES: [&str; 5] = ["autofdo", "bolt", "gcc", "llvm", "profgen"];

/// The directory of the repository's recordings with branch stacks.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/branches")
}

/// Converts a recording; `arguments` are separated by spaces. Returns the run, whose standard output is the profile.
pub(crate) fn profile(recording: &Path, files: &Path, arguments: &str) -> Run {
    let mut command = perfconv();
    command.arg(recording).args(["-o", "-", "--symfs"]).arg(files).args(arguments.split(' '));
    run(&mut command)
}

/// Recordings beside the repository, with programs, and the profiles that other tools made of them.
pub(crate) struct Goldens {
    directory: PathBuf,
    unpacked: TempDir,
}

impl Goldens {
    /// `None` if they do not exist.
    pub(crate) fn find() -> Option<Self> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/pgo").canonicalize().ok()?;
        let unpacked = tempfile::tempdir().unwrap();
        let files = unpacked.path().join("files/opt/bench");
        fs::create_dir_all(&files).unwrap();
        for program in fs::read_dir(directory.join("bin")).unwrap() {
            let program = program.unwrap();
            fs::copy(program.path(), files.join(program.file_name())).unwrap();
        }
        Some(Self { directory, unpacked })
    }

    /// The programs at the paths at which they were recorded.
    pub(crate) fn files(&self) -> PathBuf {
        self.unpacked.path().join("files")
    }

    /// A recording by its name.
    pub(crate) fn recording(&self, name: &str) -> PathBuf {
        let path = self.unpacked.path().join(format!("{name}.data"));
        let packed = fs::read(self.directory.join(format!("{name}.data.zst"))).unwrap();
        fs::write(&path, zstd::decode_all(&packed[..]).unwrap()).unwrap();
        path
    }

    /// A profile by its file name.
    pub(crate) fn golden(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.join("golden").join(name)).unwrap()
    }

    /// The exact counts of a program.
    pub(crate) fn truth(&self, program: &str) -> String {
        fs::read_to_string(self.directory.join("truth").join(format!("{program}.truth"))).unwrap()
    }
}

/// The lines of a text, sorted.
pub(crate) fn sorted_lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = text.split(|&byte| byte == b'\n').collect();
    lines.sort_unstable();
    lines
}
