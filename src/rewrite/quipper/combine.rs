//! Merges adjacent mappings of the same file.

use crate::rewrite::framework::mmap::Mmap;
use hashbrown::HashMap;

const PROT_READ: u32 = 1;
const PROT_READ_WRITE: u32 = 3;
const PROT_EXEC: u32 = 4;
/// Mask of the mapping type (shared or private) in the flags.
const MAP_TYPE: u32 = 15;

/// Extends each mapping by those of its process that continue it. Mappings that were merged into another are `None`.
pub(crate) fn combine(mmaps: Vec<Mmap>) -> Vec<Option<Mmap>> {
    let mut latest: HashMap<u32, usize> = HashMap::new();
    let mut combined: Vec<Option<Mmap>> = mmaps.into_iter().map(Some).collect();
    for index in 0..combined.len() {
        let (before, rest) = combined.split_at_mut(index);
        let Some(mmap) = &rest[0] else { continue };
        let latest = latest.entry(mmap.pid).or_insert(index);
        match before.get_mut(*latest) {
            Some(Some(last)) if is_part(last, mmap) => {
                last.len = last.len.saturating_add(mmap.len);
                rest[0] = None;
            }
            _ => *latest = index,
        }
    }
    combined
}

/// Whether `other` continues the mapping.
fn is_part(map: &Mmap, other: &Mmap) -> bool {
    let is_executable = map.prot & PROT_EXEC != 0;
    let same_file = map.filename == other.filename || map.is_anonymous() || other.is_anonymous();
    let same_protection = map.prot == other.prot
        || matches!((map.prot, other.prot), (PROT_READ, PROT_READ_WRITE) | (PROT_READ_WRITE, PROT_READ));
    let same_type = map.flags & MAP_TYPE == other.flags & MAP_TYPE || is_executable;
    // After a program's data only zeros follow (.bss).
    let ends_in_zeros = !is_executable && !map.is_anonymous() && other.is_anonymous();
    let is_device = [map, other].iter().any(|mmap| mmap.filename.starts_with(b"/dev/"));
    map.is_followed_by(other)
        && same_file
        && same_protection
        && same_type
        && (map.is_continued_by(other) || ends_in_zeros)
        && !is_device
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::framework::mmap::testing::mmap;

    fn lens(mmaps: Vec<Mmap>) -> Vec<Option<u64>> {
        combine(mmaps).iter().map(|mmap| mmap.as_ref().map(|mmap| mmap.len)).collect()
    }

    #[test]
    fn merges_pieces_across_other_records() {
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
    fn does_not_merge_across_protection_type_file_or_device() {
        let with = |prot, flags, second: Mmap| {
            let first = Mmap { prot, flags, ..mmap(0x1000, 0x100, 0, "/bin/x") };
            lens(vec![first, second])[1].is_none()
        };
        let second = mmap(0x1100, 0x100, 0x100, "/bin/x");
        assert!(with(5, 2, second.clone()));
        assert!(!with(1, 2, second.clone()));
        assert!(with(1, 2, Mmap { prot: 3, ..second.clone() }), "read-only and read-write are merged");
        assert!(with(5, 1, second.clone()), "the type of code does not matter");
        assert!(!with(3, 1, Mmap { prot: 3, ..second.clone() }));
        assert!(!with(5, 2, Mmap { pgoff: 0x200, ..second.clone() }));
        let zeros = Mmap { prot: 3, ..mmap(0x1100, 0x100, 0, "//anon") };
        assert!(with(3, 2, zeros.clone()), "zeros belong to the data before them");
        assert!(!with(5, 2, Mmap { prot: 5, ..zeros }));
        let device = |start, pgoff| mmap(start, 0x100, pgoff, "/dev/zero");
        assert_eq!(lens(vec![device(0x1000, 0), device(0x1100, 0x100)]), [Some(0x100), Some(0x100)]);
    }
}
