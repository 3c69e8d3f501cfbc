//! What flows: records one after the other, with what is known about the recording so far.

pub mod counts;
pub mod event_name;
pub mod event_types;
pub mod events;
pub mod ledger;
pub mod meta;
pub mod order;
mod packed_records;
mod place;
pub mod raw;
mod record_buffer;
pub mod runs;
pub mod source;
pub mod stage;
pub mod write;

use crate::abi::record::RecordType;
use crate::error::Result;
use meta::Meta;
use raw::{Gap, Raw};

/// Whether records of this type are used by the stream itself: to decompress, to order, to know events and features. What
/// makes a profile need not look at them.
pub fn is_used_by_stream(kind: RecordType) -> bool {
    let is_frame = matches!(kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
    is_frame || meta::is_header(kind) || matches!(kind, RecordType::EVENT_UPDATE | RecordType::FINISHED_ROUND)
}

/// What takes a stream of records.
pub trait Sink {
    /// The first call, with what is known before the first record: of a file everything, of a pipe only the byte order.
    ///
    /// # Errors
    /// Where the sink cannot go on.
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        let _ = meta;
        Ok(())
    }

    /// A record. A frame of compressed records comes first as itself, then each record in it.
    ///
    /// # Errors
    /// Where the sink cannot go on.
    fn record(&mut self, meta: &Meta, raw: &Raw<'_>) -> Result<()>;

    /// Bytes between records that are none: damage.
    ///
    /// # Errors
    /// Where the sink cannot go on.
    fn gap(&mut self, meta: &Meta, gap: &Gap<'_>) -> Result<()> {
        let _ = (meta, gap);
        Ok(())
    }

    /// Whether no more records are needed: then none are read.
    fn is_done(&self) -> bool {
        false
    }

    /// The last call.
    ///
    /// # Errors
    /// Where the sink cannot go on.
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
