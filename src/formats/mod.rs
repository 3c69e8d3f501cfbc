//! Conversion of recordings to and from other formats.
//!
//! Each format is defined in its own directory, options included; [`FORMATS`] lists them.

#[cfg(feature = "callgrind")]
pub mod callgrind;
#[cfg(feature = "chrome")]
pub mod chrome;
pub mod converter;
#[cfg(feature = "csv")]
pub mod csv;
#[cfg(feature = "parquet")]
pub mod dataset;
pub mod directory_options;
#[cfg(feature = "firefox")]
pub mod firefox;
#[cfg(feature = "flamegraph")]
pub mod flamegraph;
pub mod folded;
mod format;
#[cfg(feature = "html")]
pub mod html;
pub mod import;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "report")]
mod json_text;
#[cfg(feature = "protobuf")]
mod message;
pub mod named_frames;
pub mod options;
#[cfg(feature = "otlp")]
pub mod otlp;
pub mod perf_data;
#[cfg(feature = "json")]
pub mod perf_json;
pub mod perf_script;
#[cfg(feature = "perfetto")]
pub mod perfetto;
#[cfg(feature = "pprof")]
pub mod pprof;
pub mod profile_options;
#[cfg(feature = "protobuf")]
mod protobuf;
#[cfg(feature = "quipper")]
pub mod quipper;
pub mod recognize;
pub mod recording_options;
#[cfg(feature = "report")]
pub mod report;
pub mod retained_fields;
pub mod sample_writer;
#[cfg(feature = "speedscope")]
pub mod speedscope;
pub mod symbol_options;
pub mod table;
#[cfg(feature = "report")]
mod tracks;

pub use format::{BeginStreamed, Direct, Format, Reader, ShowsFunctions, Streamed, WriteOut, WriteProfile, Writer};

/// All formats.
pub const FORMATS: &[Format] = &[
    perf_data::FORMAT,
    #[cfg(feature = "pprof")]
    pprof::FORMAT,
    #[cfg(feature = "quipper")]
    quipper::FORMAT,
    #[cfg(feature = "quipper-text")]
    quipper::TEXT_FORMAT,
    #[cfg(feature = "json")]
    json::LINES_FORMAT,
    #[cfg(feature = "json")]
    json::DOCUMENT_FORMAT,
    #[cfg(feature = "json")]
    perf_json::FORMAT,
    folded::FORMAT,
    #[cfg(feature = "flamegraph")]
    flamegraph::FORMAT,
    #[cfg(feature = "html")]
    html::FORMAT,
    #[cfg(feature = "firefox")]
    firefox::FORMAT,
    #[cfg(feature = "speedscope")]
    speedscope::FORMAT,
    #[cfg(feature = "perfetto")]
    perfetto::FORMAT,
    #[cfg(feature = "otlp")]
    otlp::FORMAT,
    #[cfg(feature = "otlp")]
    otlp::JSON_FORMAT,
    #[cfg(feature = "chrome")]
    chrome::FORMAT,
    #[cfg(feature = "callgrind")]
    callgrind::FORMAT,
    perf_script::FORMAT,
    #[cfg(feature = "report")]
    report::FORMAT,
    #[cfg(feature = "report")]
    report::MARKDOWN,
    #[cfg(feature = "csv")]
    csv::FORMAT,
    #[cfg(feature = "parquet")]
    dataset::DATASET,
    #[cfg(feature = "parquet")]
    dataset::FILE,
    #[cfg(feature = "parquet")]
    dataset::ARROW,
];

/// The default format for profiles.
#[cfg(feature = "pprof")]
pub const DEFAULT_PROFILE: Format = pprof::FORMAT;
