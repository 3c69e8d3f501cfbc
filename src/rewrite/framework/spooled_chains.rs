//! Call chains that a pre-scan finds, until the samples that they belong to are written.

use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::abi::bytes::Words;
use perf_data::container::spool::Spool;
use perf_data::error::{Error, Result};
use std::hash::Hash;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::PathBuf;

/// Call chains by key, stored in a temporary file: there may be as many as samples.
pub(crate) struct SpooledChains<K> {
    spool_dir: Option<PathBuf>,
    /// Position of each chain in the file.
    ranges: HashMap<K, Range<u64>>,
    /// The file, while it is written.
    out: Option<BufWriter<Spool>>,
    end: u64,
    /// The file's contents, once complete.
    chains: Bytes,
}

impl<K> Default for SpooledChains<K> {
    fn default() -> Self {
        Self::new(None)
    }
}

impl<K> SpooledChains<K> {
    /// Creates an empty store whose temporary file is in that directory.
    pub(crate) fn new(spool_dir: Option<PathBuf>) -> Self {
        Self { spool_dir, ranges: HashMap::new(), out: None, end: 0, chains: Bytes::new() }
    }

    /// Ends the file: from now on, chains can be read.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let bytes = out.into_inner().map_err(|e| e.into_error()).and_then(Spool::into_bytes);
        self.chains = bytes.map_err(Error::io("temporary file", "cannot write call chains"))?;
        Ok(())
    }
}

impl<K: Eq + Hash> SpooledChains<K> {
    /// Adds a chain, or replaces the one of this key.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn add(&mut self, key: K, words: Words<'_>) -> Result<()> {
        self.write(key, words).map_err(Error::io("temporary file", "cannot write call chains"))
    }

    fn write(&mut self, key: K, words: Words<'_>) -> io::Result<()> {
        let out = match &mut self.out {
            Some(out) => out,
            None => self.out.insert(BufWriter::new(Spool::new(self.spool_dir.as_deref())?)),
        };
        words.iter().try_for_each(|word| out.write_all(&word.to_ne_bytes()))?;
        let start = self.end;
        self.end += 8 * words.len() as u64;
        self.ranges.insert(key, start..self.end);
        Ok(())
    }

    /// The chain of a key.
    pub(crate) fn get(&self, key: &K) -> Option<impl ExactSizeIterator<Item = u64>> {
        let range = self.ranges.get(key)?;
        let chain = self.chains.get(range.start as usize..range.end as usize)?;
        Some(chain.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::Endian;
    use perf_data::abi::bytes::ByteReader;

    #[test]
    fn reads_stored_chains_back() {
        let mut chains = SpooledChains::default();
        let bytes: Vec<u8> = [7_u64, 8, 9].iter().flat_map(|word| word.to_be_bytes()).collect();
        let words = |count| ByteReader::new(&bytes, Endian::Big).words(count).unwrap();
        [((1, 5), 2), ((2, 5), 3), ((1, 5), 1), ((3, 5), 0)]
            .into_iter()
            .for_each(|(chain, count)| chains.add(chain, words(count)).unwrap());
        chains.finish().unwrap();
        let stored = [1, 2, 3, 4].map(|tid| chains.get(&(tid, 5)).map(Vec::from_iter));
        assert_eq!(stored, [Some(vec![7]), Some(vec![7, 8, 9]), Some(vec![]), None], "the later of two chains wins");
    }
}
