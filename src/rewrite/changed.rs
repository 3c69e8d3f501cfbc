//! A record that takes the place of another one.

use crate::abi::record::RecordHeader;
use crate::container::block::Block;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use bytes::Bytes;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

/// Serial numbers of blocks that no file has: whoever keeps a block knows it by its number, whichever pass it is from.
static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1 << 63);

/// The bytes of a record that is changed; they keep their memory.
#[derive(Debug, Default)]
pub struct Changed {
    /// The record, without what it may have behind it.
    pub record: Vec<u8>,
}

impl Changed {
    /// Begins with a copy of a record.
    pub fn copy(&mut self, raw: &Raw<'_>) {
        self.record.clear();
        self.record.extend_from_slice(raw.bytes());
    }

    /// Passes the bytes on in the place of a record, of which nothing is passed on that may be behind it.
    ///
    /// # Errors
    /// What the sink says.
    pub fn pass(&mut self, sink: &mut (impl Sink + ?Sized), meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        let Some(header) = RecordHeader::peek(&self.record, raw.endian) else { return Ok(()) };
        let bytes = Bytes::from(mem::take(&mut self.record));
        let Block { source, origin, .. } = *raw.block;
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        // It is told to be where the record is of which it was made.
        let block = Block { bytes, source, base: raw.offset(), origin, in_memory: true, serial };
        sink.record(meta, &Raw { header, block: &block, at: 0, payload: 0, ..*raw })?;
        self.record = block.bytes.into();
        Ok(())
    }
}
