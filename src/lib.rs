//! Reads Linux `perf.data` recordings, converts them to pprof, writes them back in any container, and checks them.
//!
//! The rooms of the house, each of which uses only those above it:
//!
//! * [`abi`]: what the bytes mean.
//! * [`elf`]: ELF images of code that was in no file.
//! * [`tracing`]: what tracepoints' samples tell.
//! * [`container`]: where the bytes lie.
//! * [`stream`]: what flows.
//! * [`check`]: what is wrong with a recording.
//! * [`rewrite`]: records to records.
//! * [`synth`]: recordings from nothing.
//! * [`archive`]: a recording with its objects, in one file.
//! * [`session`]: who ran what, where.
//! * [`profile`]: stacks and values.
//! * [`info`]: looking into a recording.
//! * [`formats`]: the other formats.
//! * [`dump`]: a recording record by record.
//! * [`diff`]: how two recordings differ.
//!
//! * [`cli`]: the person at the terminal; with the cargo feature `cli`.
//!
//! [`convert`] puts them together. `worker_pool`, which all may use, gives work to several threads.

pub mod abi;
pub mod archive;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
pub mod container;
pub mod convert;
pub mod diff;
pub mod dump;
pub mod elf;
pub mod error;
pub mod formats;
pub mod info;
pub mod profile;
pub mod recording;
pub mod rewrite;
pub mod session;
pub mod stream;
pub mod synth;
pub mod tracing;
mod worker_pool;

pub use error::{Error, ErrorKind, Result};
pub use recording::Recording;

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
