//! perf.data, the format of recordings.

use super::{Format, FormatReader};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType};
use crate::rewrite::framework::output::RecordingOptions;
use perf_data::abi::header;

/// The format of recordings.
pub const FORMAT: Format = Format {
    extensions: &[("data", None)],
    is_binary: true,
    output: Some(OutputType::of::<RecordingOptions>()),
    reader: FormatReader::Recording,
    recognizes: |start| header::endian(start).is_some(),
    is_distinctive: true,
    ..Format::new("perf.data", "the format of perf itself")
};

impl OutputFormat for RecordingOptions {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Records(self)
    }
}
