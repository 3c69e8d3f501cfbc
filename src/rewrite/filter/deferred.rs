//! User call chains that come in records of their own: those of samples that stay, stay.

use crate::abi;
use crate::abi::record::callchain_deferred::CallchainDeferred;
use crate::abi::sample_view::SampleView;
use crate::rewrite::perf_version::deferred::cookie;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashSet;

/// The chains that samples wait for, by thread and cookie.
#[derive(Debug, Default)]
pub struct DeferredChains(HashSet<(u32, u64)>);

impl DeferredChains {
    /// Takes note of the chain that a sample waits for, if it does.
    pub fn wanted_by(&mut self, sample: &SampleView<'_>) {
        if let Some(cookie) = sample.callchain.as_ref().and_then(cookie) {
            self.0.insert((sample.task.map_or(0, |(_, tid)| tid), cookie));
        }
    }

    /// Whether a CALLCHAIN_DEFERRED has a chain that a sample waits for. One that cannot be read may.
    pub fn has(&self, meta: &Meta, raw: &Raw<'_>) -> bool {
        let (body, trailer) = meta.events.split(raw);
        let Ok((told, _)) = abi::parse::<CallchainDeferred>(body, raw.endian, ()) else { return true };
        self.0.contains(&(trailer.and_then(|trailer| trailer.task).map_or(0, |(_, tid)| tid), told.cookie))
    }
}
