//! The text output of `perf script`, as of perf 6.1 and 6.12, with and without call chains.

mod frame;
mod head;
mod import;

pub use import::{import, recognizes};

use super::{Format, Reader};

/// The text output of perf script.
pub const FORMAT: Format = Format {
    extensions: &[("script", None)],
    reader: Reader::Import(import),
    recognizes,
    ..Format::new("perf-script", "text output of perf script; input only")
};
