//! Single-record blocks packed into one block, each with the attributes of its original block.

use crate::container::block::{Block, Origin};
use crate::stream::raw::Raw;
use bytes::Bytes;

/// Serial number of blocks of packed records. No other block has it.
const SERIAL: u64 = u64::MAX;
/// Larger records are not packed: their own block costs little in comparison, and a copy would cost more.
const MAX_RECORD: usize = 1 << 16;
/// Size at which a block is full: one allocation serves ten thousand records, and a record that waits keeps little else in memory.
const FULL_SIZE: usize = 1 << 20;
/// Size of the attributes before each record: base, serial, source, size, origin.
const ATTRIBUTES_SIZE: usize = 8 + 8 + 4 + 4 + 1;

/// A block being packed.
#[derive(Default)]
pub(super) struct Packer(Vec<u8>);

/// Whether a record is in memory as a separate block.
pub(super) fn is_packable(raw: &Raw<'_>) -> bool {
    raw.block().in_memory && raw.bytes().len() == raw.block().bytes.len() && raw.block().bytes.len() <= MAX_RECORD
}

/// An empty block for packed records.
pub(super) fn block() -> Block {
    Block { bytes: Bytes::new(), source: 0, base: 0, origin: Origin::File, in_memory: true, serial: SERIAL }
}

/// Whether a block consists of packed records.
#[inline]
pub(super) fn is_packed(block: &Block) -> bool {
    block.serial == SERIAL
}

/// Restores the block of the packed record at an offset.
pub(super) fn unpack(block: &Block, at: usize) -> Option<Block> {
    let (base, rest) = block.bytes.get(at..)?.split_first_chunk()?;
    let (serial, rest) = rest.split_first_chunk()?;
    let (source, rest) = rest.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let origin = match rest.first()? {
        0 => Origin::File,
        1 => Origin::Reframed,
        _ => Origin::Frame,
    };
    let start = at + ATTRIBUTES_SIZE;
    Some(Block {
        bytes: block.bytes.slice(start..start + u32::from_ne_bytes(*len) as usize),
        source: u32::from_ne_bytes(*source),
        base: u64::from_ne_bytes(*base),
        origin,
        // So that it is packed again if it is queued again.
        in_memory: true,
        serial: u64::from_ne_bytes(*serial),
    })
}

impl Packer {
    /// Adds a record; returns its offset and packed size.
    pub(super) fn add(&mut self, raw: &Raw<'_>) -> (usize, usize) {
        let Block { bytes, source, base, origin, serial, .. } = raw.block();
        let at = self.0.len();
        self.0.extend_from_slice(&base.to_ne_bytes());
        self.0.extend_from_slice(&serial.to_ne_bytes());
        self.0.extend_from_slice(&source.to_ne_bytes());
        self.0.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
        self.0.push(*origin as u8);
        self.0.extend_from_slice(bytes);
        (at, self.0.len() - at)
    }

    /// Whether further records go into another block.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= FULL_SIZE
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.0.into()
    }
}
