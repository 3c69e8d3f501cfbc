//! Converts recordings to quipper's PerfDataProto and back: records and metadata as protobuf messages.
//!
//! Fields below 1000 are those of quipper's schema, with the values that quipper's reader would produce. What they
//! cannot represent is in fields from 1000 on, which other readers skip: with them the recording is reconstructed
//! byte for byte.

mod attr;
mod build_ids;
mod chunks;
mod decode;
mod encode;
mod event_writer;
mod features;
mod fidelity;
mod message_to_record;
mod messages;
mod plain;
mod plain_sample;
pub mod proto;
mod recognize;
mod reconstruct;
mod record_builder;
mod record_to_message;
mod sample;
mod schema;
mod sections;
mod splice;
mod stats;
mod text;
#[cfg(feature = "quipper-text")]
mod text_format;
#[cfg(feature = "quipper-text")]
mod text_writer;
pub mod unknown;
mod unrepresented;
mod wire;

pub use decode::import;
#[cfg(feature = "quipper-text")]
pub use decode::import_text;
pub use encode::begin;
#[cfg(feature = "quipper-text")]
pub use encode::begin_text;
pub use fidelity::Fidelity;
pub use recognize::recognizes;
#[cfg(feature = "quipper-text")]
pub use recognize::recognizes_text;

use super::{Format, Reader, Writer};

/// PerfDataProto.
pub const FORMAT: Format = Format {
    extensions: &[("pb_data", None), ("quipper", None)],
    is_binary: true,
    writer: Writer::Converter(begin),
    reader: Reader::Import(import),
    recognizes,
    keeps: unknown::are_supported,
    options: &[fidelity::FIDELITY],
    passes: fidelity::passes,
    ..Format::new("quipper", "PerfDataProto, for quipper, perf_to_profile, AutoFDO")
};

/// PerfDataProto in protobuf text format.
#[cfg(feature = "quipper-text")]
pub const TEXT_FORMAT: Format = Format {
    extensions: &[("pb_text", None)],
    writer: Writer::Converter(begin_text),
    reader: Reader::Import(import_text),
    recognizes: recognizes_text,
    keeps: unknown::are_supported,
    options: &[fidelity::FIDELITY],
    passes: fidelity::passes,
    ..Format::new("quipper-text", "PerfDataProto in protobuf text format")
};
