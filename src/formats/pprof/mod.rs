//! pprof's profile.proto.
//!
//! One profile contains all events, with a pair of columns per event that has samples: sample count and sum of
//! periods. The columns of a single event are called `samples` and, for CPU clocks, `cpu`, the names that Go's PGO
//! and Pyroscope expect; with several events, columns are named after the event.

mod columns;
pub mod compat;
mod encode;
mod encoded_labels;
mod functions;
pub(in crate::formats) mod import;
mod messages;
pub(in crate::formats) mod parts;
pub mod proto;
mod recognize;
pub(super) mod strings;
pub(in crate::formats) mod validate;

pub(super) use columns::Columns;
pub(super) use encode::to_i64;
pub use encode::{begin, write};
pub use import::{copy, import};
pub use recognize::is_pprof;

use super::{Format, FormatReader, ShowsFunctions};
use crate::formats::framework::output::{BeginStreamed, Direct, FormatWriter, OutputFormat, OutputType, ProfileFormat};
use crate::profile::Profile;
use perf_data::container::write::envelope::Envelope;
use perf_data::error::Result;
use std::io::Write;

/// pprof's profile.proto.
pub const FORMAT: Format = Format {
    extensions: &[("pb", None), ("pprof", Some(Envelope::Gzip)), ("prof", Some(Envelope::Gzip))],
    envelope: Some(Envelope::Gzip),
    is_binary: true,
    output: Some(OutputType::of::<Pprof>()),
    functions: ShowsFunctions::Always,
    reader: FormatReader::Import(import),
    copy: Some(copy),
    recognizes: is_pprof,
    ..Format::new("pprof", "profile.proto, for pprof, Go PGO, Pyroscope, Parca")
};

/// A profile of pprof with these options.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
#[non_exhaustive]
pub struct Pprof {
    /// Write the pprof profile that another program would produce.
    #[cfg_attr(
        feature = "cli",
        arg(
            long,
            value_enum,
            value_name = "PROGRAM",
            conflicts_with_all = ["labels", "event", "split_by", "lost", "data_addresses", "thread_types"],
        )
    )]
    pub compat: Option<Program>,
}

/// A program whose profiles can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Program {
    /// perf_to_profile of perf_data_converter, which pprof uses to read perf.data.
    #[cfg_attr(feature = "cli", value(name = "perf_to_profile"))]
    PerfToProfile,
}

impl OutputFormat for Pprof {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn writer(&self) -> FormatWriter<'_> {
        FormatWriter::Profile(self)
    }
}

impl ProfileFormat for Pprof {
    fn has_columns(&self) -> bool {
        true
    }

    fn streamed(&self) -> Option<BeginStreamed> {
        Some(begin)
    }

    fn direct(&self) -> Option<Direct> {
        self.compat.map(|Program::PerfToProfile| compat::convert as Direct)
    }

    fn write(&self, profile: &Profile, out: &mut dyn Write) -> Result<()> {
        write(profile, out)
    }
}
