//! The blocks of waiting records.

use super::packed_records::{self, Packer};
use super::record_position::RecordPosition;
use crate::container::block::Block;
use crate::container::spool::Spool;
use crate::stream::raw::Raw;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;

/// Keeps blocks alive while records in them wait.
#[derive(Default)]
pub(super) struct BlockBuffer {
    /// Blocks with their numbers of waiting records, except those not yet settled.
    blocks: VecDeque<(Block, u32)>,
    /// Number of the first block.
    first: u32,
    bytes_in_memory: usize,
    /// Consecutive records mostly share a block, both added and released: these counts are batched.
    added: Added,
    released: Released,
    /// Content of the last block while single-record blocks are packed.
    packer: Option<Packer>,
}

/// Records added to the last block.
#[derive(Default)]
struct Added {
    serial: u64,
    number: u32,
    records: u32,
}

/// Records released from a block.
#[derive(Default)]
struct Released {
    number: u32,
    records: u32,
}

impl BlockBuffer {
    /// Keeps the block of a record alive; returns the location of the record.
    #[inline]
    pub(super) fn add(&mut self, raw: &Raw<'_>) -> RecordPosition {
        if raw.at() == 0 && packed_records::is_packable(raw) {
            return self.pack(raw);
        }
        // Without added records, the block may have been dropped since.
        if self.added.serial != raw.block().serial || self.added.records == 0 {
            self.set_current(raw.block());
        }
        self.added.records += 1;
        RecordPosition::new(self.added.number, raw.at(), raw.is_selected())
    }

    /// Packs a record that is a separate block, as changed records are. Single blocks would take more memory than their
    /// contents, and could not be moved to a file efficiently.
    fn pack(&mut self, raw: &Raw<'_>) -> RecordPosition {
        if self.packer.as_ref().is_none_or(Packer::is_full) {
            self.seal();
            self.settle();
            self.packer = Some(Packer::default());
            self.blocks.push_back((packed_records::block(), 0));
        }
        let packer = self.packer.get_or_insert_default();
        let (at, len) = packer.add(raw);
        self.bytes_in_memory += len;
        if let Some((_, waiting)) = self.blocks.back_mut() {
            *waiting += 1;
        }
        RecordPosition::new(self.last_number(), at, raw.is_selected())
    }

    /// Stores the packed bytes in their block, so that its records can be passed on.
    pub(super) fn seal(&mut self) {
        if let (Some(packer), Some((block, _))) = (self.packer.take(), self.blocks.back_mut()) {
            block.bytes = packer.into_bytes();
        }
    }

    fn last_number(&self) -> u32 {
        self.first.wrapping_add(self.blocks.len() as u32 - 1)
    }

    /// Makes a block the one that records are added to.
    fn set_current(&mut self, block: &Block) {
        self.seal();
        self.settle();
        if self.blocks.back().is_none_or(|(last, _)| last.serial != block.serial) {
            if block.in_memory {
                self.bytes_in_memory += block.bytes.len();
            }
            self.blocks.push_back((block.clone(), 0));
        }
        self.added = Added { serial: block.serial, number: self.last_number(), records: 0 };
    }

    /// Memory used by the blocks.
    pub(super) fn bytes_in_memory(&self) -> usize {
        self.bytes_in_memory
    }

    /// Index of the block with this number.
    #[inline]
    fn index(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    /// The block of a location.
    #[inline]
    pub(super) fn block(&self, position: RecordPosition) -> &Block {
        &self.blocks[self.index(position.number)].0
    }

    /// Releases a record that has been passed on.
    #[inline]
    pub(super) fn release(&mut self, position: RecordPosition) {
        let number = position.number;
        if self.released.number != number {
            self.settle();
            self.released.number = number;
        }
        self.released.records += 1;
    }

    /// Applies the batched counts; drops a block when its last record is released.
    pub(super) fn settle(&mut self) {
        if let Some((_, waiting)) = self.blocks.back_mut() {
            *waiting += std::mem::take(&mut self.added.records);
        }
        let Released { number, records } = std::mem::take(&mut self.released);
        if records == 0 {
            return;
        }
        let index = self.index(number);
        let (block, waiting) = &mut self.blocks[index];
        *waiting -= records;
        if *waiting > 0 {
            return;
        }
        if block.in_memory {
            self.bytes_in_memory -= block.bytes.len();
            block.in_memory = false;
        }
        block.bytes.clear();
        // Records may still be added from a source block with this serial. They get a new entry.
        block.serial = 0;
        while let Some((_, 0)) = self.blocks.front() {
            self.blocks.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Moves all blocks in memory to a temporary file.
    pub(super) fn move_to_file(&mut self, spool_dir: Option<&Path>) -> io::Result<()> {
        self.seal();
        let mut spool = io::BufWriter::new(Spool::new(spool_dir)?);
        for (block, _) in self.blocks.iter().filter(|(block, _)| block.in_memory) {
            spool.write_all(&block.bytes)?;
        }
        let mut moved = spool.into_inner().map_err(|e| e.into_error())?.into_bytes()?;
        for (block, _) in self.blocks.iter_mut().filter(|(block, _)| block.in_memory) {
            block.bytes = moved.split_to(block.bytes.len());
            block.in_memory = false;
        }
        self.bytes_in_memory = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::container::block::Origin;
    use bytes::Bytes;

    /// A block of 16-byte records that contain their numbers.
    fn block(serial: u64, numbers: &[u32], in_memory: bool) -> Block {
        let record = |number: &u32| [[9, 0, 0, 0], [0, 0, 16, 0], number.to_le_bytes(), [0; 4]].concat();
        let bytes: Bytes = numbers.iter().flat_map(record).collect::<Vec<u8>>().into();
        Block { bytes, source: 3, base: 1000 + serial, origin: Origin::Frame, in_memory, serial }
    }

    #[test]
    fn single_record_blocks_are_packed_and_restored() {
        let mut buffer = BlockBuffer::default();
        let mut positions = Vec::new();
        let mut add = |buffer: &mut BlockBuffer, block: &Block, at| {
            positions.push(buffer.add(&Raw::read(block, at, Endian::Little).unwrap()));
        };
        for number in 0..50_000 {
            add(&mut buffer, &block(u64::from(number) + 10, &[number], true), 0);
            if number == 20_000 {
                let records = block(7, &[70, 71], false);
                add(&mut buffer, &records, 0);
                add(&mut buffer, &records, 16);
            }
            if number == 30_000 {
                buffer.move_to_file(None).unwrap();
                assert_eq!(buffer.bytes_in_memory(), 0);
            }
        }
        assert!(buffer.blocks.len() < 100);
        assert!(positions.is_sorted(), "locations sort in order of arrival");
        buffer.seal();
        let expected = (0..=20_000).chain([70, 71]).chain(20_001..50_000);
        for (&position, number) in positions.iter().zip(expected) {
            let at = position.at();
            let block = buffer.block(position);
            let unpack = packed_records::is_packed(block).then(|| packed_records::unpack(block, at).unwrap());
            let (block, at) = unpack.as_ref().map_or((buffer.block(position), at), |block| (block, 0));
            assert_eq!(block.bytes[at + 8..at + 12], u32::to_le_bytes(number));
            assert_eq!((block.source, block.origin, block.base), (3, Origin::Frame, 1000 + block.serial));
            buffer.release(position);
        }
        buffer.settle();
        assert_eq!((buffer.blocks.len(), buffer.bytes_in_memory()), (0, 0));
    }
}
