//! The text output of `perf script`, as of perf 6.1 and 6.12, with and without call chains.

mod export;
mod frame;
mod head;
mod import;

pub use import::{import, recognizes};

use super::options::{FormatOption, ValueKind};
use super::{Format, Reader, Writer};
use crate::container::read::ReadOptions;
use crate::formats::converter::{ConvertOptions, Converter};
use crate::profile::unwinding::Unwinding;
use export::Export;
use std::io::{BufWriter, Write};

/// The text output of perf script.
pub const FORMAT: Format = Format {
    extensions: &[("script", None)],
    has_functions: true,
    writer: Writer::Converter(begin),
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

/// Begins writing samples as text.
pub fn begin<'a>(out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
    let export = Export::new(BufWriter::with_capacity(1 << 17, out), options);
    let read = ReadOptions { spool_dir: options.spool_dir.clone(), ..ReadOptions::default() };
    Box::new(Unwinding::in_time_order(&options.symbols, export, read))
}
