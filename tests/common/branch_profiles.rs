//! Recordings with branch stacks, and profiles for compilers and binary optimizers.

use super::program::{Run, perfconv, run};
use perf_data::abi::record::CpuMode;
use perf_data::abi::sample::Sample;
use perf_data::abi::sample::branch::{BranchEntry, BranchFlags, BranchStack};
use perf_data::abi::sample_type::BranchSampleType;
use perfconv::synth::{Event, Map, RecordingBuilder, Stamp};
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

    /// A profile by its file name; `None` if there is none.
    pub(crate) fn find_golden(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.directory.join("golden").join(name)).ok()
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

/// The bytes of a build ID.
pub(crate) fn id_bytes(id: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&id[at..at + 2], 16).expect("digits");
    (0..id.len()).step_by(2).map(byte).collect()
}

/// The image of the kernel of [`kernel_recording`].
pub(crate) fn kernel_image() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("roundtrip/symbols/vmlinux")
}

/// Build ID of `roundtrip/symbols/vmlinux`.
const KERNEL: &str = "d10dec0a60a911c792655cc5e4f247295843b52b";

/// A recording of branches in a kernel whose `_text` is at an address.
pub(crate) fn kernel_recording(directory: &Path, text: u64) -> PathBuf {
    let id = id_bytes(KERNEL);
    let mut recording = RecordingBuilder::new();
    let event = recording.event(Event::named("cycles").expect("an event").branches(BranchSampleType::ANY));
    let map = Map::new("[kernel.kallsyms]_text", text, 0x100_0000).pgoff(text).build_id(&id);
    recording.mmap(CpuMode::KERNEL, Stamp::at(0, u32::MAX, 0), map).process(7, "app");
    let branch = |from: u64, to: u64| {
        let flags = BranchFlags(BranchFlags::PREDICTED.set(BranchFlags::CYCLES.set(0, 3), 1));
        BranchEntry { from: text + from, to: text + to, flags }
    };
    // A loop, which is left to a return; and a jump over it.
    for (number, (ip, branches)) in [
        (0x1b, vec![branch(0x28, 0x11), branch(0x28, 0x11)]),
        (0x2a, vec![branch(0x28, 0x11), branch(0x04, 0x06)]),
        (0x2e, vec![branch(0x04, 0x2b)]),
    ]
    .into_iter()
    .enumerate()
    {
        let branch_stack = Some(BranchStack { entries: branches, ..BranchStack::default() });
        let (ip, time) = (Some(text + ip), Some(1000 + number as u64));
        recording.sample(event, Sample { ip, task: Some((7, 7)), time, branch_stack, ..Sample::default() });
    }
    let path = directory.join(format!("{text:x}.data"));
    fs::write(&path, recording.to_bytes().expect("a recording")).expect("a file");
    path
}
