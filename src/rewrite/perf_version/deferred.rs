//! Deferred user call chains (CALLCHAIN_DEFERRED records).

use crate::abi::bytes::Words;
use crate::abi::record::RecordType;
use crate::container::spool::Spool;
use crate::error::{Error, Result};
use crate::rewrite::filter::deferred::{Chain, chain_of};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use bytes::Bytes;
use hashbrown::HashMap;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::PathBuf;

/// All deferred user call chains of a recording, stored in a temporary file: there may be as many as samples.
#[derive(Default)]
pub struct Deferred {
    spool_dir: Option<PathBuf>,
    /// Position of each chain in the file.
    places: HashMap<Chain, Range<u64>>,
    /// The file, while it is written.
    out: Option<BufWriter<Spool>>,
    end: u64,
    /// The file's contents, once complete.
    chains: Bytes,
}

impl Deferred {
    /// Creates an empty store whose temporary file is in that directory.
    pub fn new(spool_dir: Option<PathBuf>) -> Self {
        Self { spool_dir, ..Self::default() }
    }

    /// The deferred chain of a thread's sample; empty if there is none.
    pub fn of(&self, tid: u32, cookie: u64) -> Vec<u64> {
        let place = self.places.get(&(tid, cookie));
        let chain = place.and_then(|place| self.chains.get(place.start as usize..place.end as usize));
        chain.unwrap_or_default().as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }

    fn add(&mut self, chain: Chain, words: Words<'_>) -> io::Result<()> {
        let out = match &mut self.out {
            Some(out) => out,
            None => self.out.insert(BufWriter::new(Spool::new(self.spool_dir.as_deref())?)),
        };
        words.iter().try_for_each(|word| out.write_all(&word.to_ne_bytes()))?;
        let start = self.end;
        self.end += 8 * words.len() as u64;
        self.places.insert(chain, start..self.end);
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(out) = self.out.take() {
            self.chains = out.into_inner().map_err(|e| e.into_error())?.into_bytes()?;
        }
        Ok(())
    }
}

/// Stores the chains of the CALLCHAIN_DEFERRED records.
impl Sink for Deferred {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind == RecordType::CALLCHAIN_DEFERRED
            && let Some((chain, words)) = chain_of(meta, raw)
        {
            self.add(chain, words).map_err(Error::io("temporary file", "cannot write call chains"))?;
        }
        Ok(())
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        self.finish().map_err(Error::io("temporary file", "cannot write call chains"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::Endian;
    use crate::abi::bytes::Reader;

    #[test]
    fn reads_stored_chains_back() {
        let mut deferred = Deferred::default();
        let bytes: Vec<u8> = [7_u64, 8, 9].iter().flat_map(|word| word.to_be_bytes()).collect();
        let words = |count| Reader::new(&bytes, Endian::Big).words(count).unwrap();
        [((1, 5), 2), ((2, 5), 3), ((1, 5), 1), ((3, 5), 0)]
            .into_iter()
            .for_each(|(chain, count)| deferred.add(chain, words(count)).unwrap());
        deferred.finish().unwrap();
        let found = [1, 2, 3, 4].map(|tid| deferred.of(tid, 5));
        assert_eq!(found, [vec![7], vec![7, 8, 9], vec![], vec![]], "the later of two chains wins");
    }
}
