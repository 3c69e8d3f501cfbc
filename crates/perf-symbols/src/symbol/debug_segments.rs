//! Segments of debug files whose contents were removed.
//!
//! `objcopy --only-keep-debug` moves such segments to the start of the file and changes their `p_offset`, which then is no longer the
//! offset of their contents in the program; `eu-strip` keeps it. Without the program itself, file offsets can then not be converted to
//! addresses. GNU ld, gold and LLD place segments one after the other, each at the next offset that equals its address modulo its
//! alignment, so that the offsets can be computed.

use super::object::Segment;

/// Restores the offsets in the program of segments without contents.
pub(super) fn restore_offsets(segments: &mut [Segment]) {
    let is_moved = segments.windows(2).any(|pair| is_empty(&pair[1]) && pair[1].offset < end(&pair[0]));
    if !is_moved {
        return;
    }
    for index in 1..segments.len() {
        let before = end(&segments[index - 1]);
        let segment = &mut segments[index];
        if is_empty(segment) {
            let align = segment.alignment.max(1);
            segment.offset = before.saturating_add(segment.address.wrapping_sub(before) % align);
        }
    }
}

fn is_empty(segment: &Segment) -> bool {
    segment.file_size == 0 && segment.memory_size > 0
}

/// End of the contents in the program. Only the last segment, of data, has memory without contents.
fn end(segment: &Segment) -> u64 {
    segment.offset.saturating_add(segment.memory_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offset and size in the file, address, and size in memory, of segments of 4 KB pages.
    fn restored(segments: &[[u64; 4]]) -> Vec<u64> {
        let segment = |&[offset, file_size, address, memory_size]: &[u64; 4]| Segment {
            offset,
            file_size,
            address,
            memory_size,
            alignment: 0x1000,
            is_executable: false,
            is_writable: false,
        };
        let mut segments: Vec<Segment> = segments.iter().map(segment).collect();
        restore_offsets(&mut segments);
        segments.iter().map(|segment| segment.offset).collect()
    }

    #[test]
    fn offsets_are_those_of_the_program() {
        // Debian's libc.so.6 of glibc 2.36, linked by GNU ld; its offsets are 0, 0x26000, 0x17c000 and 0x1cf8d0.
        let libc = [
            [0, 0x3b4, 0, 0x2_5388],
            [0, 0, 0x2_6000, 0x15_50fc],
            [0, 0, 0x17_c000, 0x5_2c31],
            [0x8d0, 0, 0x1c_f8d0, 0x1_2680],
        ];
        assert_eq!(restored(&libc), [0, 0x2_6000, 0x17_c000, 0x1c_f8d0]);
        // A program linked by LLD, whose addresses advance by a page for each segment.
        let lld = [[0, 0x2a4, 0x20_0000, 0x5dc], [0, 0, 0x20_15e0, 0x1c0], [0, 0, 0x20_27a0, 0x180]];
        assert_eq!(restored(&lld), [0, 0x5e0, 0x7a0]);
        // eu-strip leaves offsets, and programs have contents.
        let unchanged = [[0, 0x3b4, 0, 0x2_5388], [0x2_6000, 0, 0x2_6000, 0x15_50fc]];
        assert_eq!(restored(&unchanged), [0, 0x2_6000]);
        let program = [[0, 0x2_5388, 0, 0x2_5388], [0, 0x10, 0x2_6000, 0x15_50fc]];
        assert_eq!(restored(&program), [0, 0]);
        let hostile = [[u64::MAX, 0, 5, u64::MAX], [0, 0, u64::MAX, u64::MAX]];
        assert_eq!(restored(&hostile).len(), 2);
        assert!(restored(&[]).is_empty());
    }
}
