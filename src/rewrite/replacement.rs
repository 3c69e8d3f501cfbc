//! A record that takes the place of another one.

use crate::abi::record::{Record, RecordHeader};
use crate::container::block::{Block, Origin};
use crate::container::write::encoded;
use crate::error::Result;
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::Raw;
use bytes::Bytes;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

/// A serial number for one more block that no file has: whoever keeps a block knows it by its number, whichever pass it is from.
pub fn serial() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 63);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The bytes of a record that is changed; they keep their memory.
#[derive(Debug, Default)]
pub struct RecordBuffer {
    /// The record, and what it has behind it.
    pub record: Vec<u8>,
}

impl RecordBuffer {
    /// Begins with a copy of a record.
    pub fn copy(&mut self, raw: &Raw<'_>) {
        self.record.clear();
        self.record.extend_from_slice(raw.bytes());
    }

    /// Passes the bytes on in the place of a record. What is behind the record in them belongs to it, as AUX area and tracing
    /// data do.
    ///
    /// # Errors
    /// What the sink says.
    pub fn pass(&mut self, sink: &mut (impl Sink + ?Sized), meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        // It is told to be where the record is of which it was made.
        let Block { source, origin, .. } = *raw.block();
        self.pass_at(sink, meta, Place { source, base: raw.offset(), origin })
    }

    /// Passes the bytes on as a record that was not there.
    ///
    /// # Errors
    /// What the sink says.
    pub fn pass_at(&mut self, sink: &mut (impl Sink + ?Sized), meta: &Meta, place: Place) -> Result<()> {
        let Some(header) = RecordHeader::peek(&self.record, meta.endian) else { return Ok(()) };
        let bytes = Bytes::from(mem::take(&mut self.record));
        let Place { source, base, origin } = place;
        let payload = bytes.len().saturating_sub(header.len());
        let block = Block { bytes, source, base, origin, in_memory: true, serial: serial() };
        if let Some(raw) = Raw::new(header, meta.endian, &block, 0, payload) {
            sink.record(meta, &raw)?;
        }
        self.record = block.bytes.into();
        Ok(())
    }
}

/// Where a record is said to be.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// In which of the recording's files.
    pub source: u32,
    /// Where in it.
    pub base: u64,
    /// What its bytes are.
    pub origin: Origin,
}

/// A record with changes; `None` where it cannot be read, and stays.
///
/// # Errors
/// Where what it is then is more than a record can hold.
pub fn recoded(meta: &Meta, raw: &Raw<'_>, change: impl FnOnce(&mut Record)) -> Result<Option<Vec<u8>>> {
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    change(&mut record);
    encoded(record.to_bytes(raw.endian())).map(Some)
}
