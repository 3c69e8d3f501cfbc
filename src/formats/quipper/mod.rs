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
pub(crate) mod unknown;
mod unrepresented;

pub use decode::import;
#[cfg(feature = "quipper-text")]
pub use decode::import_text;
pub use fidelity::Fidelity;
pub use recognize::recognizes;
#[cfg(feature = "quipper-text")]
pub use recognize::recognizes_text;

use super::{Format, FormatReader};
use crate::formats::framework::converter::{ConvertOptions, Converter};
use crate::formats::framework::output::{FormatWriter, OutputFormat, OutputType, RecordFormat};
use crate::rewrite::framework::pass_options::RequestedPass;
use encode::Encoder;
use std::io::Write;

/// PerfDataProto.
pub const FORMAT: Format = Format {
    extensions: &[("pb_data", None), ("quipper", None)],
    is_binary: true,
    output: Some(OutputType::of::<QuipperProto>()),
    reader: FormatReader::Import(import),
    recognizes,
    keeps: unknown::are_supported,
    ..Format::new("quipper", "PerfDataProto, for quipper, perf_to_profile, AutoFDO")
};

/// PerfDataProto in protobuf text format.
#[cfg(feature = "quipper-text")]
pub const TEXT_FORMAT: Format = Format {
    extensions: &[("pb_text", None)],
    output: Some(OutputType::of::<QuipperText>()),
    reader: FormatReader::Import(import_text),
    recognizes: recognizes_text,
    keeps: unknown::are_supported,
    ..Format::new("quipper-text", "PerfDataProto in protobuf text format")
};

/// A PerfDataProto with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct QuipperProto {
    /// How much of a recording to write to a PerfDataProto [default: lossless].
    #[cfg_attr(feature = "cli", arg(long = "quipper", value_enum, value_name = "FIDELITY"))]
    pub fidelity: Option<Fidelity>,
}

/// A PerfDataProto in protobuf text format with these options.
#[cfg(feature = "quipper-text")]
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct QuipperText {
    /// The options.
    #[cfg_attr(feature = "cli", command(flatten))]
    pub options: QuipperProto,
}

impl QuipperProto {
    fn fidelity(&self) -> Fidelity {
        self.fidelity.unwrap_or_default()
    }
}

impl OutputFormat for QuipperProto {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn shows_samples(&self) -> bool {
        // It keeps traces as they are.
        false
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }

    fn passes(&self, requested: Vec<RequestedPass>) -> Vec<RequestedPass> {
        self.fidelity().passes(requested)
    }
}

impl RecordFormat for QuipperProto {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        Box::new(Encoder::new(out, self.fidelity(), options))
    }
}

#[cfg(feature = "quipper-text")]
impl OutputFormat for QuipperText {
    fn format(&self) -> &'static Format {
        &TEXT_FORMAT
    }

    fn shows_samples(&self) -> bool {
        // It keeps traces as they are.
        false
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Converter(self)
    }

    fn passes(&self, requested: Vec<RequestedPass>) -> Vec<RequestedPass> {
        self.options.passes(requested)
    }
}

#[cfg(feature = "quipper-text")]
impl RecordFormat for QuipperText {
    fn begin<'a>(&self, out: &'a mut dyn Write, options: &ConvertOptions) -> Box<dyn Converter + 'a> {
        Box::new(Encoder::new(text_format::ToText::new(out), self.options.fidelity(), options))
    }
}
