//! The common view of MMAP and MMAP2 records.

use hashbrown::HashSet;
use perf_data::abi;
use perf_data::abi::record::mmap::Mmap as MmapRecord;
use perf_data::abi::record::mmap2::{MappedFile, Mmap2};
use perf_data::abi::record::{CpuMode, Misc, RecordType};
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::sync::Arc;

/// Interned file names.
pub(crate) type Names = HashSet<Arc<[u8]>>;

/// A mapping, from a MMAP or MMAP2 record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mmap {
    /// Time of the record; 0 if perf synthesized it from `/proc`.
    pub time: u64,
    /// Process ID; -1 for the kernel.
    pub pid: u32,
    /// Start address.
    pub start: u64,
    /// Length in bytes.
    pub len: u64,
    /// File offset in bytes.
    pub pgoff: u64,
    /// Path or name of the mapped file.
    pub filename: Arc<[u8]>,
    /// Inode or build ID; `None` in MMAP.
    pub file: Option<MappedFile>,
    /// `PROT_*` of mmap(2); 0 in MMAP.
    pub prot: u32,
    /// `MAP_*` of mmap(2); 0 in MMAP.
    pub flags: u32,
}

impl Mmap {
    /// Whether records of this type describe a mapping.
    pub fn is_mmap(kind: RecordType) -> bool {
        matches!(kind, RecordType::MMAP | RecordType::MMAP2)
    }

    /// Decodes a mapping; `None` if the record is malformed.
    pub fn read(meta: &Meta, raw: &Raw<'_>, names: &mut Names) -> Option<Self> {
        let (body, _) = meta.events.split(raw);
        let time = meta.events.recorded_time(raw).unwrap_or(0);
        let mut name = |name: &[u8]| Arc::clone(names.get_or_insert_with(name, |name| Arc::from(name)));
        Some(if raw.header().kind == RecordType::MMAP {
            let (mmap, _) = abi::parse::<MmapRecord>(body, raw.endian(), ()).ok()?;
            let (pid, start, len, pgoff) = (mmap.pid, mmap.addr, mmap.len, mmap.pgoff);
            let filename = name(mmap.filename.text());
            Self { time, pid, start, len, pgoff, filename, file: None, prot: 0, flags: 0 }
        } else {
            let (mmap, _) = abi::parse::<Mmap2>(body, raw.endian(), (raw.header().misc,)).ok()?;
            let (pid, start, len, pgoff) = (mmap.pid, mmap.addr, mmap.len, mmap.pgoff);
            let (filename, file) = (name(mmap.filename.text()), Some(mmap.file));
            Self { time, pid, start, len, pgoff, filename, file, prot: mmap.prot, flags: mmap.flags }
        })
    }

    /// Whether quipper uses the mapping: it skips those of a process whose `/proc` maps timed out, and the empty mapping of a
    /// kernel that is not recorded.
    pub fn counts(&self, misc: Misc) -> bool {
        let is_empty_kernel = self.len == 0 && misc.cpu_mode() == CpuMode::KERNEL;
        !misc.contains(Misc::PROC_MAP_PARSE_TIMEOUT) && !is_empty_kernel
    }

    /// Whether it is anonymous memory, including anonymous huge pages.
    pub fn is_anonymous(&self) -> bool {
        matches!(&*self.filename, b"//anon" | b"/anon_hugepage" | b"/anon_hugepage (deleted)")
    }

    /// Whether `other` starts at the address where this mapping ends, in the same process.
    pub fn is_followed_by(&self, other: &Self) -> bool {
        self.pid == other.pid && self.start.checked_add(self.len) == Some(other.start)
    }

    /// Whether `other` maps the file from the offset where this mapping ends.
    pub fn is_continued_by(&self, other: &Self) -> bool {
        self.pgoff.checked_add(self.len) == Some(other.pgoff)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// An executable mapping that existed before the recording.
    pub(crate) fn mmap(start: u64, len: u64, pgoff: u64, filename: &str) -> Mmap {
        let filename = filename.as_bytes().into();
        Mmap { time: 0, pid: 1, start, len, pgoff, filename, file: None, prot: 5, flags: 2 }
    }
}
