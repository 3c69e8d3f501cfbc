//! A record as it flows.

use crate::abi::Endian;
use crate::abi::record::RecordHeader;
use crate::container::block::Block;

/// A record's bytes and where they come from. The bytes are the truth; whoever needs more parses them.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    /// The header.
    pub header: RecordHeader,
    /// Byte order of the recorder.
    pub endian: Endian,
    /// Where the record is.
    pub block: &'a Block,
    /// How far into the block it begins.
    pub at: usize,
    /// How many bytes behind it belong to it: AUX area, tracing data.
    pub payload: usize,
}

impl<'a> Raw<'a> {
    /// The whole record, header included.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        &self.block.bytes[self.at..self.at + self.header.len()]
    }

    /// The record without its header.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        &self.bytes()[RecordHeader::SIZE..]
    }

    /// What follows the record and belongs to it, not counted in its size: AUX area, tracing data.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        let start = self.at + self.header.len();
        &self.block.bytes[start..start + self.payload]
    }

    /// Where in its file the record is; for one that was compressed, where its frame is.
    pub fn offset(&self) -> u64 {
        self.block.offset(self.at)
    }
}

/// Bytes between records that are none.
#[derive(Clone, Copy, Debug)]
pub struct Gap<'a> {
    /// Where they are.
    pub block: &'a Block,
    /// How far into the block they begin.
    pub at: usize,
    /// How many there are.
    pub len: usize,
}
