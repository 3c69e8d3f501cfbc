//! The blocks that waiting records are in.

use super::packed_records::{self, Gathered};
use super::place::Place;
use crate::container::block::Block;
use crate::container::spool::Spool;
use crate::stream::raw::Raw;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;

/// Holds on to blocks while records in them wait.
#[derive(Default)]
pub(super) struct Held {
    /// With how many records of each wait, but for those that are not settled.
    blocks: VecDeque<(Block, u32)>,
    /// Number of the first block in `blocks`.
    first: u32,
    bytes_in_memory: usize,
    /// Most records come from the block that the one before came from, in and out: these are counted at hand.
    coming: Coming,
    going: Going,
    /// What the last block is to hold, as long as records come that are blocks of their own.
    gathered: Option<Gathered>,
}

/// Records of the last block that have come.
#[derive(Default)]
struct Coming {
    serial: u64,
    number: u32,
    records: u32,
}

/// Records of a block that have gone.
#[derive(Default)]
struct Going {
    number: u32,
    records: u32,
}

impl Held {
    /// Holds on to a record's block, and says where the record is.
    #[inline]
    pub fn hold(&mut self, raw: &Raw<'_>) -> Place {
        if raw.at() == 0 && packed_records::can_be(raw) {
            return self.gather(raw);
        }
        if self.coming.serial != raw.block().serial || self.coming.records == 0 {
            self.come(raw.block());
        }
        self.coming.records += 1;
        Place::new(self.coming.number, raw.at())
    }

    /// Takes a record that is a block of its own, as changed ones are, to others: so many blocks would take more memory than what
    /// is in them, and could not be moved to a file.
    fn gather(&mut self, raw: &Raw<'_>) -> Place {
        if self.gathered.as_ref().is_none_or(Gathered::is_full) {
            self.seal();
            self.settle();
            self.gathered = Some(Gathered::default());
            self.blocks.push_back((packed_records::block(), 0));
        }
        let gathered = self.gathered.get_or_insert_default();
        let (at, len) = gathered.add(raw);
        self.bytes_in_memory += len;
        if let Some((_, waiting)) = self.blocks.back_mut() {
            *waiting += 1;
        }
        Place::new(self.last_number(), at)
    }

    /// Has what was gathered in its block, so that it can be passed on.
    pub fn seal(&mut self) {
        if let (Some(gathered), Some((block, _))) = (self.gathered.take(), self.blocks.back_mut()) {
            block.bytes = gathered.into_bytes();
        }
    }

    fn last_number(&self) -> u32 {
        self.first.wrapping_add(self.blocks.len() as u32 - 1) & Place::NUMBERS
    }

    /// Has records come from this block.
    fn come(&mut self, block: &Block) {
        self.seal();
        self.settle();
        if self.blocks.back().is_none_or(|(last, _)| last.serial != block.serial) {
            if block.in_memory {
                self.bytes_in_memory += block.bytes.len();
            }
            self.blocks.push_back((block.clone(), 0));
        }
        self.coming = Coming { serial: block.serial, number: self.last_number(), records: 0 };
    }

    /// How much memory the blocks take.
    pub fn bytes_in_memory(&self) -> usize {
        self.bytes_in_memory
    }

    /// Which of the blocks has this number.
    #[inline]
    fn index(&self, number: u32) -> usize {
        (number.wrapping_sub(self.first) & Place::NUMBERS) as usize
    }

    /// The block that a place is in.
    #[inline]
    pub fn block(&self, place: Place) -> &Block {
        &self.blocks[self.index(place.number())].0
    }

    /// Lets go of a record that has been passed on.
    #[inline]
    pub fn release(&mut self, place: Place) {
        let number = place.number();
        if self.going.number != number {
            self.settle();
            self.going.number = number;
        }
        self.going.records += 1;
    }

    /// Counts those that have come and gone, and lets go of a block when the last one in it has.
    pub fn settle(&mut self) {
        if let Some((_, waiting)) = self.blocks.back_mut() {
            *waiting += std::mem::take(&mut self.coming.records);
        }
        let Going { number, records } = std::mem::take(&mut self.going);
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
        // A block that more records may come from would be held twice; its serial keeps it apart.
        block.serial = 0;
        while let Some((_, 0)) = self.blocks.front() {
            self.blocks.pop_front();
            self.first = self.first.wrapping_add(1) & Place::NUMBERS;
        }
    }

    /// Moves the bytes of all blocks in memory to a temporary file.
    pub fn move_to_file(&mut self, spool_dir: Option<&Path>) -> io::Result<()> {
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
    use crate::abi::record::RecordHeader;
    use crate::container::block::Origin;
    use bytes::Bytes;

    /// A block of so many records of 16 bytes, each of which tells its number.
    fn block(serial: u64, numbers: &[u32], in_memory: bool) -> Block {
        let record = |number: &u32| [[9, 0, 0, 0], [0, 0, 16, 0], number.to_le_bytes(), [0; 4]].concat();
        let bytes: Bytes = numbers.iter().flat_map(record).collect::<Vec<u8>>().into();
        Block { bytes, source: 3, base: 1000 + serial, origin: Origin::Frame, in_memory, serial }
    }

    #[test]
    fn records_that_are_blocks_of_their_own_are_held_together_and_come_back_as_they_were() {
        let mut held = Held::default();
        let mut places = Vec::new();
        let mut hold = |held: &mut Held, block: &Block, at| {
            let header = RecordHeader::peek(&block.bytes[at..], Endian::Little).unwrap();
            places.push(held.hold(&Raw::new(header, Endian::Little, block, at, 0).unwrap()));
        };
        for number in 0..50_000 {
            hold(&mut held, &block(u64::from(number) + 10, &[number], true), 0);
            if number == 20_000 {
                let several = block(7, &[70, 71], false);
                hold(&mut held, &several, 0);
                hold(&mut held, &several, 16);
            }
            if number == 30_000 {
                held.move_to_file(None).unwrap();
                assert_eq!(held.bytes_in_memory(), 0);
            }
        }
        assert!(held.blocks.len() < 100);
        assert!(places.is_sorted(), "they stay in the order in which they came");
        held.seal();
        let expected = (0..=20_000).chain([70, 71]).chain(20_001..50_000);
        for (&place, number) in places.iter().zip(expected) {
            let at = place.at();
            let one = packed_records::one(held.block(place), at);
            let (block, at) = one.as_ref().map_or((held.block(place), at), |block| (block, 0));
            assert_eq!(block.bytes[at + 8..at + 12], u32::to_le_bytes(number));
            assert_eq!((block.source, block.origin, block.base), (3, Origin::Frame, 1000 + block.serial));
            held.release(place);
        }
        held.settle();
        assert_eq!((held.blocks.len(), held.bytes_in_memory()), (0, 0));
    }
}
