//! Bytes with the place that they come from.

use bytes::Bytes;

/// A run of records, in memory or mapped, that many parts of the program may hold without copying.
#[derive(Clone, Debug)]
pub struct Block {
    /// The records.
    pub bytes: Bytes,
    /// Which of a recording's files: 0 the main one, else `data.N` in the order in which they are read, from 1.
    pub source: u32,
    /// Where in that file the first byte lies; else where the frame lies that they come from.
    pub base: u64,
    /// What the bytes are.
    pub origin: Origin,
    /// Whether the bytes take memory of the program's own, as those of a pipe and of frames do and mapped ones do not.
    pub in_memory: bool,
    /// Different for each block of a recording.
    pub serial: u64,
}

/// What the bytes of a block are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Bytes of the file.
    File,
    /// Frames that are [misframed](crate::container::misframed) in the file, as they should be.
    Reframed,
    /// What was decompressed from a frame.
    Frame,
}

impl Block {
    /// Where in the file something is that lies `at` bytes into the block.
    pub fn offset(&self, at: usize) -> u64 {
        if self.origin == Origin::File { self.base + at as u64 } else { self.base }
    }

    /// The block from `at` on, as another one.
    pub fn from(&self, at: usize, serial: u64) -> Self {
        Self { bytes: self.bytes.slice(at..), base: self.offset(at), serial, ..self.clone() }
    }
}
