//! User call chains that come in records of their own: those of samples that stay, stay.

use crate::abi::bytes::{Reader, Words};
use crate::abi::callchain::Context;
use crate::abi::sample_view::SampleView;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashSet;

/// What a chain is known by: thread and cookie.
pub type Chain = (u32, u64);

/// The chains that samples wait for.
#[derive(Debug, Default)]
pub struct DeferredChains(HashSet<Chain>);

impl DeferredChains {
    /// Takes note of the chain that a sample waits for, if it does.
    pub fn wanted_by(&mut self, sample: &SampleView<'_>) {
        if let Some(cookie) = sample.callchain.as_ref().and_then(cookie) {
            self.0.insert((sample.task.map_or(0, |(_, tid)| tid), cookie));
        }
    }

    /// Whether a CALLCHAIN_DEFERRED has a chain that a sample waits for. One that cannot be read may.
    pub fn has(&self, meta: &Meta, raw: &Raw<'_>) -> bool {
        chain_of(meta, raw).is_none_or(|(chain, _)| self.0.contains(&chain))
    }

    /// The chains.
    pub fn iter(&self) -> impl Iterator<Item = Chain> {
        self.0.iter().copied()
    }

    /// These chains too.
    pub fn extend(&mut self, others: &Self) {
        self.0.extend(&others.0);
    }
}

/// The cookie of the chain that is to follow one, which ends with the mark that says so.
pub fn cookie(chain: &Words<'_>) -> Option<u64> {
    let mut last = chain.iter().skip(chain.len().checked_sub(2)?);
    (last.next()? == Context::USER_DEFERRED.0).then(|| last.next()).flatten()
}

/// What a CALLCHAIN_DEFERRED has; `None` where it cannot be read.
pub fn chain_of<'a>(meta: &Meta, raw: &Raw<'a>) -> Option<(Chain, Words<'a>)> {
    let (body, trailer) = meta.events.split(raw);
    let mut reader = Reader::new(body, raw.endian());
    let (cookie, nr) = (reader.u64()?, reader.u64()?);
    let words = reader.words(nr)?;
    Some(((trailer.and_then(|trailer| trailer.task).map_or(0, |(_, tid)| tid), cookie), words))
}
