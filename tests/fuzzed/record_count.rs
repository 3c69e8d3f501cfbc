//! A sink that counts records.

use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;

/// Counts records.
#[derive(Default)]
pub struct RecordCount(pub u64);

impl Sink for RecordCount {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        self.0 += 1;
        Ok(())
    }
}
