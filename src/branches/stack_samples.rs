//! Samples with a call chain and a branch stack, kept until the object that a profile is for has been selected: to unwind both together,
//! its code is needed.

use super::location::Location;
use bytes::Bytes;
use perf_data::container::spool::Spool;
use perf_data::error::{Error, Result};
use std::io::{self, Write};
use std::path::PathBuf;

/// Bytes that are kept in memory before they are moved to a temporary file.
const BUFFER: usize = 1 << 24;

/// Writes samples: the numbers of frames and branches, then both, leaf and newest branch first.
pub(super) struct StackWriter {
    spool_dir: Option<PathBuf>,
    buffer: Vec<u8>,
    spool: Option<Spool>,
}

impl StackWriter {
    /// With a directory for the temporary file.
    pub(super) fn new(spool_dir: Option<PathBuf>) -> Self {
        Self { spool_dir, buffer: Vec::new(), spool: None }
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub(super) fn add(&mut self, chain: &[Location], branches: &[(Location, Location)]) -> Result<()> {
        if chain.is_empty() || branches.is_empty() {
            return Ok(());
        }
        let counts = [chain.len() as u64, branches.len() as u64];
        let branches = branches.iter().flat_map(|(from, to)| [from.word(), to.word()]);
        let words = counts.into_iter().chain(chain.iter().map(|frame| frame.word())).chain(branches);
        words.for_each(|word| self.buffer.extend_from_slice(&word.to_le_bytes()));
        if self.buffer.len() >= BUFFER { self.flush().map_err(cannot_write) } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let spool = match &mut self.spool {
            Some(spool) => spool,
            none => none.insert(Spool::new(self.spool_dir.as_deref())?),
        };
        spool.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// The samples.
    ///
    /// # Errors
    /// If the temporary file cannot be written or read.
    pub(super) fn finish(mut self) -> Result<StackSamples> {
        if self.spool.is_none() {
            return Ok(StackSamples(self.buffer.into()));
        }
        self.flush().map_err(cannot_write)?;
        let bytes = self.spool.map(Spool::into_bytes).transpose().map_err(cannot_write)?;
        Ok(StackSamples(bytes.unwrap_or_default()))
    }
}

fn cannot_write(error: io::Error) -> Error {
    Error::io("temporary file", "cannot write samples with call chains")(error)
}

/// Receives the call chain, leaf first, and the branches, newest first, of a sample.
pub(super) type OnStack<'o, E> = dyn FnMut(&[E], &[(E, E)]) + 'o;

/// Samples with a call chain and a branch stack.
#[derive(Clone, Debug, Default)]
pub struct StackSamples(Bytes);

impl StackSamples {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Calls `on_sample` with the call chain, leaf first, and the branches, newest first, of each sample.
    pub(super) fn each(&self, on_sample: &mut OnStack<'_, Location>) {
        let mut words = self.0.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        let (mut chain, mut branches) = (Vec::new(), Vec::new());
        while let Some((frames, number)) = words.next().zip(words.next()) {
            let mut location = || Location::from_word(words.next().unwrap_or_default());
            chain.clear();
            chain.extend((0..frames).map(|_| location()));
            branches.clear();
            branches.extend((0..number).map(|_| (location(), location())));
            on_sample(&chain, &branches);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_from_memory_and_from_a_file() {
        let at = |offset| Location::new(3, offset);
        for number in [10, BUFFER / 32] {
            let mut writer = StackWriter::new(None);
            for sample in 0..number as u64 {
                writer.add(&[at(sample), Location::OUTSIDE], &[(at(1), at(2))]).unwrap();
                writer.add(&[], &[(at(1), at(2))]).unwrap();
                writer.add(&[at(1)], &[]).unwrap();
            }
            assert_eq!(writer.spool.is_some(), number > 10);
            let (samples, mut expected) = (writer.finish().unwrap(), 0);
            samples.each(&mut |chain, branches| {
                assert_eq!((chain, branches), (&[at(expected), Location::OUTSIDE][..], &[(at(1), at(2))][..]));
                expected += 1;
            });
            assert_eq!(expected, number as u64);
        }
    }
}
