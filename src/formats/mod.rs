//! Conversion of recordings to and from other formats.
//!
//! Each format is defined in its own directory, options included; [`FORMATS`] lists them. [`framework`] has what they share.

pub mod autofdo;
pub mod bolt;
pub mod callgrind;
pub mod chrome;
pub mod csv;
#[cfg(feature = "parquet")]
pub mod dataset;
pub mod firefox;
pub mod flamegraph;
pub mod folded;
pub mod framework;
pub mod gcc;
pub mod html;
pub mod import;
pub mod json;
pub mod llvm;
pub mod omitted;
#[cfg(feature = "protobuf")]
pub mod otlp;
pub mod perf_json;
pub mod perf_script;
#[cfg(feature = "protobuf")]
pub mod perfetto;
#[cfg(feature = "protobuf")]
pub mod pprof;
pub mod profgen;
#[cfg(feature = "protobuf")]
pub mod quipper;
pub mod recording;
pub mod report;
pub mod speedscope;

pub use crate::formats::framework::format::{Format, FormatReader, ShowsFunctions};
pub use crate::formats::framework::output::{FormatWriter, OutputFormat};

/// All formats.
pub const FORMATS: &[Format] = &[
    recording::FORMAT,
    #[cfg(feature = "protobuf")]
    pprof::FORMAT,
    #[cfg(feature = "protobuf")]
    quipper::FORMAT,
    #[cfg(feature = "quipper-text")]
    quipper::TEXT_FORMAT,
    json::LINES_FORMAT,
    json::DOCUMENT_FORMAT,
    perf_json::FORMAT,
    folded::FORMAT,
    flamegraph::FORMAT,
    html::FORMAT,
    firefox::FORMAT,
    speedscope::FORMAT,
    #[cfg(feature = "protobuf")]
    perfetto::FORMAT,
    #[cfg(feature = "protobuf")]
    otlp::FORMAT,
    #[cfg(feature = "protobuf")]
    otlp::JSON_FORMAT,
    chrome::FORMAT,
    callgrind::FORMAT,
    perf_script::FORMAT,
    report::FORMAT,
    report::MARKDOWN,
    csv::FORMAT,
    llvm::FORMAT,
    gcc::FORMAT,
    bolt::FORMAT,
    profgen::FORMAT,
    autofdo::FORMAT,
    #[cfg(feature = "parquet")]
    dataset::DATASET,
    #[cfg(feature = "parquet")]
    dataset::FILE,
    #[cfg(feature = "parquet")]
    dataset::ARROW,
];

/// The default format for profiles.
#[cfg(feature = "protobuf")]
pub const DEFAULT_PROFILE: Format = pprof::FORMAT;
