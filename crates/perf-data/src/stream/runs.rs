//! Sorted runs of record times and locations in temporary files.

use super::record_position::RecordPosition;
use crate::container::spool::Spool;
use bytes::Bytes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Time and location of a record. Sorts by time, then by location, which makes any sort stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunEntry {
    /// Nanoseconds.
    pub time: u64,
    /// Location.
    pub position: RecordPosition,
}

impl RunEntry {
    const SIZE: usize = 16;

    fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        bytes[..8].copy_from_slice(&self.time.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.position.bits().to_ne_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let word = u128::from_ne_bytes(bytes);
        let (first, second) = ((word as u64), (word >> 64) as u64);
        if cfg!(target_endian = "little") {
            Self { time: first, position: RecordPosition::from_bits(second) }
        } else {
            Self { time: second, position: RecordPosition::from_bits(first) }
        }
    }
}

/// A sorted run in a temporary file.
struct Run {
    bytes: Bytes,
    at: usize,
}

impl Run {
    fn peek(&self) -> Option<RunEntry> {
        Some(RunEntry::from_bytes(*self.bytes.get(self.at..)?.first_chunk()?))
    }
}

/// Sorted runs, merged while reading.
#[derive(Default)]
pub(crate) struct Runs {
    runs: Vec<Run>,
    /// The first remaining entry of each run.
    heads: BinaryHeap<Reverse<(RunEntry, usize)>>,
}

impl Runs {
    /// Writes sorted entries to a temporary file.
    ///
    /// # Errors
    /// I/O errors.
    pub(crate) fn add(&mut self, entries: &[RunEntry], spool_dir: Option<&Path>) -> io::Result<()> {
        let mut out = BufWriter::new(Spool::new(spool_dir)?);
        for entry in entries {
            out.write_all(&entry.to_bytes())?;
        }
        let bytes = out.into_inner().map_err(|e| e.into_error())?.into_bytes()?;
        let run = Run { bytes, at: 0 };
        self.heads.extend(run.peek().map(|head| Reverse((head, self.runs.len()))));
        self.runs.push(run);
        Ok(())
    }

    /// The smallest entry.
    pub(crate) fn peek(&self) -> Option<RunEntry> {
        self.heads.peek().map(|Reverse((entry, _))| *entry)
    }

    /// Removes the smallest entry.
    pub(crate) fn pop(&mut self) -> Option<RunEntry> {
        let Reverse((entry, index)) = self.heads.pop()?;
        let run = &mut self.runs[index];
        run.at += RunEntry::SIZE;
        self.heads.extend(run.peek().map(|head| Reverse((head, index))));
        if self.heads.is_empty() {
            self.runs.clear();
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_merged_by_time_then_place() {
        let entry = |time, position| RunEntry { time, position: RecordPosition::from_bits(position) };
        let mut runs = Runs::default();
        runs.add(&[entry(1, 5), entry(3, 1), entry(3, 9)], None).unwrap();
        runs.add(&[], None).unwrap();
        runs.add(&[entry(2, 7), entry(3, 4)], None).unwrap();
        let merged: Vec<_> = std::iter::from_fn(|| runs.pop()).map(|e| (e.time, e.position.bits())).collect();
        assert_eq!(merged, [(1, 5), (2, 7), (3, 1), (3, 4), (3, 9)]);
        assert!(runs.peek().is_none());
    }
}
