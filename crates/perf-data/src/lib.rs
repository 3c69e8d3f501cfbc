//! Reads and writes Linux `perf.data` recordings.

pub mod abi;
pub mod container;
pub mod error;
pub mod printable;
pub mod progress;
pub mod session;
pub mod stream;
pub mod threads;
pub mod tracepoint;

pub use error::{Error, ErrorKind, Result};
