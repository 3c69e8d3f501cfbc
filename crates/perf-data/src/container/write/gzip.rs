//! gzip on several threads.
//!
//! Blocks are compressed independently, but are parts of one stream, which every reader supports: each ends at a byte boundary (a
//! sync flush), and refers to the end of the one before. The output does not depend on the number of threads.

use crate::threads::{WorkerPool, workers};
use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use std::io::{self, Write};

/// Bytes of a block: larger ones would need more memory, smaller ones would compress worse.
const BLOCK: usize = 128 << 10;

/// How far deflate refers back.
const WINDOW: usize = 32 << 10;

/// A writer that compresses its input, and writes the result to another one.
pub(super) struct GzipWriter<'a> {
    out: &'a mut (dyn Write + Send),
    pool: WorkerPool<Block, io::Result<Compressed>>,
    /// The block that is not yet full.
    data: Vec<u8>,
    /// The end of the block before.
    before: Vec<u8>,
    crc: Crc,
}

/// A block to be compressed.
struct Block {
    data: Vec<u8>,
    before: Vec<u8>,
    is_last: bool,
}

/// A compressed block.
struct Compressed {
    bytes: Vec<u8>,
    /// Checksum of the data.
    crc: Crc,
}

impl<'a> GzipWriter<'a> {
    /// Writes the header.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(super) fn new(out: &'a mut (dyn Write + Send), level: u32) -> io::Result<Self> {
        let speed = match level {
            0 | 1 => 4,
            9.. => 2,
            _ => 0,
        };
        // Magic, deflate, no flags, no time, speed, unknown system.
        out.write_all(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, speed, 255])?;
        let pool = WorkerPool::new("gzip", 2 * workers(), move || move |block| compress(level, &block));
        Ok(Self { out, pool, data: Vec::with_capacity(BLOCK), before: Vec::new(), crc: Crc::new() })
    }

    /// Writes what is left, and the end of the stream.
    ///
    /// # Errors
    /// Errors of the output.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.submit(true)?;
        while !self.pool.is_empty() {
            self.write_next()?;
        }
        self.out.write_all(&[self.crc.sum().to_le_bytes(), self.crc.amount().to_le_bytes()].concat())
    }

    fn submit(&mut self, is_last: bool) -> io::Result<()> {
        if self.pool.is_full() {
            self.write_next()?;
        }
        let data = std::mem::replace(&mut self.data, Vec::with_capacity(if is_last { 0 } else { BLOCK }));
        let end = data[data.len().saturating_sub(WINDOW)..].to_vec();
        let before = std::mem::replace(&mut self.before, end);
        self.pool.give(Block { data, before, is_last });
        Ok(())
    }

    fn write_next(&mut self) -> io::Result<()> {
        let Some(compressed) = self.pool.next_result() else { return Ok(()) };
        let Compressed { bytes, crc } = compressed?;
        self.crc.combine(&crc);
        self.out.write_all(&bytes)
    }
}

impl Write for GzipWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.data.len() == BLOCK {
            self.submit(false)?;
        }
        let accepted = bytes.len().min(BLOCK - self.data.len());
        self.data.extend_from_slice(&bytes[..accepted]);
        Ok(accepted)
    }

    /// Blocks are written when they are full.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn compress(level: u32, Block { data, before, is_last }: &Block) -> io::Result<Compressed> {
    // A new one for each block: that of another block, even reset, would not always compress it to the same bytes.
    let mut deflate = Compress::new(Compression::new(level), false);
    if !before.is_empty() {
        deflate.set_dictionary(before)?;
    }
    let flush = if *is_last { FlushCompress::Finish } else { FlushCompress::Sync };
    let mut bytes = Vec::with_capacity(data.len() / 2 + 64);
    loop {
        let rest = &data[deflate.total_in() as usize..];
        let status = deflate.compress_vec(rest, &mut bytes, flush)?;
        let is_complete = if *is_last { status == Status::StreamEnd } else { bytes.len() < bytes.capacity() };
        if is_complete && deflate.total_in() as usize == data.len() {
            break;
        }
        bytes.reserve(bytes.capacity());
    }
    let mut crc = Crc::new();
    crc.update(data);
    Ok(Compressed { bytes, crc })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use proptest::prelude::*;
    use std::io::Read;

    fn compressed(data: &[u8], level: u32, piece: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut gzip = GzipWriter::new(&mut out, level).unwrap();
        data.chunks(piece).for_each(|piece| gzip.write_all(piece).unwrap());
        gzip.finish().unwrap();
        out
    }

    /// Reads one member, and nothing after it.
    fn decompressed(bytes: &[u8]) -> Vec<u8> {
        let mut decoder = GzDecoder::new(bytes);
        let mut data = Vec::new();
        decoder.read_to_end(&mut data).unwrap();
        assert!(decoder.into_inner().is_empty(), "one member");
        data
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn data_of_any_length_and_kind_comes_back(
            len in prop_oneof![0..10_usize, BLOCK - 2..BLOCK + 3, 2 * BLOCK - 1..2 * BLOCK + 2, 0..5 * BLOCK],
            level in 0..10_u32, spread in 0..64_u32, piece in 1..200_000_usize
        ) {
            // From random bytes to zeros.
            let mut state = 1_u64;
            let byte = |_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33 >> spread) as u8
            };
            let data: Vec<u8> = (0..len).map(byte).collect();
            let bytes = compressed(&data, level, piece);
            prop_assert!(decompressed(&bytes) == data);
            prop_assert!(bytes == compressed(&data, level, 1 << 16), "the output depends on the pieces that were written");
        }
    }

    #[test]
    fn blocks_refer_to_the_ones_before() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let period: Vec<u8> = (0..WINDOW / 2).map(|_| random()).collect();
        let data = period.repeat(4 * BLOCK / period.len());
        let bytes = compressed(&data, 6, BLOCK);
        assert!(decompressed(&bytes) == data);
        assert!(bytes.len() < 2 * period.len(), "{} bytes", bytes.len());
    }
}
