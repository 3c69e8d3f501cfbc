//! A sink that counts records.

use perfconv::stream::Sink;
use perfconv::stream::meta::Meta;
use perfconv::stream::raw::Raw;

/// Counts records.
#[derive(Default)]
pub struct RecordCount(pub u64);

impl Sink for RecordCount {
    fn record(&mut self, _: &Meta, _: &Raw<'_>) -> perfconv::Result<()> {
        self.0 += 1;
        Ok(())
    }
}
