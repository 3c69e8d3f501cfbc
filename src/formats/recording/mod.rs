//! perf.data, the format of recordings.

use super::{Format, Reader, Writer};
use perf_data::abi::header;

/// The format of recordings.
pub const FORMAT: Format = Format {
    extensions: &[("data", None)],
    is_binary: true,
    writer: Writer::Records,
    reader: Reader::Recording,
    recognizes: |start| header::endian(start).is_some(),
    is_distinctive: true,
    ..Format::new("perf.data", "the format of perf itself")
};
