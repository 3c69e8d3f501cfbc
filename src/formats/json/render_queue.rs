//! Renders records on several threads.

use super::render::{self, RecordInfo};
use super::sample_symbols::SampleSymbols;
use perf_data::abi::Endian;
use perf_data::abi::record::RecordHeader;
use perf_data::abi::serde::tokens::Unsupported;
use perf_data::container::block::Block;
use perf_data::error::{Error, Result};
use perf_data::stream::raw::Raw;
use perf_data::threads::{WorkerPool, workers};
use perf_data::tracepoint::tracepoints::Tracepoints;
use std::io::{self, Write};
use std::result::Result as StdResult;
use std::sync::Arc;

/// Bytes of records per work item.
const PIECE: usize = 1 << 18;

/// Limit for the bytes of blocks kept alive: these also contain filtered-out records.
const MAX_BLOCK_BYTES: usize = 16 * PIECE;

/// Records to be rendered, and those being rendered.
pub(super) struct RenderQueue {
    before: &'static [u8],
    behind: &'static [u8],
    next: Piece,
    in_progress: WorkerPool<Piece, StdResult<Piece, Unsupported>>,
    /// Pieces that were written, for reuse of their buffers.
    spare: Vec<Piece>,
}

/// Consecutive records, and their objects.
#[derive(Default)]
struct Piece {
    /// The blocks that hold the records.
    blocks: Vec<Block>,
    records: Vec<Record>,
    /// Bytes of the records.
    len: usize,
    /// Bytes of the blocks that are in memory.
    block_bytes: usize,
    decoding: Decoding,
    objects: Vec<u8>,
}

/// What is decoded in addition to fields.
#[derive(Clone, Default)]
pub(super) struct Decoding {
    /// Formats of tracepoints.
    pub tracepoints: Arc<Tracepoints>,
    /// Stacks of samples.
    pub symbols: Arc<SampleSymbols>,
}

/// A record, by its location in a block.
struct Record {
    header: RecordHeader,
    endian: Endian,
    block: usize,
    at: usize,
    payload: usize,
    info: RecordInfo,
}

impl RenderQueue {
    /// Creates an empty queue. Each object is written between `before` and `behind`.
    pub(super) fn new(before: &'static [u8], behind: &'static [u8]) -> Self {
        let in_progress =
            WorkerPool::new("json", workers() + 2, move || move |piece: Piece| piece.render(before, behind));
        Self { before, behind, next: Piece::default(), in_progress, spare: Vec::new() }
    }

    /// Adds a record. If that completes a piece, an earlier one may be written.
    ///
    /// # Errors
    /// Those of [`flush`](Self::flush).
    pub(super) fn push(&mut self, raw: &Raw<'_>, info: RecordInfo, out: &mut impl Write) -> Result<()> {
        self.next.push(raw, info);
        if self.next.len < PIECE && self.next.block_bytes < MAX_BLOCK_BYTES {
            return Ok(());
        }
        if self.in_progress.is_full() {
            self.write_first(out)?;
        }
        let next = self.spare.pop().unwrap_or_default();
        let next = Piece { decoding: self.next.decoding.clone(), ..next };
        self.in_progress.give(std::mem::replace(&mut self.next, next));
        Ok(())
    }

    /// Writes all objects in the queue.
    ///
    /// # Errors
    /// Errors of `out`, and of [`render::record`].
    pub(super) fn flush(&mut self, out: &mut impl Write) -> Result<()> {
        while !self.in_progress.is_empty() {
            self.write_first(out)?;
        }
        let render = std::mem::take(&mut self.next).render(self.before, self.behind).map_err(failed)?;
        out.write_all(&render.objects).map_err(Error::Output)?;
        self.next = render.cleared();
        Ok(())
    }

    /// Sets the tracepoint formats for the records that follow.
    pub(super) fn set_tracepoints(&mut self, tracepoints: Tracepoints) {
        self.next.decoding.tracepoints = tracepoints.into();
    }

    /// Sets the stacks of samples.
    pub(super) fn set_symbols(&mut self, symbols: &Arc<SampleSymbols>) {
        self.next.decoding.symbols = Arc::clone(symbols);
    }

    fn write_first(&mut self, out: &mut impl Write) -> Result<()> {
        let Some(render) = self.in_progress.next_result() else { return Ok(()) };
        let render = render.map_err(failed)?;
        out.write_all(&render.objects).map_err(Error::Output)?;
        self.spare.push(render.cleared());
        Ok(())
    }
}

impl Piece {
    fn push(&mut self, raw: &Raw<'_>, info: RecordInfo) {
        if self.blocks.last().is_none_or(|last| last.serial != raw.block().serial) {
            self.blocks.push(raw.block().clone());
            self.block_bytes += if raw.block().in_memory { raw.block().bytes.len() } else { 0 };
        }
        let (header, payload) = (raw.header(), raw.payload_len());
        let (endian, at) = (raw.endian(), raw.at());
        self.records.push(Record { header, endian, block: self.blocks.len() - 1, at, payload, info });
        self.len += header.len() + payload;
    }

    fn render(mut self, before: &[u8], behind: &[u8]) -> StdResult<Self, Unsupported> {
        for record in &self.records {
            let Record { header, endian, block, at, payload, ref info } = *record;
            let Some(raw) = Raw::new(header, endian, &self.blocks[block], at, payload) else { continue };
            self.objects.extend_from_slice(before);
            render::record(&mut self.objects, &raw, info, &self.decoding)?;
            self.objects.extend_from_slice(behind);
        }
        // Frees the blocks early: objects may wait long to be written.
        self.blocks.clear();
        self.records.clear();
        Ok(self)
    }

    fn cleared(mut self) -> Self {
        self.objects.clear();
        (self.len, self.block_bytes) = (0, 0);
        self
    }
}

/// Wraps an error of the serializer.
pub fn failed(unsupported: Unsupported) -> Error {
    Error::Output(io::Error::other(unsupported))
}
