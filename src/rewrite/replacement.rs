//! Records that replace others.

use bytes::Bytes;
use perf_data::abi::record::{Record, RecordHeader};
use perf_data::container::block::{Block, Origin};
use perf_data::container::write::encoded;
use perf_data::error::Result;
use perf_data::stream::Sink;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a serial number for a block that is not from a file, unique across passes.
pub(crate) fn serial() -> u64 {
    // Blocks of files are numbered from the lower end, so their serial numbers never reach these.
    static NEXT: AtomicU64 = AtomicU64::new(1 << 63);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The bytes of a changed record, in a reused buffer.
#[derive(Debug, Default)]
pub(crate) struct RecordBuffer {
    /// The record and its payload.
    pub record: Vec<u8>,
}

impl RecordBuffer {
    /// Fills the buffer with a copy of a record.
    pub(crate) fn copy(&mut self, raw: &Raw<'_>) {
        self.record.clear();
        self.record.extend_from_slice(raw.bytes());
    }

    /// Passes the bytes on in place of a record. Bytes after the record are its payload, such as an AUX area or tracing data.
    ///
    /// # Errors
    /// Errors of the sink.
    pub(crate) fn pass(&mut self, sink: &mut (impl Sink + ?Sized), meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        // The replacement reports the offset of the original record.
        let Block { source, origin, .. } = *raw.block();
        self.pass_at(sink, meta, RecordPlacement { source, base: raw.offset(), origin })
    }

    /// Passes the bytes on as an additional record.
    ///
    /// # Errors
    /// Errors of the sink.
    pub(crate) fn pass_at(
        &mut self,
        sink: &mut (impl Sink + ?Sized),
        meta: &Meta,
        placement: RecordPlacement,
    ) -> Result<()> {
        let Some(header) = RecordHeader::peek(&self.record, meta.endian) else { return Ok(()) };
        let bytes = Bytes::from(mem::take(&mut self.record));
        let RecordPlacement { source, base, origin } = placement;
        let payload = bytes.len().saturating_sub(header.len());
        let block = Block { bytes, source, base, origin, in_memory: true, serial: serial() };
        if let Some(raw) = Raw::new(header, meta.endian, &block, 0, payload) {
            sink.record(meta, &raw)?;
        }
        // The memory is reused, unless the sink has kept the bytes.
        self.record = block.bytes.into();
        Ok(())
    }
}

/// The position that a record reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordPlacement {
    /// Index of the recording's file.
    pub source: u32,
    /// Offset in the file.
    pub base: u64,
    /// Where its bytes come from.
    pub origin: Origin,
}

/// Re-encodes a record with changes; `None` if it cannot be decoded and must be kept unchanged.
///
/// # Errors
/// Fails if the changed record exceeds the maximum size of a record.
pub(crate) fn reencode_with(meta: &Meta, raw: &Raw<'_>, change: impl FnOnce(&mut Record)) -> Result<Option<Vec<u8>>> {
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    change(&mut record);
    encoded(record.to_bytes(raw.endian())).map(Some)
}
