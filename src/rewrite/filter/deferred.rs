//! Keeps the deferred user call chains (CALLCHAIN_DEFERRED records) of kept samples.

use hashbrown::HashSet;
use perf_data::abi::bytes::{ByteReader, Words};
use perf_data::abi::sample::callchain::deferred_cookie;
use perf_data::abi::sample::view::SampleView;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Identifies a deferred chain: thread and cookie.
pub(crate) type Chain = (u32, u64);

/// The deferred chains that samples refer to.
#[derive(Debug, Default)]
pub(crate) struct DeferredChains(HashSet<Chain>);

impl DeferredChains {
    /// Adds the chain that a sample refers to, if any.
    pub(crate) fn wanted_by(&mut self, sample: &SampleView<'_>) {
        if let Some(cookie) = sample.callchain.and_then(deferred_cookie) {
            self.0.insert((sample.task.map_or(0, |(_, tid)| tid), cookie));
        }
    }

    /// Whether a sample refers to the chain of a CALLCHAIN_DEFERRED record. True for a malformed record.
    pub(crate) fn has(&self, meta: &Meta, raw: &Raw<'_>) -> bool {
        deferred_chain(meta, raw).is_none_or(|(chain, _)| self.0.contains(&chain))
    }

    /// Iterates over the chains.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Chain> {
        self.0.iter().copied()
    }

    /// Adds the chains of another set.
    pub(crate) fn extend(&mut self, others: &Self) {
        self.0.extend(&others.0);
    }
}

/// Decodes a CALLCHAIN_DEFERRED record; `None` if it is malformed.
pub(crate) fn deferred_chain<'a>(meta: &Meta, raw: &Raw<'a>) -> Option<(Chain, Words<'a>)> {
    let (body, trailer) = meta.events.split(raw);
    let mut reader = ByteReader::new(body, raw.endian());
    let (cookie, nr) = (reader.u64()?, reader.u64()?);
    let words = reader.words(nr)?;
    Some(((trailer.and_then(|trailer| trailer.task).map_or(0, |(_, tid)| tid), cookie), words))
}
