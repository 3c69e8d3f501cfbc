//! The formats that recordings are converted to and from.
//!
//! A format describes itself, its options included, in its directory; [`FORMATS`] has a line for each.

pub mod carry;
pub mod csv;
pub mod folded;
mod format;
pub mod import;
pub mod json;
mod message;
pub mod options;
pub mod perf_data;
pub mod perf_json;
pub mod perf_script;
pub mod pprof;
pub mod profile_options;
pub mod quipper;
pub mod recognize;
pub mod recording_options;
pub mod retained_fields;
pub mod table;
#[cfg(test)]
pub mod test_format;

pub use format::{BeginStreamed, Direct, Format, Reads, Streamed, WriteOut, WriteProfile, Writes};

/// Every format.
pub const FORMATS: &[Format] = &[
    perf_data::FORMAT,
    pprof::FORMAT,
    quipper::FORMAT,
    #[cfg(feature = "quipper-text")]
    quipper::TEXT_FORMAT,
    json::LINES_FORMAT,
    json::DOCUMENT_FORMAT,
    perf_json::FORMAT,
    folded::FORMAT,
    perf_script::FORMAT,
    csv::FORMAT,
];

/// The format of a profile where the user names none.
pub const DEFAULT_PROFILE: Format = pprof::FORMAT;
