//! A recording without its records: what stands before and behind them, byte for byte.
//!
//! Writers differ in where they put things: events before or behind the records, gaps, spare slots in the feature table,
//! sections that share bytes. Records that are written back unchanged go between the same bytes.

use bytes::Bytes;

/// Everything of a file but its records.
#[derive(Clone, Debug, Default)]
pub struct FileImage {
    /// All bytes before the records: the header, and in files most often the events.
    pub before: Bytes,
    /// All bytes behind the records: in files the feature table, the features, sometimes the events.
    pub behind: Bytes,
    /// How many bytes the records between them take.
    pub data: u64,
}
