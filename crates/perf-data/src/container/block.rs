//! A block of record bytes and where it comes from.

use bytes::Bytes;

/// A run of records, in memory or mapped. Clones share the bytes.
#[derive(Clone, Debug)]
pub struct Block {
    /// The records.
    pub bytes: Bytes,
    /// Index of the file within the recording: 0 is the main file; `data.N` files follow from 1, in reading order.
    pub source: u32,
    /// Offset of the first byte in that file; for a decompressed frame, the offset of the frame.
    pub base: u64,
    /// How the bytes were obtained.
    pub origin: Origin,
    /// Whether the bytes occupy heap memory, as those of pipes and decompressed frames do. Mapped bytes do not.
    pub in_memory: bool,
    /// Unique within the recording.
    pub serial: u64,
}

/// How the bytes of a block were obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Bytes as they are in the file.
    File,
    /// Frames that are [misframed](crate::container::misframed) in the file, with corrected headers.
    Reframed,
    /// Bytes decompressed from a frame.
    Frame,
}

impl Block {
    /// File offset of the byte at position `at` of the block; for a decompressed block, that of its frame.
    pub fn offset(&self, at: usize) -> u64 {
        if self.origin == Origin::File { self.base + at as u64 } else { self.base }
    }

    /// The rest of the block from `at` on, as a separate block.
    pub fn from(&self, at: usize, serial: u64) -> Self {
        Self { bytes: self.bytes.slice(at..), base: self.offset(at), serial, ..self.clone() }
    }
}
