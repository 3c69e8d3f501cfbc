//! Fuzz targets: functions that take any bytes and fail if a promise does not hold. An ordinary test runs the same functions on
//! the committed corpus.

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
pub(crate) mod record_count;
mod rewrites;
mod scenario;
mod streams;
mod symbols;
mod tracepoint;
mod unwind;
mod values;

pub(crate) use completions::completion;
#[cfg(feature = "parquet")]
pub(crate) use datasets::dataset;
pub(crate) use definitions::{feature, record, sample};
pub(crate) use files::{directory, open};
pub(crate) use imports::{archive, elf, jitdump, json, quipper, quipper_text};
pub(crate) use objects::object;
pub(crate) use pages::page;
pub(crate) use profiles::{firefox, folded, perf_script, pprof, speedscope};
pub(crate) use rewrites::rewrite;
pub(crate) use scenario::scenario;
pub(crate) use streams::stream;
pub(crate) use symbols::{recorded_symbols, symbols};
pub(crate) use tracepoint::tracepoint;
pub(crate) use unwind::unwind;
pub(crate) use values::encode_decode;
