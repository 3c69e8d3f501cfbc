//! Records that are blocks of their own, one behind the other in one block, each behind what is known of its block.

use crate::container::block::{Block, Origin};
use crate::stream::raw::Raw;
use bytes::Bytes;

/// The serial number of a block that holds such records. No other block has it.
const SERIAL: u64 = u64::MAX;
/// Larger records stay where they are.
const LARGEST: usize = 1 << 16;
/// So many bytes are gathered in one block.
const ENOUGH: usize = 1 << 20;
/// Bytes before each record: base, serial, source, size, origin.
const KNOWN: usize = 8 + 8 + 4 + 4 + 1;

/// Such records, while they come.
#[derive(Default)]
pub struct Gathered(Vec<u8>);

/// Whether a record is in memory as a block of its own.
pub fn can_be(raw: &Raw<'_>) -> bool {
    raw.block().in_memory && raw.bytes().len() == raw.block().bytes.len() && raw.block().bytes.len() <= LARGEST
}

/// A block that is to hold such records.
pub fn block() -> Block {
    Block { bytes: Bytes::new(), source: 0, base: 0, origin: Origin::File, in_memory: true, serial: SERIAL }
}

/// The block that the record at a place in such a block was; `None` of another block.
pub fn one(block: &Block, at: usize) -> Option<Block> {
    if block.serial != SERIAL {
        return None;
    }
    let (base, rest) = block.bytes.get(at..)?.split_first_chunk()?;
    let (serial, rest) = rest.split_first_chunk()?;
    let (source, rest) = rest.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let origin = match rest.first()? {
        0 => Origin::File,
        1 => Origin::Reframed,
        _ => Origin::Frame,
    };
    let start = at + KNOWN;
    Some(Block {
        bytes: block.bytes.slice(start..start + u32::from_ne_bytes(*len) as usize),
        source: u32::from_ne_bytes(*source),
        base: u64::from_ne_bytes(*base),
        origin,
        // Whoever holds on to it next is to gather it too.
        in_memory: true,
        serial: u64::from_ne_bytes(*serial),
    })
}

impl Gathered {
    /// Adds a record: says where it is, and how many bytes it takes.
    pub fn add(&mut self, raw: &Raw<'_>) -> (usize, usize) {
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

    /// Whether further records are to be gathered in another block.
    pub fn is_full(&self) -> bool {
        self.0.len() >= ENOUGH
    }

    /// All of them.
    pub fn into_bytes(self) -> Bytes {
        self.0.into()
    }
}
