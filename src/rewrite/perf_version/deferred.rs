//! User call chains that come in records of their own.

use crate::abi::bytes::Words;
use crate::abi::callchain::Context;
use crate::abi::record::RecordType;
use crate::abi::record::callchain_deferred::CallchainDeferred;
use crate::abi::{self};
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use hashbrown::HashMap;

/// All of them, by thread and cookie.
#[derive(Debug, Default)]
pub struct Deferred {
    chains: HashMap<(u32, u64), Box<[u64]>>,
}

impl Deferred {
    /// The chain that a sample of a thread waits for.
    pub fn of(&self, tid: u32, cookie: u64) -> &[u64] {
        self.chains.get(&(tid, cookie)).map_or(&[], |chain| chain)
    }
}

/// The cookie of the chain that is to follow one, which ends with the mark that says so.
pub fn cookie(chain: &Words<'_>) -> Option<u64> {
    let mut last = chain.iter().skip(chain.len().checked_sub(2)?);
    (last.next()? == Context::USER_DEFERRED.0).then(|| last.next()).flatten()
}

/// Keeps the chains that it sees.
impl Sink for Deferred {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header.kind == RecordType::CALLCHAIN_DEFERRED {
            let (body, trailer) = meta.events.split(raw);
            if let Ok((told, _)) = abi::parse::<CallchainDeferred>(body, raw.endian, ()) {
                let tid = trailer.and_then(|trailer| trailer.task).map_or(0, |(_, tid)| tid);
                self.chains.insert((tid, told.cookie), told.ips.into());
            }
        }
        Ok(())
    }
}
