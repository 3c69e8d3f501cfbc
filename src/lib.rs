//! Reads, writes, converts and rewrites Linux `perf.data` recordings.
//!
//! The rooms of the house, each of which uses only those above it:
//!
//! * [`abi`]: what the bytes mean.
pub mod abi;
