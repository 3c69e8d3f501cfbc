//! Bytes with the place that they come from.

use bytes::Bytes;

/// A run of records, in memory or mapped, that many parts of the program may hold without copying.
#[derive(Clone, Debug)]
pub struct Block {
    /// The records.
    pub bytes: Bytes,
    /// Which of a recording's files: 0 the main one, else `data.N` in the order in which they are read, from 1.
    pub source: u32,
    /// Where in that file the first byte lies; for what was decompressed, where the frame lies that it comes from.
    pub base: u64,
    /// Whether the bytes were decompressed, so that offsets within them are not offsets of the file.
    pub decompressed: bool,
    /// Whether the bytes take memory of the program's own, as those of a pipe and of frames do and mapped ones do not.
    pub in_memory: bool,
    /// Different for each block of a recording.
    pub serial: u64,
}

impl Block {
    /// Where in the file something is that lies `at` bytes into the block.
    pub fn offset(&self, at: usize) -> u64 {
        if self.decompressed { self.base } else { self.base + at as u64 }
    }

    /// The block from `at` on, as another one.
    pub fn from(&self, at: usize, serial: u64) -> Self {
        Self { bytes: self.bytes.slice(at..), base: self.offset(at), serial, ..self.clone() }
    }
}
