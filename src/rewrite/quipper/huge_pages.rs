//! Restores the files of mappings that huge pages have hidden.

use crate::rewrite::framework::mmap::Mmap;
use hashbrown::HashMap;
use std::ops::Range;

/// Restores the files of mappings that perf found in `/proc`.
pub(crate) fn restore_existing(mut mmaps: Vec<Mmap>) -> Vec<Option<Mmap>> {
    deduce_huge_pages(&mut mmaps);
    mmaps.into_iter().map(Some).collect()
}

/// Also restores the files of mappings of programs that perf saw start.
pub(crate) fn restore_all(mut mmaps: Vec<Mmap>) -> Vec<Option<Mmap>> {
    deduce_huge_pages(&mut mmaps);
    restore_replaced_text(&mut mmaps);
    mmaps.into_iter().map(Some).collect()
}

/// Assigns anonymous mappings that directly precede a file mapping, and fill the file up to it, to that file: a program that
/// remaps its text to huge pages loses its name there. Only mappings that perf found in `/proc` are considered.
pub(crate) fn deduce_huge_pages(mmaps: &mut [Mmap]) {
    let mut existing: Vec<usize> = (0..mmaps.len()).filter(|&index| mmaps[index].time == 0).collect();
    // The sort is stable: the mappings of a process keep their order.
    existing.sort_by_key(|&index| mmaps[index].pid);
    let ranges = ranges(mmaps, &existing);
    for (number, pair) in ranges.windows(2).enumerate() {
        let [range, next] = pair else { continue };
        let (first, last) = (&mmaps[existing[range.start]], &mmaps[existing[range.end - 1]]);
        let file = &mmaps[existing[next.start]];
        let may_be_its = may_be_moved(first) || first.filename == file.filename;
        if first.pgoff > 0 || !may_be_its || may_be_moved(file) || !last.is_followed_by(file) {
            continue;
        }
        let len = last.start - first.start + last.len;
        let Some(start) = file.pgoff.checked_sub(len) else { continue };
        let continues = |before: &Mmap| {
            before.filename == file.filename
                && before.is_followed_by(first)
                && before.pgoff.checked_add(before.len) == Some(start)
        };
        if start > 0 && !number.checked_sub(1).is_some_and(|before| continues(&mmaps[existing[ranges[before].end - 1]]))
        {
            continue;
        }
        let (filename, mapped, mut pgoff) = (file.filename.clone(), file.file, start);
        for &index in &existing[range.clone()] {
            let mmap = &mut mmaps[index];
            mmap.filename = filename.clone();
            mmap.file = mapped;
            mmap.pgoff = pgoff;
            pgoff += mmap.len;
        }
    }
}

/// Assigns executable anonymous mappings that replace a part of a mapped file to that file: the program copied its text there. They
/// are recorded where perf saw the program start.
pub(crate) fn restore_replaced_text(mmaps: &mut [Mmap]) {
    const PROT_EXEC: u32 = 4;
    let mut in_time_order: Vec<usize> = (0..mmaps.len()).collect();
    in_time_order.sort_by_key(|&index| mmaps[index].time);
    // The mappings of files, latest last, by process.
    let mut files: HashMap<u32, Vec<Mmap>> = HashMap::new();
    for index in in_time_order {
        let mmap = &mmaps[index];
        let files = files.entry(mmap.pid).or_default();
        if !mmap.is_anonymous() {
            files.push(mmap.clone());
            continue;
        }
        let is_text = mmap.time > 0 && mmap.prot & PROT_EXEC > 0;
        let Some(end) = mmap.start.checked_add(mmap.len).filter(|_| is_text) else { continue };
        let is_around = |file: &&Mmap| file.start <= mmap.start && file.start.saturating_add(file.len) >= end;
        let overlaps = |file: &&Mmap| file.start < end && file.start.saturating_add(file.len) > mmap.start;
        // Only the latest is still mapped there.
        let Some(file) = files.iter().rev().find(overlaps).filter(is_around) else { continue };
        let Some(pgoff) = file.pgoff.checked_add(mmap.start - file.start) else { continue };
        if file.filename.starts_with(b"/") {
            let restored = Mmap { filename: file.filename.clone(), file: file.file, pgoff, ..mmap.clone() };
            mmaps[index] = restored;
        }
    }
}

/// Groups adjacent mappings that may be one file from its beginning. All others are groups of one.
fn ranges(mmaps: &[Mmap], indices: &[usize]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (at, &index) in indices.iter().enumerate() {
        let mmap = &mmaps[index];
        let is_part = |last: &Mmap| {
            last.is_followed_by(mmap) && last.pgoff == 0 && mmap.pgoff == 0 && last.filename == mmap.filename
        };
        match ranges.last_mut() {
            Some(range) if is_part(&mmaps[indices[range.end - 1]]) => range.end = at + 1,
            _ => ranges.push(at..at + 1),
        }
    }
    ranges
}

/// Whether it may be program text that was moved to huge pages, and so lost its file name.
fn may_be_moved(mmap: &Mmap) -> bool {
    let name = mmap.filename.rsplit(|&b| b == b'/').next().unwrap_or_default();
    let is_renamed = name.len() < mmap.filename.len() && name.windows(9).skip(1).any(|part| part == b".buildid_");
    mmap.is_anonymous() || is_renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::framework::mmap::testing::mmap;

    fn deduced(mut mmaps: Vec<Mmap>) -> Vec<(u64, String)> {
        deduce_huge_pages(&mut mmaps);
        mmaps.iter().map(|mmap| (mmap.pgoff, String::from_utf8_lossy(&mmap.filename).into_owned())).collect()
    }

    fn named(list: &[(u64, &str)]) -> Vec<(u64, String)> {
        list.iter().map(|&(pgoff, name)| (pgoff, name.to_owned())).collect()
    }

    #[test]
    fn assigns_huge_pages_before_a_file_to_its_beginning() {
        for name in ["//anon", "/anon_hugepage", "/anon_hugepage (deleted)", "/x/bin.buildid_12", "/bin/x"] {
            let restored = deduced(vec![
                mmap(0x1000, 0x200, 0, name),
                mmap(0x1200, 0x100, 0, name),
                mmap(0x1300, 0x50, 0x300, "/bin/x"),
            ]);
            assert_eq!(restored, named(&[(0, "/bin/x"), (0x200, "/bin/x"), (0x300, "/bin/x")]), "{name}");
        }
    }

    #[test]
    fn assigns_huge_pages_in_the_middle_of_a_file() {
        let restored = deduced(vec![
            mmap(0x1000, 0x100, 0x700, "/bin/x"),
            mmap(0x1100, 0x200, 0, "//anon"),
            mmap(0x1300, 0x50, 0xa00, "/bin/x"),
        ]);
        assert_eq!(restored, named(&[(0x700, "/bin/x"), (0x800, "/bin/x"), (0xa00, "/bin/x")]));
    }

    #[test]
    fn assigns_text_that_replaces_a_part_of_a_file() {
        let timed = |time, mut mmap: Mmap| {
            (mmap.time, mmap.prot) = (time, 5);
            mmap
        };
        let restored = |memory: Mmap| {
            let mut mmaps = [timed(1, mmap(0x1000, 0x800, 0x200, "/bin/x")), memory];
            restore_replaced_text(&mut mmaps);
            (mmaps[1].pgoff, String::from_utf8_lossy(&mmaps[1].filename).into_owned())
        };
        let memory = mmap(0x1200, 0x400, 0x1200, "//anon");
        assert_eq!(restored(timed(2, memory.clone())), (0x400, "/bin/x".to_owned()));
        // Earlier, found in /proc, not executable, larger than the file, of another process.
        let kept = (0x1200, "//anon".to_owned());
        assert_eq!(restored(timed(0, memory.clone())), kept);
        assert_eq!(restored(Mmap { prot: 3, time: 2, ..memory.clone() }), kept);
        assert_eq!(restored(timed(2, Mmap { len: 0x800, ..memory.clone() })), kept);
        assert_eq!(restored(timed(2, Mmap { pid: 7, ..memory })), kept);
    }

    #[test]
    fn keeps_mappings_that_do_not_fit() {
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
}
