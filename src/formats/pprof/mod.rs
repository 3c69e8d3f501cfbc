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
mod import;
mod messages;
mod parts;
pub mod proto;
mod recognize;
pub(super) mod strings;
mod validate;

pub(super) use columns::Columns;
pub(super) use encode::to_i64;
pub use encode::{begin, write};
pub use import::{copy, import};
pub use recognize::is_pprof;

use super::{Format, Reader, WriteProfile, Writer};
use perf_data::container::write::envelope::Envelope;

/// pprof's profile.proto.
pub const FORMAT: Format = Format {
    extensions: &[("pb", None), ("pprof", Some(Envelope::Gzip)), ("prof", Some(Envelope::Gzip))],
    envelope: Some(Envelope::Gzip),
    is_binary: true,
    writer: Writer::Profile(WriteProfile {
        streamed: Some(begin),
        direct: compat::direct,
        ..WriteProfile::new(|profile, _, out| write(profile, out))
    }),
    reader: Reader::Import(import),
    copy: Some(copy),
    recognizes: is_pprof,
    options: &[compat::COMPAT],
    ..Format::new("pprof", "profile.proto, for pprof, Go PGO, Pyroscope, Parca")
};
