//! Compresses records on several threads, preserving their order.
//!
//! The output does not depend on the number of threads: records are split into batches of a fixed size, and the size limit of
//! a frame is learned from finished batches, always with the same delay.

use super::frames::{FrameOptions, FrameWriter};
use crate::abi::Endian;
use crate::error::{Error, Result};
use crate::threads::WorkerPool;
use std::io::{self, Write};

/// Bytes of records in a batch.
const BATCH: usize = 1 << 20;

/// Maximum number of batches in flight.
const BATCHES: usize = 8;

/// Writes records, some of them in compressed frames.
pub(crate) struct Compressing {
    /// Validates the options, accumulates the totals and encodes the feature. It compresses nothing.
    summary: FrameWriter,
    /// Records of the next batch.
    next: CompressedBatch,
    pool: WorkerPool<CompressedBatch, io::Result<CompressedBatch>>,
    /// Finished batches, whose buffers are reused.
    spare: Vec<CompressedBatch>,
}

/// A batch of records in order.
#[derive(Default)]
struct CompressedBatch {
    records: Vec<u8>,
    /// Size of each record, and whether it is compressed.
    sizes: Vec<(usize, bool)>,
    /// The encoded output.
    written: Vec<u8>,
    /// Number of plain bytes at which a frame is full.
    target: usize,
    /// Bytes before and after compression.
    totals: (u64, u64),
}

impl Compressing {
    /// Creates a writer without records.
    ///
    /// # Errors
    /// If zstd rejects the level or cannot allocate memory.
    pub(crate) fn new(options: FrameOptions, endian: Endian) -> Result<Self> {
        let summary = FrameWriter::new(options, endian)?;
        let pool = WorkerPool::new("compress", BATCHES, move || {
            let mut writer = FrameWriter::new(options, endian);
            move |batch| {
                let result = match &mut writer {
                    Ok(writer) => compressed(batch, writer).map_err(|e| e.to_string()),
                    Err(e) => Err(e.to_string()),
                };
                result.map_err(io::Error::other)
            }
        });
        Ok(Self { summary, next: CompressedBatch::default(), pool, spare: Vec::new() })
    }

    /// Adds a record, to be compressed or written as it is.
    ///
    /// # Errors
    /// Errors of `out`, to which earlier records may be written.
    pub(crate) fn record(&mut self, record: &[u8], in_frame: bool, out: &mut impl Write) -> Result<()> {
        self.next.records.extend_from_slice(record);
        self.next.sizes.push((record.len(), in_frame));
        if self.next.records.len() < BATCH {
            return Ok(());
        }
        self.submit_batch(out).map_err(Error::Output)
    }

    /// Writes all records added so far.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn flush(&mut self, out: &mut impl Write) -> Result<()> {
        let flushed: io::Result<()> = (|| {
            if !self.next.sizes.is_empty() {
                self.submit_batch(out)?;
            }
            while !self.pool.is_empty() {
                self.finish_oldest(out)?;
            }
            Ok(())
        })();
        flushed.map_err(Error::Output)
    }

    /// The feature COMPRESSED, see [`FrameWriter::feature`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn feature(&self) -> Result<Vec<u8>> {
        self.summary.feature()
    }

    /// Submits the batch for compression; waits for the oldest one if too many are in flight.
    fn submit_batch(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.pool.is_full() {
            self.finish_oldest(out)?;
        }
        let mut batch = std::mem::replace(&mut self.next, self.spare.pop().unwrap_or_default());
        batch.target = self.summary.target();
        self.pool.give(batch);
        Ok(())
    }

    /// Waits for the oldest batch and writes it.
    fn finish_oldest(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some(batch) = self.pool.next_result() else { return Ok(()) };
        let mut batch = batch?;
        out.write_all(&batch.written)?;
        self.summary.learn(batch.target, batch.totals);
        batch.records.clear();
        batch.sizes.clear();
        batch.written.clear();
        self.spare.push(batch);
        Ok(())
    }
}

fn compressed(mut batch: CompressedBatch, writer: &mut FrameWriter) -> Result<CompressedBatch> {
    writer.begin_batch(batch.target);
    let mut rest = &batch.records[..];
    for &(size, in_frame) in &batch.sizes {
        let (record, after) = rest.split_at(size);
        rest = after;
        if in_frame {
            writer.record(record, &mut batch.written)?;
        } else {
            writer.flush(&mut batch.written)?;
            batch.written.extend_from_slice(record);
        }
    }
    writer.flush(&mut batch.written)?;
    (batch.target, batch.totals) = (writer.target(), writer.totals());
    Ok(batch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::compressed::compressed_bytes;
    use crate::container::limits::Limits;
    use crate::container::read::frames::Decompressor;
    use crate::container::walk::{WalkStep, step};
    use std::io::ErrorKind;

    /// A record of a type and size, with a number.
    fn record(kind: u8, len: usize, number: u64) -> Vec<u8> {
        let mut bytes = vec![kind, 0, 0, 0, 0, 0, len as u8, (len >> 8) as u8];
        bytes.extend(number.to_le_bytes());
        bytes.resize(len, 0);
        bytes
    }

    fn written(out: &mut impl Write, flush_each: u64) -> Result<Compressing> {
        let mut writer = Compressing::new(FrameOptions::default(), Endian::Little)?;
        for number in 0..300_000 {
            // A plain record from time to time, as perf's own.
            let kind = if number % 1000 == 7 { 68 } else { 9 };
            writer.record(&record(kind, 40 + number as usize % 9 * 8, number), kind == 9, out)?;
            if number % flush_each == flush_each - 1 {
                writer.flush(out)?;
            }
        }
        writer.flush(out)?;
        Ok(writer)
    }

    #[test]
    fn records_are_written_in_order() {
        for flush_each in [u64::MAX, 30_000] {
            let mut out = Vec::new();
            let writer = written(&mut out, flush_each).unwrap();
            assert!(writer.feature().unwrap()[12] > 5, "a ratio");
            let (mut at, mut all, mut frames) = (0, Vec::new(), 0);
            let mut piece = Vec::new();
            while let WalkStep::Record { len, .. } = step(&out, at, Endian::Little) {
                let record = &out[at..at + len];
                at += len;
                let Some(compressed) = compressed_bytes(record, Endian::Little) else {
                    all.extend_from_slice(record);
                    continue;
                };
                frames += 1;
                let mut decompressor = Decompressor::new(Endian::Little, Limits::default()).unwrap();
                let mut pieces = decompressor.frame(compressed);
                while pieces.piece(&mut piece).unwrap() {
                    all.extend_from_slice(&piece);
                }
            }
            assert_eq!(at, out.len());
            let (mut at, mut number) = (0, 0_u64);
            while let WalkStep::Record { header, len, .. } = step(&all, at, Endian::Little) {
                assert_eq!(all[at + 8..at + 16], number.to_le_bytes());
                assert_eq!(header.kind.0 == 68, number % 1000 == 7);
                at += len;
                number += 1;
            }
            assert_eq!((number, at), (300_000, all.len()));
            assert!(frames >= 300, "{frames} frames: no frame spans a plain record");
            let mut second = Vec::new();
            written(&mut second, flush_each).unwrap();
            assert!(second == out, "a second run differs");
        }
    }

    #[test]
    fn output_errors_are_returned() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(bytes.len()).ok_or(ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for room in [0, 1 << 18] {
            let failed = written(&mut Full(room), u64::MAX).map(drop);
            assert!(matches!(failed, Err(Error::Output(e)) if e.kind() == ErrorKind::StorageFull));
        }
    }
}
