//! Reads, writes, converts and rewrites Linux `perf.data` recordings.
//!
//! The rooms of the house, each of which uses only those above it:
//!
//! * [`abi`]: what the bytes mean.
//! * [`container`]: where the bytes lie.

pub mod abi;
pub mod container;
pub mod error;

pub use error::{Error, Result};
