//! Frames of compressed records: COMPRESSED and COMPRESSED2.
//!
//! Each record contains a separate zstd frame with complete records, so it can be decompressed independently. perf reads
//! these as well as its own, which continue one stream.

use super::encoded;
use crate::abi;
use crate::abi::Endian;
use crate::abi::bytes::Integer;
use crate::abi::feature::compressed::{Compression, CompressionType};
use crate::abi::record::{Misc, RecordHeader, RecordType};
use crate::error::{Error, Result};
use std::io::{self, Write};
use zstd::bulk::Compressor;
use zstd::zstd_safe::compress_bound;

/// Options for compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameOptions {
    /// The type of record that contains a frame.
    pub kind: FrameKind,
    /// Level of zstd: 1 is fastest, 22 smallest.
    pub level: i32,
}

impl Default for FrameOptions {
    fn default() -> Self {
        Self { kind: FrameKind::Compressed, level: 3 }
    }
}

/// The type of record that contains a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// COMPRESSED. Since perf 5.2.
    Compressed,
    /// COMPRESSED2, padded to a multiple of 8 bytes. Since perf 6.16.
    Compressed2,
}

impl FrameKind {
    /// Maximum of compressed bytes in a record.
    const fn room(self) -> usize {
        match self {
            Self::Compressed => u16::MAX as usize - RecordHeader::SIZE,
            Self::Compressed2 => u16::MAX as usize / 8 * 8 - RecordHeader::SIZE - size_of::<u64>(),
        }
    }
}

/// Maximum of plain bytes in a frame, stored in the feature COMPRESSED. Close to perf's default.
pub const MMAP_LEN: usize = 512 << 10;

/// Buffers records and writes them in frames.
pub struct FrameWriter {
    options: FrameOptions,
    endian: Endian,
    compressor: Compressor<'static>,
    /// Records of the next frame.
    plain: Vec<u8>,
    /// Their sizes.
    sizes: Vec<usize>,
    compressed: Vec<u8>,
    /// Number of plain bytes at which a frame is written: as many as are likely to fit a record when compressed.
    target: usize,
    /// Whether the stream of the preceding frames must be ended first.
    ends_preceding_stream: bool,
    plain_total: u64,
    compressed_total: u64,
}

/// An empty block with the flag of the last block. perf's streams have no checksum after it.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

impl FrameWriter {
    /// Creates a writer without records.
    ///
    /// # Errors
    /// If zstd rejects the level or cannot allocate memory.
    pub fn new(options: FrameOptions, endian: Endian) -> Result<Self> {
        Ok(Self {
            options,
            endian,
            compressor: Compressor::new(options.level).map_err(Error::Output)?,
            plain: Vec::new(),
            sizes: Vec::new(),
            compressed: Vec::new(),
            target: MMAP_LEN / 4,
            ends_preceding_stream: false,
            plain_total: 0,
            compressed_total: 0,
        })
    }

    /// Continues after frames of another writer whose stream has not ended: the next frame begins with the end of that stream.
    pub fn end_preceding_stream(&mut self) {
        self.ends_preceding_stream = true;
    }

    /// Adds a record; writes a frame if it is full.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn record(&mut self, record: &[u8], out: &mut impl Write) -> Result<()> {
        if self.plain.len() + record.len() > self.target {
            self.flush(out)?;
        }
        self.plain.extend_from_slice(record);
        self.sizes.push(record.len());
        Ok(())
    }

    /// Writes the buffered records, so that an uncompressed record can follow.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn flush(&mut self, out: &mut impl Write) -> Result<()> {
        let (plain, mut sizes) = (std::mem::take(&mut self.plain), std::mem::take(&mut self.sizes));
        let written = self.frames(&plain, &sizes, out);
        sizes.clear();
        (self.plain, self.sizes) = (plain, sizes);
        self.plain.clear();
        written.map_err(Error::Output)
    }

    /// Writes records in one frame. Splits them if they do not fit; writes a single record that does not fit uncompressed.
    fn frames(&mut self, plain: &[u8], sizes: &[usize], out: &mut impl Write) -> io::Result<()> {
        if plain.is_empty() {
            return Ok(());
        }
        self.compressed.clear();
        self.compressed.reserve(compress_bound(plain.len()));
        let len = self.compressor.compress_to_buffer(plain, &mut self.compressed)?;
        // The end of a preceding stream may have to fit, too.
        let room = self.options.kind.room() - LAST_BLOCK.len();
        if len <= room {
            if len < room / 2 {
                self.target = (self.target * 2).min(MMAP_LEN);
            }
            return self.write(plain.len(), out);
        }
        if sizes.len() == 1 {
            return out.write_all(plain);
        }
        self.target = (self.target / 2).max(room);
        let (first, second) = sizes.split_at(sizes.len() / 2);
        let middle = first.iter().sum();
        self.frames(&plain[..middle], first, out)?;
        self.frames(&plain[middle..], second, out)
    }

    /// Writes the compressed bytes as a record.
    fn write(&mut self, plain: usize, out: &mut impl Write) -> io::Result<()> {
        if std::mem::take(&mut self.ends_preceding_stream) {
            self.compressed.splice(0..0, LAST_BLOCK);
        }
        let len = self.compressed.len();
        self.plain_total += plain as u64;
        self.compressed_total += len as u64;
        let (kind, size, data_size) = match self.options.kind {
            FrameKind::Compressed => (RecordType::COMPRESSED, RecordHeader::SIZE + len, None),
            FrameKind::Compressed2 => {
                let size = (RecordHeader::SIZE + size_of::<u64>() + len).next_multiple_of(8);
                (RecordType::COMPRESSED2, size, Some(len as u64))
            }
        };
        let header = RecordHeader { kind, misc: Misc::empty(), size: size as u16 };
        out.write_all(&header.to_bytes(self.endian))?;
        if let Some(data_size) = data_size {
            out.write_all(&data_size.to_bytes(self.endian))?;
            self.compressed.resize(size - RecordHeader::SIZE - size_of::<u64>(), 0);
        }
        out.write_all(&self.compressed)
    }

    /// Begins a batch with the given number of bytes at which a frame is full.
    pub(super) fn begin_batch(&mut self, target: usize) {
        (self.target, self.plain_total, self.compressed_total) = (target, 0, 0);
    }

    /// Number of plain bytes at which a frame is full.
    pub(super) fn target(&self) -> usize {
        self.target
    }

    /// Bytes before and after compression.
    pub(super) fn totals(&self) -> (u64, u64) {
        (self.plain_total, self.compressed_total)
    }

    /// Takes over the totals of another writer.
    pub(super) fn learn(&mut self, target: usize, (plain, compressed): (u64, u64)) {
        self.target = target;
        self.plain_total += plain;
        self.compressed_total += compressed;
    }

    /// The feature COMPRESSED with the compression ratio. Without it perf does not read frames.
    ///
    /// # Errors
    /// None in practice: the bytes are written to memory.
    pub fn feature(&self) -> Result<Vec<u8>> {
        let ratio = (self.plain_total + self.compressed_total / 2).checked_div(self.compressed_total).unwrap_or(0);
        let feature = Compression {
            version: 0,
            kind: CompressionType::ZSTD,
            level: self.options.level as u32,
            ratio: ratio as u32,
            mmap_len: MMAP_LEN as u32,
        };
        encoded(abi::to_bytes(&feature, self.endian))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::compressed::compressed_bytes;
    use crate::container::limits::Limits;
    use crate::container::read::frames::Decompressor;
    use crate::container::walk::{WalkStep, step};

    /// A record of a size, of bytes that compress (`noise` 0) or do not.
    fn record(len: usize, noise: u64) -> Vec<u8> {
        let mut bytes = vec![9, 0, 0, 0, 0, 0, len as u8, (len >> 8) as u8];
        let mut state = noise;
        bytes.extend((8..len).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(noise);
            (state >> 56) as u8
        }));
        bytes
    }

    fn written(records: &[Vec<u8>], kind: FrameKind) -> (Vec<u8>, Vec<u8>) {
        let mut out = Vec::new();
        let mut writer = FrameWriter::new(FrameOptions { kind, level: 1 }, Endian::Little).unwrap();
        records.iter().for_each(|record| writer.record(record, &mut out).unwrap());
        writer.flush(&mut out).unwrap();
        (out, writer.feature().unwrap())
    }

    /// Reads each frame independently; returns the records, and the numbers of frames and of uncompressed records.
    fn read(bytes: &[u8]) -> (Vec<u8>, usize, usize) {
        let (mut at, mut all, mut frames, mut plain) = (0, Vec::new(), 0, 0);
        while let WalkStep::Record { header, len, .. } = step(bytes, at, Endian::Little) {
            let record = &bytes[at..at + len];
            at += len;
            let Some(compressed) = compressed_bytes(record, Endian::Little) else {
                plain += 1;
                all.extend_from_slice(record);
                continue;
            };
            frames += 1;
            assert!(header.kind == RecordType::COMPRESSED || len.is_multiple_of(8));
            let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
            let (mut pieces, before, mut piece) = (decompressor.frame(compressed), all.len(), Vec::new());
            while pieces.piece(&mut piece).unwrap() {
                all.extend_from_slice(&piece);
            }
            assert!(all.len() - before <= MMAP_LEN);
            assert_eq!(decompressor.rest(), 0);
        }
        assert_eq!(at, bytes.len());
        (all, frames, plain)
    }

    #[test]
    fn each_frame_is_independent() {
        let records: Vec<_> = (0..20_000).map(|i| record(40 + i % 50 * 8, 0)).collect();
        for kind in [FrameKind::Compressed, FrameKind::Compressed2] {
            let (bytes, feature) = written(&records, kind);
            let (all, frames, plain) = read(&bytes);
            assert!(all == records.concat());
            assert!((2..60).contains(&frames), "{frames} frames");
            assert_eq!(plain, 0);
            assert!(feature[12] > 10, "a ratio of {}", feature[12]);
        }
    }

    #[test]
    fn incompressible_records_take_more_frames_or_none() {
        let mut records: Vec<_> = (1..500).map(|i| record(2000, i)).collect();
        records.push(record(0xfff8, 7));
        for kind in [FrameKind::Compressed, FrameKind::Compressed2] {
            let (bytes, _) = written(&records, kind);
            let (all, frames, plain) = read(&bytes);
            assert!(all == records.concat());
            assert!(frames > 10, "{frames} frames");
            assert_eq!(plain, 1);
        }
    }

    #[test]
    fn no_records_give_no_frame() {
        assert!(written(&[], FrameKind::Compressed).0.is_empty());
    }
}
