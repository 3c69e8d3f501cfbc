//! A mapping of a file or of anonymous memory.

use std::borrow::Cow;

/// The usual page size.
pub const PAGE: u64 = 4096;

/// Index of a [`Map`] in its [`Session`](super::Session).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapId(pub u32);

/// A mapping as it was created: later mappings may have covered parts of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Map {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub limit: u64,
    /// Offset in the file; for the kernel, the address of its reference symbol.
    pub pgoff: u64,
    /// Path or name.
    pub filename: Box<[u8]>,
    /// Build ID from the record, not from the table of the recording.
    pub build_id: Option<Box<[u8]>>,
    /// The process, if this [may be JIT code](Self::may_be_jit_code).
    pub pid: Option<u32>,
    /// Device (major, minor) and inode of the file, if recorded.
    pub inode: Option<(u32, u32, u64)>,
    /// Whether it was recorded as not executable (`PERF_RECORD_MISC_MMAP_DATA`).
    pub is_data: bool,
}

/// Prefixes of names of memory that can contain JIT code.
const JIT_MEMORY: [&[u8]; 7] = [b"//anon", b"[anon", b"/anon_hugepage", b"/memfd:", b"/dev/zero", b"/SYSV", b"[heap]"];

impl Map {
    /// A mapping of `len` bytes, limited to the highest address.
    pub fn new(start: u64, len: u64, pgoff: u64, filename: &[u8], build_id: Option<&[u8]>) -> Self {
        let build_id = build_id.filter(|id| !id.is_empty()).map(Into::into);
        Self {
            start,
            limit: start.saturating_add(len),
            pgoff,
            filename: filename.into(),
            build_id,
            pid: None,
            inode: None,
            is_data: false,
        }
    }

    /// Whether this is memory, not a file: it can contain code that a process generated.
    pub fn may_be_jit_code(filename: &[u8]) -> bool {
        filename.is_empty() || JIT_MEMORY.iter().any(|prefix| filename.starts_with(prefix))
    }

    /// Whether this can contain code: neither data nor a stack.
    pub fn may_be_code(&self) -> bool {
        !self.is_data && !self.filename.starts_with(b"[stack")
    }

    /// Some recordings map the kernel from 0 or close to it. Such a mapping starts at its reference symbol.
    pub(super) fn raise_start_to_kernel(&mut self) {
        const UPPER_HALF: u64 = 1 << 63;
        if self.start <= UPPER_HALF && UPPER_HALF < self.pgoff && UPPER_HALF < self.limit && self.pgoff < self.limit {
            self.start = self.pgoff / PAGE * PAGE;
        }
    }

    /// Whether this is the kernel itself, by its names in perf.
    pub fn is_kernel(&self) -> bool {
        self.filename.starts_with(b"[kernel.kallsyms]")
    }

    /// The file as perf prints it; for memory with code of a process, the file that could name its functions.
    pub fn printed_file(&self) -> Cow<'_, [u8]> {
        match self.pid {
            _ if self.is_kernel() => Cow::Borrowed(b"[kernel.kallsyms]"),
            Some(pid)
                if !self.filename.starts_with(b"[")
                    && !self.filename.starts_with(b"/memfd:")
                    && !self.has_no_file() =>
            {
                Cow::Owned(format!("/tmp/perf-{pid}.map").into_bytes())
            }
            _ => Cow::Borrowed(&self.filename),
        }
    }

    /// An address in the mapped object: the offset in its file, or in memory the address itself.
    pub fn address_in_object(&self, address: u64) -> u64 {
        match self.pid {
            Some(_) => address,
            None => address.wrapping_sub(self.start).wrapping_add(self.pgoff),
        }
    }

    /// An address as perf prints it: in a file, as an address of the file.
    pub fn printed_address(&self, address: u64) -> u64 {
        if self.belongs_to_kernel() || self.pid.is_some() || self.has_no_file() {
            address
        } else {
            self.file_offset(address)
        }
    }

    fn has_no_file(&self) -> bool {
        NO_FILES.iter().any(|prefix| self.filename.starts_with(prefix))
    }

    /// The offset in the mapped file of an address; in a kernel or a module, from its start.
    pub fn file_offset(&self, address: u64) -> u64 {
        let offset = if self.belongs_to_kernel() { 0 } else { self.pgoff };
        address.wrapping_sub(self.start).wrapping_add(offset)
    }

    /// The path without the suffix that the kernel adds for a deleted file.
    pub fn path_without_deleted(filename: &[u8]) -> &[u8] {
        filename.strip_suffix(b" (deleted)").unwrap_or(filename)
    }

    /// Whether this belongs to a kernel: host or guest, module or loaded code such as BPF programs.
    pub fn belongs_to_kernel(&self) -> bool {
        const UPPER_HALF: u64 = 1 << 63;
        let name = self.filename.rsplit(|&b| b == b'/').next().unwrap_or_default();
        let is_module = name.ends_with(b".ko") || name.windows(4).any(|part| part == b".ko.");
        self.is_kernel()
            || self.filename.starts_with(b"[guest.kernel")
            || is_module
            // The vsyscall page is user code in the kernel's half of the address space.
            || self.start >= UPPER_HALF && name != b"[vsyscall]"
    }

    /// Whether this can be the main program of a process: a file that is neither a library nor synthetic.
    pub fn may_be_main(&self) -> bool {
        let path = Self::path_without_deleted(&self.filename);
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
        let is_library =
            name.ends_with(b".so") || name.windows(4).any(|part| part == b".so.") || name.ends_with(b".ko");
        !path.is_empty() && !is_library && !is_synthetic(path)
    }

    /// Whether this maps a file with the same contents in all processes: not named memory, nor a deleted file, whose name may
    /// have been reused.
    pub fn maps_file(&self) -> bool {
        self.filename.starts_with(b"/") && !self.filename.ends_with(b" (deleted)") && !is_synthetic(&self.filename)
    }
}

/// Truncates the name of a file or kernel function to the longest possible one. A corrupt name may be as long as a record, and is
/// reported for each address in it.
pub fn cut_name(name: &[u8]) -> &[u8] {
    /// The kernel's maximum, including the NUL.
    const KSYM_NAME_LEN: usize = 512;
    let is_inside = |at: usize| name.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (KSYM_NAME_LEN - 3..=KSYM_NAME_LEN).rev().find(|&at| !is_inside(at));
    &name[..name.len().min(end.unwrap_or(KSYM_NAME_LEN))]
}

/// Prefixes of the names of memory whose addresses perf leaves as they are.
const NO_FILES: [&[u8]; 3] = [b"[stack", b"/SYSV", b"[heap]"];

/// Whether a name is one that the kernel or perf uses for memory without a file.
fn is_synthetic(path: &[u8]) -> bool {
    [&b"//"[..], b"[", b"/memfd:", b"/anon_hugepage", b"anon_inode:", b"/dev/", b"/SYSV"]
        .iter()
        .any(|prefix| path.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Map {
        Map::new(0x1000, 0x1000, 0, name.as_bytes(), None)
    }

    #[test]
    fn programs_are_distinguished_from_libraries_and_synthetic_names() {
        for name in ["/usr/bin/cat", "/home/me/my.sort", "/tmp/x (deleted)"] {
            assert!(named(name).may_be_main(), "{name}");
        }
        for name in
            ["", "/lib/libc.so.6", "/lib/ld.so", "/x/libm.so.6 (deleted)", "//anon", "[vdso]", "/memfd:jit", "/m/x.ko"]
        {
            assert!(!named(name).may_be_main(), "{name}");
        }
    }

    #[test]
    fn kernel_mappings_are_recognized_by_name_or_address() {
        for name in
            ["[kernel.kallsyms]_text", "[guest.kernel.kallsyms.4]", "/lib/modules/6.1/fs/xfs.ko", "/m/xfs.ko.xz"]
        {
            assert!(named(name).belongs_to_kernel(), "{name}");
        }
        assert!(!named("/bin/ls").belongs_to_kernel() && !named("[vdso]").belongs_to_kernel());
        let at = |name: &str| Map::new(0xffff_ffff_ff60_0000, 0x1000, 0, name.as_bytes(), None);
        assert!(at("bpf_prog_1").belongs_to_kernel() && !at("[vsyscall]").belongs_to_kernel());
    }

    #[test]
    fn memory_on_huge_pages_may_be_jit_code() {
        for name in
            ["", "//anon", "[anon:jit]", "/anon_hugepage (deleted)", "/dev/zero (deleted)", "/memfd:jit (deleted)"]
        {
            assert!(Map::may_be_jit_code(name.as_bytes()), "{name}");
        }
        let printed = |name: &str| Map { pid: Some(7), ..named(name) }.printed_file().into_owned();
        assert_eq!(printed("/anon_hugepage (deleted)"), b"/tmp/perf-7.map");
        assert_eq!(printed("/memfd:jit (deleted)"), b"/memfd:jit (deleted)");
    }

    #[test]
    fn addresses_in_memory_without_a_file_are_printed_as_they_are() {
        for name in ["[stack]", "[stack:12]", "[heap]", "/SYSV00000000 (deleted)"] {
            assert_eq!(named(name).printed_address(0x1234), 0x1234, "{name}");
        }
        for name in ["[vdso]", "/usr/bin/cat", "/memfd:x (deleted)"] {
            assert_eq!(named(name).printed_address(0x1234), 0x234, "{name}");
        }
    }

    #[test]
    fn a_long_name_is_truncated_between_characters() {
        assert_eq!(cut_name(b"libc.so.6"), b"libc.so.6");
        assert_eq!(cut_name(&[b'a'; 60_000]).len(), 512);
        let text = format!("a{}", "\u{20ac}".repeat(1000));
        assert_eq!(str::from_utf8(cut_name(text.as_bytes())).unwrap().chars().count(), 171);
        assert_eq!(cut_name(&[0x80; 60_000]).len(), 512);
    }

    #[test]
    fn a_kernel_mapped_from_0_starts_at_its_reference_symbol() {
        let mut map = Map::new(0, u64::MAX, 0xffff_ffff_8100_0198, b"[kernel.kallsyms]_text", None);
        map.raise_start_to_kernel();
        assert_eq!(map.start, 0xffff_ffff_8100_0000);
        let mut usual = Map::new(0xffff_ffff_8100_0000, 0x100_0000, 0xffff_ffff_8100_0198, b"", None);
        usual.raise_start_to_kernel();
        assert_eq!(usual.start, 0xffff_ffff_8100_0000);
    }
}
