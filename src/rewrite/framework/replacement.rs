//! Records that replace others: the building blocks of a pass that changes records.
//!
//! ```
//! use perf_data::abi::record::{Body, RecordType};
//! use perf_data::abi::text::PaddedStr;
//! use perf_data::stream::Sink;
//! use perfconv::rewrite::framework::pass::Pass;
//! use perfconv::rewrite::framework::record_function::RecordFunction;
//! use perfconv::rewrite::framework::replacement::{RecordBuffer, reencode_with};
//!
//! /// Sets the names of all threads in upper case.
//! struct UpperCase;
//!
//! impl Pass for UpperCase {
//!     fn name(&self) -> String {
//!         "upper case".into()
//!     }
//!
//!     fn before<'a>(&'a mut self, sink: Box<dyn Sink + 'a>) -> Box<dyn Sink + 'a> {
//!         let mut changed = RecordBuffer::default();
//!         Box::new(RecordFunction::new(sink, move |meta, raw, sink| {
//!             if raw.header().kind != RecordType::COMM {
//!                 return sink.record(meta, raw);
//!             }
//!             let reencoded = reencode_with(meta, raw, |record| {
//!                 if let Body::Comm(comm) = &mut record.body {
//!                     comm.comm = PaddedStr::new(&comm.comm.text().to_ascii_uppercase(), 8);
//!                 }
//!             })?;
//!             match reencoded {
//!                 Some(bytes) => changed.replace(bytes).pass(sink, meta, raw),
//!                 // Malformed records are kept as they are.
//!                 None => sink.record(meta, raw),
//!             }
//!         }))
//!     }
//! }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let output = directory.path().join("out.data");
//! let recording = perfconv::Recording::open("roundtrip/fixtures/callgraph.data")?;
//! recording.rewrite().pass(UpperCase).write(&output)?;
//! # let mut samples = perfconv::Recording::open(&output)?.samples()?;
//! # while let Some(sample) = samples.next()? {
//! #     assert!(sample.comm().is_none_or(|comm| comm == comm.to_ascii_uppercase()));
//! # }
//! # Ok(())
//! # }
//! ```

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
pub struct RecordBuffer {
    /// The record and its payload.
    pub(crate) record: Vec<u8>,
}

impl RecordBuffer {
    /// Fills the buffer with an encoded record.
    pub fn replace(&mut self, record: Vec<u8>) -> &mut Self {
        self.record = record;
        self
    }

    /// Fills the buffer with a copy of a record.
    pub(crate) fn copy(&mut self, raw: &Raw<'_>) {
        self.record.clear();
        self.record.extend_from_slice(raw.bytes());
    }

    /// Passes the bytes on in place of a record. Bytes after the record are its payload, such as an AUX area or tracing data.
    ///
    /// # Errors
    /// Errors of the sink.
    pub fn pass(&mut self, sink: &mut (impl Sink + ?Sized), meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        // The replacement reports the offset of the original record.
        let Block { source, origin, .. } = *raw.block();
        self.emit(sink, meta, RecordPlacement { source, base: raw.offset(), origin }, raw.is_selected())
    }

    /// Passes on the records in the buffer, in place of one.
    ///
    /// # Errors
    /// Errors of the sink.
    pub(crate) fn pass_all(&mut self, sink: &mut (impl Sink + ?Sized), meta: &Meta, raw: &Raw<'_>) -> Result<()> {
        if self.record.is_empty() {
            return Ok(());
        }
        let Block { source, origin, .. } = *raw.block();
        let bytes = Bytes::from(mem::take(&mut self.record));
        let block = Block { bytes, source, base: raw.offset(), origin, in_memory: true, serial: serial() };
        let mut at = 0;
        while let Some(record) = Raw::read(&block, at, meta.endian) {
            sink.record(meta, &record)?;
            at += record.header().len();
        }
        // The memory is reused, unless the sink has kept the bytes.
        self.record = block.bytes.try_into_mut().map(Vec::from).unwrap_or_default();
        self.record.clear();
        Ok(())
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
        self.emit(sink, meta, placement, true)
    }

    fn emit(
        &mut self,
        sink: &mut (impl Sink + ?Sized),
        meta: &Meta,
        placement: RecordPlacement,
        is_selected: bool,
    ) -> Result<()> {
        let Some(header) = RecordHeader::peek(&self.record, meta.endian) else { return Ok(()) };
        let bytes = Bytes::from(mem::take(&mut self.record));
        let RecordPlacement { source, base, origin } = placement;
        let payload = bytes.len().saturating_sub(header.len());
        let block = Block { bytes, source, base, origin, in_memory: true, serial: serial() };
        if let Some(raw) = Raw::new(header, meta.endian, &block, 0, payload) {
            sink.record(meta, &raw.with_selection(is_selected))?;
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
pub fn reencode_with(meta: &Meta, raw: &Raw<'_>, change: impl FnOnce(&mut Record)) -> Result<Option<Vec<u8>>> {
    let Some(mut record) = Record::read(raw.bytes(), &meta.context(raw)) else { return Ok(None) };
    change(&mut record);
    encoded(record.to_bytes(raw.endian())).map(Some)
}
