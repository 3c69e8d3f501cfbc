//! Deferred user call chains (CALLCHAIN_DEFERRED records).

use crate::rewrite::filter::deferred::{Chain, deferred_chain};
use crate::rewrite::framework::spooled_chains::SpooledChains;
use perf_data::abi::record::RecordType;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// All deferred user call chains of a recording.
pub(crate) type Deferred = SpooledChains<Chain>;

/// Stores the chains of the CALLCHAIN_DEFERRED records.
impl Sink for Deferred {
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if raw.header().kind == RecordType::CALLCHAIN_DEFERRED
            && let Some((chain, words)) = deferred_chain(meta, raw)
        {
            self.add(chain, words)?;
        }
        Ok(())
    }

    fn end(&mut self, _: &Meta) -> Result<()> {
        self.finish()
    }
}
