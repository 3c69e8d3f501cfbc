//! The blocks that waiting records are in.

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
    pub fn hold(&mut self, raw: &Raw<'_>) -> u64 {
        if self.coming.serial != raw.block.serial || self.coming.records == 0 {
            self.come(raw.block);
        }
        self.coming.records += 1;
        u64::from(self.coming.number) << 32 | raw.at as u64
    }

    /// Has records come from this block.
    fn come(&mut self, block: &Block) {
        self.settle();
        if self.blocks.back().is_none_or(|(last, _)| last.serial != block.serial) {
            if block.in_memory {
                self.bytes_in_memory += block.bytes.len();
            }
            self.blocks.push_back((block.clone(), 0));
        }
        let number = self.first.wrapping_add(self.blocks.len() as u32 - 1);
        self.coming = Coming { serial: block.serial, number, records: 0 };
    }

    /// How much memory the blocks take.
    pub fn bytes_in_memory(&self) -> usize {
        self.bytes_in_memory
    }

    /// Which of the blocks a place is in, and where in it.
    #[inline]
    pub fn at(&self, place: u64) -> (usize, usize) {
        (((place >> 32) as u32).wrapping_sub(self.first) as usize, place as u32 as usize)
    }

    /// A block.
    #[inline]
    pub fn block(&self, index: usize) -> &Block {
        &self.blocks[index].0
    }

    /// Lets go of a record that has been passed on.
    #[inline]
    pub fn release(&mut self, place: u64) {
        let number = (place >> 32) as u32;
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
        let (block, waiting) = &mut self.blocks[number.wrapping_sub(self.first) as usize];
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
            self.first = self.first.wrapping_add(1);
        }
    }

    /// Moves the bytes of all blocks in memory to a temporary file.
    pub fn move_to_file(&mut self, spool_dir: Option<&Path>) -> io::Result<()> {
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
