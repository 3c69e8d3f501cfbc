//! Location of a waiting record.

/// Block number and offset of a record in 8 bytes, since millions of records wait at a time. Sorts by block, then by offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordPosition {
    /// Number of the block.
    pub number: u32,
    /// Offset in the block, below [`BLOCK_LIMIT`](super::raw::BLOCK_LIMIT).
    pub at: u32,
}

impl RecordPosition {
    /// Converts to a number that sorts alike.
    pub(crate) fn bits(self) -> u64 {
        u64::from(self.number) << 32 | u64::from(self.at)
    }

    /// Converts from a number.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { number: (bits >> 32) as u32, at: bits as u32 }
    }
}
