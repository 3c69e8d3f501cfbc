//! Records gathered and compressed on several threads, in the order in which they come.
//!
//! What is written does not depend on how many threads there are: records are given out in turns of the same size, and how large
//! a frame may become is learned from turns that are over, always the same number of turns later.

use super::frames::{FrameOptions, FrameWriter};
use crate::abi::Endian;
use crate::error::{Error, Result};
use crate::threads::WorkerPool;
use std::io::{self, Write};

/// How many bytes of records go to a thread at a time.
const TURN: usize = 1 << 20;

/// How many turns are under way at once.
const TURNS: usize = 8;

/// Writes records, some of them in frames.
pub struct Compressing {
    /// Made here, as it knows whether there can be such frames; it tells what has been written, and compresses nothing.
    told: FrameWriter,
    /// What is gathered for the next turn.
    next: Turn,
    under_way: WorkerPool<Turn, io::Result<Turn>>,
    /// Turns that are over, whose memory is used again.
    spare: Vec<Turn>,
}

/// Records in their order.
#[derive(Default)]
struct Turn {
    records: Vec<u8>,
    /// How large each is, and whether it goes to a frame.
    sizes: Vec<(usize, bool)>,
    /// What is to be written, when the turn is over.
    written: Vec<u8>,
    /// At how many bytes a frame is full.
    target: usize,
    /// How many bytes were in frames, and how many these took.
    totals: (u64, u64),
}

impl Compressing {
    /// Begins without a record.
    ///
    /// # Errors
    /// Where zstd does not know the level or cannot get memory.
    pub fn new(options: FrameOptions, endian: Endian) -> Result<Self> {
        let told = FrameWriter::new(options, endian)?;
        let under_way = WorkerPool::new("compress", TURNS, move || {
            let mut writer = FrameWriter::new(options, endian);
            move |turn| {
                let over = match &mut writer {
                    Ok(writer) => compressed(turn, writer).map_err(|e| e.to_string()),
                    Err(e) => Err(e.to_string()),
                };
                over.map_err(io::Error::other)
            }
        });
        Ok(Self { told, next: Turn::default(), under_way, spare: Vec::new() })
    }

    /// Takes a record, to be written in a frame or as it is.
    ///
    /// # Errors
    /// What `out` says, to which records before it may be written now.
    pub fn record(&mut self, record: &[u8], in_frame: bool, out: &mut impl Write) -> Result<()> {
        self.next.records.extend_from_slice(record);
        self.next.sizes.push((record.len(), in_frame));
        if self.next.records.len() < TURN {
            return Ok(());
        }
        self.turn(out).map_err(Error::Output)
    }

    /// Writes all that has been taken.
    ///
    /// # Errors
    /// What `out` says.
    pub fn flush(&mut self, out: &mut impl Write) -> Result<()> {
        let flushed: io::Result<()> = (|| {
            if !self.next.sizes.is_empty() {
                self.turn(out)?;
            }
            while !self.under_way.is_empty() {
                self.over(out)?;
            }
            Ok(())
        })();
        flushed.map_err(Error::Output)
    }

    /// The feature COMPRESSED, as [`FrameWriter::feature`] has it.
    ///
    /// # Errors
    /// As there.
    pub fn feature(&self) -> Result<Vec<u8>> {
        self.told.feature()
    }

    /// Has what is gathered compressed, and waits for a turn that is over if many are under way.
    fn turn(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.under_way.is_full() {
            self.over(out)?;
        }
        let mut turn = std::mem::replace(&mut self.next, self.spare.pop().unwrap_or_default());
        turn.target = self.told.target();
        self.under_way.give(turn)
    }

    /// Writes what was first.
    fn over(&mut self, out: &mut impl Write) -> io::Result<()> {
        let Some(turn) = self.under_way.next_result() else { return Ok(()) };
        let mut turn = turn?;
        out.write_all(&turn.written)?;
        self.told.learn(turn.target, turn.totals);
        turn.records.clear();
        turn.sizes.clear();
        turn.written.clear();
        self.spare.push(turn);
        Ok(())
    }
}

fn compressed(mut turn: Turn, writer: &mut FrameWriter) -> Result<Turn> {
    writer.begin_turn(turn.target);
    let mut rest = &turn.records[..];
    for &(size, in_frame) in &turn.sizes {
        let (record, behind) = rest.split_at(size);
        rest = behind;
        if in_frame {
            writer.record(record, &mut turn.written)?;
        } else {
            writer.flush(&mut turn.written)?;
            turn.written.extend_from_slice(record);
        }
    }
    writer.flush(&mut turn.written)?;
    (turn.target, turn.totals) = (writer.target(), writer.totals());
    Ok(turn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::record::compressed::compressed_bytes;
    use crate::container::limits::Limits;
    use crate::container::read::frames::Decompressor;
    use crate::container::walk::{Step, step};
    use std::io::ErrorKind;

    /// A record of a type and size; each is another one.
    fn record(kind: u8, len: usize, number: u64) -> Vec<u8> {
        let mut bytes = vec![kind, 0, 0, 0, 0, 0, len as u8, (len >> 8) as u8];
        bytes.extend(number.to_le_bytes());
        bytes.resize(len, 0);
        bytes
    }

    fn written(out: &mut impl Write, flush_each: u64) -> Result<Compressing> {
        let mut writer = Compressing::new(FrameOptions::default(), Endian::Little)?;
        for number in 0..300_000 {
            // A plain one now and then, as perf's own.
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
    fn all_comes_in_its_order() {
        for flush_each in [u64::MAX, 30_000] {
            let mut out = Vec::new();
            let writer = written(&mut out, flush_each).unwrap();
            assert!(writer.feature().unwrap()[12] > 5, "a ratio");
            let (mut at, mut all, mut frames) = (0, Vec::new(), 0);
            let mut piece = Vec::new();
            while let Step::Record { len, .. } = step(&out, at, Endian::Little) {
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
            while let Step::Record { header, len, .. } = step(&all, at, Endian::Little) {
                assert_eq!(all[at + 8..at + 16], number.to_le_bytes());
                assert_eq!(header.kind.0 == 68, number % 1000 == 7);
                at += len;
                number += 1;
            }
            assert_eq!((number, at), (300_000, all.len()));
            assert!(frames >= 300, "{frames} frames: none goes across a plain record");
            let mut again = Vec::new();
            written(&mut again, flush_each).unwrap();
            assert!(again == out, "another time it is the same");
        }
    }

    #[test]
    fn an_output_that_fails_is_told() {
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
