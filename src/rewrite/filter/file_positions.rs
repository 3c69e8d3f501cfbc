//! Positions of records in file order, so that decisions made in time order can be looked up in file order.

use hashbrown::HashMap;
use perf_data::container::read::ReadOptions;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::order::Order;
use perf_data::stream::raw::Raw;
use perf_data::stream::stage::{Before, Stage};

/// Minimum size of a record, and so the minimum distance of two records.
const UNIT: u64 = 8;

/// Numbers the positions of records, in units of 8 bytes. The numbers are the same in each pass over the same records.
#[derive(Debug, Default)]
pub(crate) struct FilePositions {
    /// First position of each block, by serial number.
    starts: HashMap<u64, u64>,
    /// The block of the latest record, and its first position.
    latest: Option<(u64, u64)>,
    end: u64,
}

impl FilePositions {
    /// The position of a record. The first calls must be in file order.
    #[inline]
    pub(crate) fn position(&mut self, raw: &Raw<'_>) -> u64 {
        let start = match self.latest {
            Some((serial, start)) if serial == raw.block().serial => start,
            _ => self.start(raw),
        };
        start + raw.at() as u64 / UNIT
    }

    /// Forgets the block of a record that will not be looked up again, if it contains no other record, as for changed records.
    #[inline]
    pub(crate) fn forget(&mut self, raw: &Raw<'_>) {
        if raw.at() == 0 && raw.bytes().len() == raw.block().bytes.len() {
            self.starts.remove(&raw.block().serial);
        }
    }

    fn start(&mut self, raw: &Raw<'_>) -> u64 {
        let serial = raw.block().serial;
        let start = *self.starts.entry(serial).or_insert_with(|| {
            let start = self.end;
            self.end += (raw.block().bytes.len() as u64).div_ceil(UNIT);
            start
        });
        self.latest = Some((serial, start));
        start
    }
}

/// A sink that looks up positions of records.
pub(crate) trait Numbered: Sink {
    fn positions(&mut self) -> &mut FilePositions;
}

impl<T: Stage<S>, S: Numbered> Numbered for Before<T, S> {
    fn positions(&mut self) -> &mut FilePositions {
        self.sink.positions()
    }
}

/// Sorts records by time before a sink that looks up their positions in file order.
pub(crate) struct NumberedOrder<S>(Order<S>);

impl<S: Numbered> NumberedOrder<S> {
    /// Creates it before a sink.
    pub(crate) fn new(sink: S, options: ReadOptions) -> Self {
        Self(Order::new(sink, options))
    }
}

impl<S: Numbered> Sink for NumberedOrder<S> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.0.begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.0.sink_mut().positions().position(raw);
        self.0.record(meta, raw)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.0.end(meta)
    }
}

/// A set of positions: one bit for every 8 bytes of records.
#[derive(Debug, Default)]
pub(crate) struct PositionSet(Vec<u64>);

impl PositionSet {
    /// Adds a position.
    pub(crate) fn mark(&mut self, position: u64) {
        let word = (position / 64) as usize;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (position % 64);
    }

    /// Whether a position is in the set.
    pub(crate) fn has(&self, position: u64) -> bool {
        self.0.get((position / 64) as usize).is_some_and(|word| word & 1 << (position % 64) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_only_the_given_places() {
        let mut marked = PositionSet::default();
        [0, 63, 64, 1000].into_iter().for_each(|position| marked.mark(position));
        let has: Vec<_> = (0..2000).filter(|&position| marked.has(position)).collect();
        assert_eq!(has, [0, 63, 64, 1000]);
    }
}
