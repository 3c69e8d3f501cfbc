//! Fuzz targets: functions that take any bytes and fail if a promise does not hold. An ordinary test runs the same functions on
//! the committed corpus.

mod branches;
mod code;
mod completions;
#[cfg(feature = "parquet")]
mod datasets;
mod definitions;
mod files;
mod imports;
mod inputs;
mod memory;
mod metadata;
mod object_file;
mod objects;
mod pages;
mod plausible;
mod profiles;
pub mod record_count;
mod rewrites;
mod scenario;
mod streams;
mod symbols;
mod tracepoint;
mod traces;
mod unwind;
mod values;

pub use branches::branches;
pub use code::code;
pub use completions::completion;
#[cfg(feature = "parquet")]
pub use datasets::dataset;
pub use definitions::{feature, record, sample};
pub use files::{directory, open};
pub use imports::{archive, elf, jitdump, json, quipper, quipper_text};
pub use objects::object;
pub use pages::page;
pub use profiles::{firefox, folded, otlp, perf_script, pprof, speedscope};
pub use rewrites::rewrite;
pub use scenario::scenario;
pub use streams::stream;
pub use symbols::{recorded_symbols, symbols};
pub use tracepoint::tracepoint;
pub use traces::trace;
pub use unwind::unwind;
pub use values::encode_decode;
