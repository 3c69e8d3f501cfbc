//! A record as it flows through a stream.

use crate::abi::Endian;
use crate::abi::bytes::Words;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::block::Block;
use crate::container::walk::payload;

/// Records begin below this offset of their block.
pub const BLOCK_LIMIT: usize = 1 << 31;

/// The bytes of a record and where they come from. The bytes are authoritative; typed views are decoded on demand.
#[derive(Clone, Debug)]
pub struct Raw<'a> {
    header: RecordHeader,
    endian: Endian,
    block: &'a Block,
    at: usize,
    /// The record without its payload.
    bytes: &'a [u8],
    payload_len: usize,
    call_chain: Option<Words<'a>>,
    is_selected: bool,
}

impl<'a> Raw<'a> {
    /// A record with this header at an offset of a block, followed by a payload (AUX area, tracing data). `None` if it is not
    /// within the block or begins too far in it.
    #[inline]
    pub fn new(header: RecordHeader, endian: Endian, block: &'a Block, at: usize, payload_len: usize) -> Option<Self> {
        let (bytes, rest) = block.bytes.get(at..)?.split_at_checked(header.len())?;
        if at >= BLOCK_LIMIT || payload_len > rest.len() {
            return None;
        }
        Some(Self { header, endian, block, at, bytes, payload_len, call_chain: None, is_selected: true })
    }

    /// The record at an offset of a block that the reader has passed on before: a record that waited has kept its position only.
    #[inline]
    pub fn read(block: &'a Block, at: usize, endian: Endian) -> Option<Self> {
        let header = RecordHeader::peek(block.bytes.get(at..)?, endian)?;
        // Only records of perf have payloads.
        let payload = match header.kind < RecordType::USER_START {
            true => 0,
            false => payload(&block.bytes, at, endian),
        };
        Self::new(header, endian, block, at, payload)
    }

    /// The header.
    #[inline]
    pub fn header(&self) -> RecordHeader {
        self.header
    }

    /// Byte order of the recording machine.
    #[inline]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The block of the record.
    #[inline]
    pub fn block(&self) -> &'a Block {
        self.block
    }

    /// Offset in the block.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The record, header included.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The record without its header; empty if the size is smaller than a header.
    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.bytes.get(RecordHeader::SIZE..).unwrap_or_default()
    }

    /// The payload that follows the record, not counted in its size: AUX area, tracing data.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.block.bytes[self.at + self.bytes.len()..][..self.payload_len]
    }

    /// Size of the payload.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.payload_len
    }

    /// Offset in the file; of a compressed record, that of its frame.
    pub fn offset(&self) -> u64 {
        self.block.offset(self.at)
    }

    /// The record with an unwound call chain, which replaces the recorded one.
    pub fn with_call_chain<'b>(&self, call_chain: Words<'b>) -> Raw<'b>
    where
        'a: 'b,
    {
        Raw { call_chain: Some(call_chain), ..self.clone() }
    }

    /// The unwound call chain of a sample with a stack dump. As in recorded chains, callers have the address to which they return.
    #[inline]
    pub fn call_chain(&self) -> Option<Words<'a>> {
        self.call_chain
    }

    /// The record, with this [selection](Self::is_selected).
    #[inline]
    pub fn with_selection(self, is_selected: bool) -> Self {
        Self { is_selected, ..self }
    }

    /// Whether filters select the sample; true without filters. Samples that they do not select are passed on to outputs that measure
    /// the time between samples of different threads.
    #[inline]
    pub fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// The record, keeping its block alive, without an unwound call chain.
    pub fn to_owned_raw(&self) -> OwnedRaw {
        let Self { header, endian, block, at, payload_len, is_selected, .. } = *self;
        OwnedRaw { header, endian, block: block.clone(), at, payload_len, is_selected }
    }
}

/// A record that keeps its block alive, to be passed on later.
pub struct OwnedRaw {
    header: RecordHeader,
    endian: Endian,
    block: Block,
    at: usize,
    payload_len: usize,
    is_selected: bool,
}

impl OwnedRaw {
    /// The record.
    pub fn raw(&self) -> Raw<'_> {
        let Self { header, endian, ref block, at, payload_len, is_selected } = *self;
        let bytes = &block.bytes[at..][..header.len()];
        Raw { header, endian, block, at, bytes, payload_len, call_chain: None, is_selected }
    }
}

/// Corrupt bytes between records.
#[derive(Clone, Copy, Debug)]
pub struct Gap<'a> {
    /// The block of the bytes.
    pub block: &'a Block,
    /// Offset in the block.
    pub at: usize,
    /// Number of bytes.
    pub len: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::Misc;
    use crate::container::block::Origin;

    #[test]
    fn a_record_outside_its_block_is_rejected() {
        let bytes = vec![0; 48].into();
        let block = Block { bytes, source: 0, base: 0, origin: Origin::File, in_memory: true, serial: 1 };
        let new = |size, at, payload| {
            let header = RecordHeader { kind: RecordType::AUXTRACE, misc: Misc::empty(), size };
            Raw::new(header, Endian::Little, &block, at, payload)
        };
        let raw = new(24, 8, 16).unwrap();
        assert_eq!((raw.bytes().len(), raw.body().len(), raw.payload().len(), raw.payload_len()), (24, 16, 16, 16));
        assert!(new(7, 8, 0).unwrap().body().is_empty());
        assert!(new(24, 25, 0).is_none());
        assert!(new(24, 8, 17).is_none());
        assert!(new(24, usize::MAX, 0).is_none());
        assert!(new(24, 8, usize::MAX).is_none());
    }
}
