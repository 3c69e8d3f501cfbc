//! The text output of `perf script`, as of perf 6.1 and 6.12, with and without call chains.

mod export;
mod frame;
mod import;
mod sample_line;

pub use import::{import, recognizes};

use super::options::{FormatOption, ValueKind};
use super::{Format, Reader, ShowsFunctions, Writer};

/// The text output of perf script.
pub const FORMAT: Format = Format {
    extensions: &[("script", None)],
    functions: ShowsFunctions::Always,
    writer: Writer::Converter(export::begin),
    reader: Reader::Import(import),
    recognizes,
    options: &[SOURCE_LINES],
    ..Format::new("perf-script", "text output of perf script")
};

/// The option `--fields`.
pub const SOURCE_LINES: FormatOption = FormatOption {
    short: Some('F'),
    ..FormatOption::new(
        "fields",
        "FIELDS",
        "Fields to print in addition to the default ones",
        ValueKind::Choice(&[("+srcline", "File and line of each frame")]),
    )
};
