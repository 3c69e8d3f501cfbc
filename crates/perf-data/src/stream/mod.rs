//! Streams of records with the metadata of their recording.

pub mod counts;
mod event_ids;
pub mod event_name;
pub mod event_types;
pub mod events;
pub mod ledger;
pub mod losses;
pub mod meta;
pub mod off_cpu;
pub mod order;
mod packed_records;
pub mod raw;
mod record_buffer;
mod record_position;
pub(crate) mod runs;
pub mod simpleperf_events;
pub mod source;
pub mod stage;
pub mod traces;
pub(crate) mod unknown_layouts;
pub mod write;

use crate::abi::record::RecordType;
use crate::error::Result;
use meta::Meta;
use raw::{Gap, Raw};

/// Whether the stream itself uses records of this type: for decompression, ordering, events and features. Profile builders can
/// ignore them.
pub fn is_used_by_stream(kind: RecordType) -> bool {
    kind.is_frame() || kind.is_header() || matches!(kind, RecordType::EVENT_UPDATE | RecordType::FINISHED_ROUND)
}

/// A consumer of a stream of records.
pub trait Sink {
    /// Called first, with the metadata known before the first record: all of a file, only the byte order of a pipe.
    ///
    /// # Errors
    /// If the sink fails.
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        let _ = meta;
        Ok(())
    }

    /// Called for each record. A frame of compressed records is passed before its records.
    ///
    /// # Errors
    /// If the sink fails.
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()>;

    /// Called for corrupt bytes between records.
    ///
    /// # Errors
    /// If the sink fails.
    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        let _ = (meta, gap);
        Ok(())
    }

    /// Whether the sink needs no more records. A few may follow nevertheless.
    fn is_done(&self) -> bool {
        false
    }

    /// Called last.
    ///
    /// # Errors
    /// If the sink fails.
    fn end(&mut self, meta: &Meta) -> Result<()> {
        let _ = meta;
        Ok(())
    }
}

impl<T: Sink + ?Sized> Sink for &mut T {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        (**self).begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        (**self).record(meta, raw)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        (**self).gap(meta, gap)
    }

    fn is_done(&self) -> bool {
        (**self).is_done()
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        (**self).end(meta)
    }
}

impl<T: Sink + ?Sized> Sink for Box<T> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        (**self).begin(meta)
    }

    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        (**self).record(meta, raw)
    }

    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        (**self).gap(meta, gap)
    }

    fn is_done(&self) -> bool {
        (**self).is_done()
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        (**self).end(meta)
    }
}
