//! Location of a waiting record.

/// Block number, offset and selection of a record in 8 bytes, since millions of records wait at a time. Sorts by block, then by offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordPosition {
    /// Number of the block.
    pub number: u32,
    /// Twice the offset in the block, which is below [`BLOCK_LIMIT`](super::raw::BLOCK_LIMIT); plus 1 if the record is not selected.
    at: u32,
}

impl RecordPosition {
    pub(crate) fn new(number: u32, at: usize, is_selected: bool) -> Self {
        Self { number, at: (at as u32) << 1 | u32::from(!is_selected) }
    }

    /// Offset in the block.
    pub(crate) fn at(self) -> usize {
        (self.at >> 1) as usize
    }

    /// Whether the record is [selected](super::raw::Raw::is_selected).
    pub(crate) fn is_selected(self) -> bool {
        self.at & 1 == 0
    }

    /// Converts to a number that sorts alike.
    pub(crate) fn bits(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.at)
    }

    /// Converts from a number.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { number: (bits >> 32) as u32, at: bits as u32 }
    }
}
