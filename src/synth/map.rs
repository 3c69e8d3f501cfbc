//! Mappings of a synthetic process.

use perf_data::abi::record::mmap2::{MappedFile, Mmap2};
use perf_data::abi::text::PaddedStr;

/// A mapping of a file or of anonymous memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    /// Path, or a name such as `[vdso]` or `//anon`.
    pub path: String,
    /// First address.
    pub addr: u64,
    /// Length in bytes.
    pub len: u64,
    /// Offset in the file.
    pub pgoff: u64,
    /// Build ID of the file, up to 20 bytes.
    pub build_id: Option<Vec<u8>>,
    /// `PROT_*` of mmap(2).
    pub prot: u32,
    /// `MAP_*` of mmap(2).
    pub flags: u32,
}

impl Map {
    /// `PROT_READ | PROT_EXEC`.
    const READ_EXECUTE: u32 = 5;
    /// `MAP_PRIVATE`.
    const PRIVATE: u32 = 2;

    /// Code of a file, from offset 0.
    pub fn new(path: impl Into<String>, addr: u64, len: u64) -> Self {
        Self { path: path.into(), addr, len, pgoff: 0, build_id: None, prot: Self::READ_EXECUTE, flags: Self::PRIVATE }
    }

    /// Sets the offset in the file.
    #[must_use]
    pub fn pgoff(self, pgoff: u64) -> Self {
        Self { pgoff, ..self }
    }

    /// Sets the build ID of the file.
    #[must_use]
    pub fn build_id(self, build_id: &[u8]) -> Self {
        Self { build_id: Some(build_id.to_vec()), ..self }
    }

    /// The MMAP2 record. Build IDs are truncated to 20 bytes, as in perf.
    pub fn mmap2(&self, pid: u32, tid: u32) -> Mmap2 {
        let file = match &self.build_id {
            Some(id) => {
                let mut build_id = [0; 20];
                let size = id.len().min(build_id.len());
                build_id[..size].copy_from_slice(&id[..size]);
                MappedFile::BuildId { size: size as u8, reserved_1: 0, reserved_2: 0, build_id }
            }
            None => MappedFile::Inode { maj: 0, min: 0, ino: 0, ino_generation: 0 },
        };
        let Self { addr, len, pgoff, prot, flags, .. } = *self;
        let filename = PaddedStr::new(self.path.as_bytes(), 8);
        Mmap2 { pid, tid, addr, len, pgoff, file, prot, flags, filename }
    }
}
