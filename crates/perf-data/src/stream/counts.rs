//! Numbers of records by type.

use crate::abi::record::RecordType;
use std::collections::BTreeMap;

/// Numbers of records by type, with an array for types below 256, which are nearly all.
#[derive(Clone, Debug)]
pub struct Counts {
    low: [u64; 256],
    high: BTreeMap<RecordType, u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { low: [0; 256], high: BTreeMap::new() }
    }
}

impl Counts {
    /// Counts one record.
    #[inline]
    pub fn add(&mut self, kind: RecordType) {
        match self.low.get_mut(kind.0 as usize) {
            Some(count) => *count += 1,
            None => self.add_high(kind),
        }
    }

    /// Counts several records.
    pub fn add_many(&mut self, kind: RecordType, count: u64) {
        match self.low.get_mut(kind.0 as usize) {
            Some(low) => *low += count,
            None => *self.high.entry(kind).or_default() += count,
        }
    }

    #[cold]
    fn add_high(&mut self, kind: RecordType) {
        *self.high.entry(kind).or_default() += 1;
    }

    /// Number of records of a type.
    pub fn count(&self, kind: RecordType) -> u64 {
        let high = || self.high.get(&kind).copied().unwrap_or_default();
        self.low.get(kind.0 as usize).copied().unwrap_or_else(high)
    }

    /// Number of all records.
    pub fn total(&self) -> u64 {
        self.low.iter().chain(self.high.values()).sum()
    }

    /// The types that occur, sorted by number.
    pub fn iter(&self) -> impl Iterator<Item = (RecordType, u64)> {
        let low = self.low.iter().enumerate().filter(|&(_, &count)| count > 0);
        let low = low.map(|(kind, &count)| (RecordType(kind as u32), count));
        low.chain(self.high.iter().map(|(&kind, &count)| (kind, count)))
    }
}
