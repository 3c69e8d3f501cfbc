//! A mapped file, or something that is mapped without one.

/// Number of a [`Map`] in its [`Session`](super::Session).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapId(pub u32);

/// What was mapped, where, as it was mapped: later maps may have covered parts of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Map {
    /// First address.
    pub start: u64,
    /// One past the last address.
    pub limit: u64,
    /// Offset in the file; of the kernel the address of its reference symbol.
    pub pgoff: u64,
    /// Path or name.
    pub filename: Box<[u8]>,
    /// Build id that the record told; not from the table of the recording.
    pub build_id: Option<Box<[u8]>>,
}

impl Map {
    /// A map of `len` bytes. One that would reach past the highest address ends there.
    pub fn new(start: u64, len: u64, pgoff: u64, filename: &[u8], build_id: Option<&[u8]>) -> Self {
        let build_id = build_id.filter(|id| !id.is_empty()).map(Into::into);
        Self { start, limit: start.saturating_add(len), pgoff, filename: filename.into(), build_id }
    }

    /// Old kernels are recorded as mapped from 0 or nearly so; they begin at their reference symbol.
    pub(super) fn raise_start_to_kernel(&mut self) {
        const UPPER_HALF: u64 = 1 << 63;
        const PAGE: u64 = 4096;
        if self.start <= UPPER_HALF && UPPER_HALF < self.pgoff && UPPER_HALF < self.limit && self.pgoff < self.limit {
            self.start = self.pgoff / PAGE * PAGE;
        }
    }

    /// Whether it is the kernel itself, under one of the names that perf gives it.
    pub fn is_kernel(&self) -> bool {
        self.filename.starts_with(b"[kernel.kallsyms]")
    }

    /// The path in a map's name, without what the kernel adds to that of a deleted file.
    pub fn path_of(filename: &[u8]) -> &[u8] {
        filename.strip_suffix(b" (deleted)").unwrap_or(filename)
    }

    /// Whether it is of a kernel: the host's, a guest's, one of their modules or code that was loaded into them.
    pub fn is_of_kernel(&self) -> bool {
        const UPPER_HALF: u64 = 1 << 63;
        let name = self.filename.rsplit(|&b| b == b'/').next().unwrap_or_default();
        let is_module = name.ends_with(b".ko") || name.windows(4).any(|part| part == b".ko.");
        self.is_kernel()
            || self.filename.starts_with(b"[guest.kernel")
            || is_module
            || self.start >= UPPER_HALF && name != b"[vsyscall]"
    }

    /// Whether it can be the program that a process runs: a file that is no library, nor made up.
    pub fn may_be_main(&self) -> bool {
        let path = Self::path_of(&self.filename);
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
        let is_library =
            name.ends_with(b".so") || name.windows(4).any(|part| part == b".so.") || name.ends_with(b".ko");
        !path.is_empty() && !is_library && !is_made_up(path)
    }

    /// Whether it is a part of a file that all who map it by this name see alike: not memory that only has a name, nor a file
    /// that was removed, after which another may have had its name.
    pub fn is_of_file(&self) -> bool {
        self.filename.starts_with(b"/") && !self.filename.ends_with(b" (deleted)") && !is_made_up(&self.filename)
    }
}

/// A name of a file or of a function of the kernel, but no more of it than there can be: a made-up one may be as long as a
/// record, and is told again for each address in it.
pub fn cut_name(name: &[u8]) -> &[u8] {
    /// The kernel's longest, and its end mark.
    const KSYM_NAME_LEN: usize = 512;
    let is_inside = |at: usize| name.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (KSYM_NAME_LEN - 3..=KSYM_NAME_LEN).rev().find(|&at| !is_inside(at));
    &name[..name.len().min(end.unwrap_or(KSYM_NAME_LEN))]
}

/// Whether a name is one that the kernel or perf makes up for memory without a file.
fn is_made_up(path: &[u8]) -> bool {
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
    fn programs_are_told_from_libraries_and_made_up_names() {
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
    fn maps_of_kernels_are_known_by_name_or_address() {
        for name in
            ["[kernel.kallsyms]_text", "[guest.kernel.kallsyms.4]", "/lib/modules/6.1/fs/xfs.ko", "/m/xfs.ko.xz"]
        {
            assert!(named(name).is_of_kernel(), "{name}");
        }
        assert!(!named("/bin/ls").is_of_kernel() && !named("[vdso]").is_of_kernel());
        let at = |name: &str| Map::new(0xffff_ffff_ff60_0000, 0x1000, 0, name.as_bytes(), None);
        assert!(at("bpf_prog_1").is_of_kernel() && !at("[vsyscall]").is_of_kernel());
    }

    #[test]
    fn a_name_that_is_too_long_ends_between_characters() {
        assert_eq!(cut_name(b"libc.so.6"), b"libc.so.6");
        assert_eq!(cut_name(&[b'a'; 60_000]).len(), 512);
        let text = format!("a{}", "\u{20ac}".repeat(1000));
        assert_eq!(str::from_utf8(cut_name(text.as_bytes())).unwrap().chars().count(), 171);
        assert_eq!(cut_name(&[0x80; 60_000]).len(), 512);
    }

    #[test]
    fn a_kernel_mapped_from_0_begins_at_its_reference_symbol() {
        let mut map = Map::new(0, u64::MAX, 0xffff_ffff_8100_0198, b"[kernel.kallsyms]_text", None);
        map.raise_start_to_kernel();
        assert_eq!(map.start, 0xffff_ffff_8100_0000);
        let mut usual = Map::new(0xffff_ffff_8100_0000, 0x100_0000, 0xffff_ffff_8100_0198, b"", None);
        usual.raise_start_to_kernel();
        assert_eq!(usual.start, 0xffff_ffff_8100_0000);
    }
}
