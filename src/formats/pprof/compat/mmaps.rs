//! What quipper makes of the maps of a recording before it looks at a sample: which ones huge pages have hidden, and which
//! are one map in several records.

use crate::abi::record::mmap2::MappedFile;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A MMAP or MMAP2 record.
#[derive(Clone, Debug)]
pub struct Mmap {
    /// When it was written; 0 where perf made it up from `/proc`.
    pub time: u64,
    /// Process; -1 for the kernel.
    pub pid: u32,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// Offset in the file, in bytes.
    pub pgoff: u64,
    /// Path or name.
    pub filename: Arc<[u8]>,
    /// Inode or build id; MMAP has none.
    pub file: Option<MappedFile>,
    /// `PROT_*` of mmap(2); 0 in MMAP.
    pub prot: u32,
    /// `MAP_*` of mmap(2); 0 in MMAP.
    pub flags: u32,
}

const PROT_READ: u32 = 1;
const PROT_READ_WRITE: u32 = 3;
const PROT_EXEC: u32 = 4;
/// Which bits of the flags tell whether a map is shared or private.
const MAP_TYPE: u32 = 15;

impl Mmap {
    /// Whether it has no file of its own.
    fn is_anonymous(&self) -> bool {
        matches!(&*self.filename, b"//anon" | b"/anon_hugepage" | b"/anon_hugepage (deleted)")
    }

    /// Whether it may be a part of a program that was moved to huge pages, and thereby lost the program's name.
    fn may_be_moved(&self) -> bool {
        let name = self.filename.rsplit(|&b| b == b'/').next().unwrap_or_default();
        let is_renamed = name.len() < self.filename.len() && name.windows(9).skip(1).any(|part| part == b".buildid_");
        self.is_anonymous() || is_renamed
    }

    /// Whether the other one begins at the address where this one ends.
    fn is_followed_by(&self, other: &Self) -> bool {
        self.pid == other.pid && self.start.checked_add(self.len) == Some(other.start)
    }

    /// Whether the other one maps what follows in the same file.
    fn is_continued_by(&self, other: &Self) -> bool {
        self.pgoff.checked_add(self.len) == Some(other.pgoff)
    }

    /// Whether the other one is a part of this one.
    fn combines_with(&self, other: &Self) -> bool {
        let is_executable = self.prot & PROT_EXEC != 0;
        let same_file = self.filename == other.filename || self.is_anonymous() || other.is_anonymous();
        let same_protection = self.prot == other.prot
            || matches!((self.prot, other.prot), (PROT_READ, PROT_READ_WRITE) | (PROT_READ_WRITE, PROT_READ));
        let same_type = self.flags & MAP_TYPE == other.flags & MAP_TYPE || is_executable;
        // Where a program's data ends, and only zeros follow.
        let ends_in_zeros = !is_executable && !self.is_anonymous() && other.is_anonymous();
        let is_device = [self, other].iter().any(|mmap| mmap.filename.starts_with(b"/dev/"));
        self.is_followed_by(other)
            && same_file
            && same_protection
            && same_type
            && (self.is_continued_by(other) || ends_in_zeros)
            && !is_device
    }
}

/// Gives maps that lie before a map of a file, and fill the file up to it, that file: a program that moves itself to huge
/// pages loses its name there. Only maps that perf found in `/proc` are looked at.
pub fn deduce_huge_pages(mmaps: &mut [Mmap]) {
    let mut found: Vec<usize> = (0..mmaps.len()).filter(|&index| mmaps[index].time == 0).collect();
    found.sort_by_key(|&index| mmaps[index].pid);
    let ranges = ranges(mmaps, &found);
    for (number, pair) in ranges.windows(2).enumerate() {
        let [range, next] = pair else { continue };
        let (first, last) = (&mmaps[found[range.start]], &mmaps[found[range.end - 1]]);
        let file = &mmaps[found[next.start]];
        let may_be_its = first.may_be_moved() || first.filename == file.filename;
        if first.pgoff > 0 || !may_be_its || file.may_be_moved() || !last.is_followed_by(file) {
            continue;
        }
        let len = last.start - first.start + last.len;
        let Some(start) = file.pgoff.checked_sub(len) else { continue };
        let goes_on = |before: &Mmap| {
            before.filename == file.filename
                && before.is_followed_by(first)
                && before.pgoff.checked_add(before.len) == Some(start)
        };
        if start > 0 && !number.checked_sub(1).is_some_and(|before| goes_on(&mmaps[found[ranges[before].end - 1]])) {
            continue;
        }
        let (filename, mapped, mut pgoff) = (file.filename.clone(), file.file, start);
        for &index in &found[range.clone()] {
            let mmap = &mut mmaps[index];
            mmap.filename = filename.clone();
            mmap.file = mapped;
            mmap.pgoff = pgoff;
            pgoff += mmap.len;
        }
    }
}

/// Maps that belong together: one after the other at the beginning of what seems to be one file. All others alone.
fn ranges(mmaps: &[Mmap], found: &[usize]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, &index) in found.iter().enumerate() {
        let mmap = &mmaps[index];
        let is_part = |last: &Mmap| {
            last.is_followed_by(mmap) && last.pgoff == 0 && mmap.pgoff == 0 && last.filename == mmap.filename
        };
        match ranges.last_mut() {
            Some(range) if is_part(&mmaps[found[range.end - 1]]) => range.end = at + 1,
            _ => ranges.push(at..at + 1),
        }
    }
    ranges
}

/// Adds to each map those of its process that continue it. What is left of a map that was added is `None`.
pub fn combine(mmaps: Vec<Mmap>) -> Vec<Option<Mmap>> {
    let mut latest: HashMap<u32, usize> = HashMap::new();
    let mut combined: Vec<Option<Mmap>> = mmaps.into_iter().map(Some).collect();
    for index in 0..combined.len() {
        let (before, rest) = combined.split_at_mut(index);
        let Some(mmap) = &rest[0] else { continue };
        let latest = latest.entry(mmap.pid).or_insert(index);
        match before.get_mut(*latest) {
            Some(Some(last)) if last.combines_with(mmap) => {
                last.len = last.len.saturating_add(mmap.len);
                rest[0] = None;
            }
            _ => *latest = index,
        }
    }
    combined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mmap(start: u64, len: u64, pgoff: u64, filename: &str) -> Mmap {
        let filename = filename.as_bytes().into();
        Mmap { time: 0, pid: 1, start, len, pgoff, filename, file: None, prot: 5, flags: 2 }
    }

    fn deduced(mut mmaps: Vec<Mmap>) -> Vec<(u64, String)> {
        deduce_huge_pages(&mut mmaps);
        mmaps.iter().map(|mmap| (mmap.pgoff, String::from_utf8_lossy(&mmap.filename).into_owned())).collect()
    }

    fn named(list: &[(u64, &str)]) -> Vec<(u64, String)> {
        list.iter().map(|&(pgoff, name)| (pgoff, name.to_owned())).collect()
    }

    #[test]
    fn huge_pages_before_a_file_are_its_beginning() {
        for name in ["//anon", "/anon_hugepage", "/anon_hugepage (deleted)", "/x/bin.buildid_12", "/bin/x"] {
            let found = deduced(vec![
                mmap(0x1000, 0x200, 0, name),
                mmap(0x1200, 0x100, 0, name),
                mmap(0x1300, 0x50, 0x300, "/bin/x"),
            ]);
            assert_eq!(found, named(&[(0, "/bin/x"), (0x200, "/bin/x"), (0x300, "/bin/x")]), "{name}");
        }
    }

    #[test]
    fn huge_pages_in_the_middle_of_a_file_go_on_where_it_ended() {
        let found = deduced(vec![
            mmap(0x1000, 0x100, 0x700, "/bin/x"),
            mmap(0x1100, 0x200, 0, "//anon"),
            mmap(0x1300, 0x50, 0xa00, "/bin/x"),
        ]);
        assert_eq!(found, named(&[(0x700, "/bin/x"), (0x800, "/bin/x"), (0xa00, "/bin/x")]));
    }

    #[test]
    fn what_does_not_fit_stays() {
        let gap = vec![mmap(0x1000, 0x200, 0, "//anon"), mmap(0x1300, 0x50, 0x200, "/bin/x")];
        assert_eq!(deduced(gap), named(&[(0, "//anon"), (0x200, "/bin/x")]));
        let offset = vec![mmap(0x1000, 0x200, 0, "//anon"), mmap(0x1200, 0x50, 0x300, "/bin/x")];
        assert_eq!(deduced(offset), named(&[(0, "//anon"), (0x300, "/bin/x")]));
        let mut timed = vec![mmap(0x1000, 0x200, 0, "//anon"), mmap(0x1200, 0x50, 0x200, "/bin/x")];
        timed.iter_mut().for_each(|mmap| mmap.time = 5);
        assert_eq!(deduced(timed), named(&[(0, "//anon"), (0x200, "/bin/x")]));
        let mut others = vec![mmap(0x1000, 0x200, 0, "//anon"), mmap(0x1200, 0x50, 0x200, "/bin/x")];
        others[1].pid = 2;
        assert_eq!(deduced(others), named(&[(0, "//anon"), (0x200, "/bin/x")]));
    }

    fn lens(mmaps: Vec<Mmap>) -> Vec<Option<u64>> {
        combine(mmaps).iter().map(|mmap| mmap.as_ref().map(|mmap| mmap.len)).collect()
    }

    #[test]
    fn parts_of_one_map_are_combined_whatever_is_between_their_records() {
        let mut other = mmap(0x9000, 0x100, 0, "/bin/y");
        other.pid = 2;
        let parts = vec![
            mmap(0x1000, 0x100, 0, "/bin/x"),
            other,
            mmap(0x1100, 0x100, 0x100, "/bin/x"),
            mmap(0x1200, 0x80, 0x200, "/bin/x"),
        ];
        assert_eq!(lens(parts), [Some(0x280), Some(0x100), None, None]);
    }

    #[test]
    fn protection_type_file_and_device_keep_maps_apart() {
        let with = |prot, flags, second: Mmap| {
            let first = Mmap { prot, flags, ..mmap(0x1000, 0x100, 0, "/bin/x") };
            lens(vec![first, second])[1].is_none()
        };
        let second = mmap(0x1100, 0x100, 0x100, "/bin/x");
        assert!(with(5, 2, second.clone()));
        assert!(!with(1, 2, second.clone()));
        assert!(with(1, 2, Mmap { prot: 3, ..second.clone() }), "read-only and read-write are one");
        assert!(with(5, 1, second.clone()), "of code the type does not matter");
        assert!(!with(3, 1, Mmap { prot: 3, ..second.clone() }));
        assert!(!with(5, 2, Mmap { pgoff: 0x200, ..second.clone() }));
        let zeros = Mmap { prot: 3, ..mmap(0x1100, 0x100, 0, "//anon") };
        assert!(with(3, 2, zeros.clone()), "zeros belong to the data before them");
        assert!(!with(5, 2, Mmap { prot: 5, ..zeros }));
        let device = |start, pgoff| mmap(start, 0x100, pgoff, "/dev/zero");
        assert_eq!(lens(vec![device(0x1000, 0), device(0x1100, 0x100)]), [Some(0x100), Some(0x100)]);
    }
}
