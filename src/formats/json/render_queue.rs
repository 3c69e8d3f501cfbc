//! Records that wait to be rendered, on several threads at once.

use super::render::{self, Of};
use crate::abi::Endian;
use crate::abi::record::RecordHeader;
use crate::abi::tokens::Unsupported;
use crate::container::block::Block;
use crate::error::{Error, Result};
use crate::stream::raw::Raw;
use crate::threads::{WorkerPool, workers};
use crate::tracepoint::tracepoints::Tracepoints;
use std::io::{self, Write};
use std::result::Result as StdResult;
use std::sync::Arc;

/// How many bytes of records go to a thread at a time.
const PIECE: usize = 1 << 18;

/// How many bytes may be kept for them: of records that are left out more than are told.
const KEPT: usize = 16 * PIECE;

/// Records that wait, and those that are being rendered.
pub struct Waiting {
    before: &'static [u8],
    behind: &'static [u8],
    next: Piece,
    under_way: WorkerPool<Piece, StdResult<Piece, Unsupported>>,
    /// Pieces that have been written, whose memory is used again.
    spare: Vec<Piece>,
}

/// Records in their order, and their objects.
#[derive(Default)]
struct Piece {
    /// What they are in.
    blocks: Vec<Block>,
    records: Vec<Record>,
    /// Their bytes.
    len: usize,
    /// The bytes of the blocks, as far as they take memory.
    kept: usize,
    tracepoints: Arc<Tracepoints>,
    objects: Vec<u8>,
}

/// A record: what is known of it, and where it is.
struct Record {
    header: RecordHeader,
    endian: Endian,
    block: usize,
    at: usize,
    payload: usize,
    of: Of,
}

impl Waiting {
    /// Begins without a record. Each object gets what stands before and behind it.
    pub fn new(before: &'static [u8], behind: &'static [u8]) -> Self {
        let under_way =
            WorkerPool::new("json", workers() + 2, move || move |piece: Piece| piece.rendered(before, behind));
        Self { before, behind, next: Piece::default(), under_way, spare: Vec::new() }
    }

    /// Takes a record. If there is enough for a thread, some that came before may be written now.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn push(&mut self, raw: &Raw<'_>, of: Of, out: &mut impl Write) -> Result<()> {
        self.next.push(raw, of);
        if self.next.len < PIECE && self.next.kept < KEPT {
            return Ok(());
        }
        if self.under_way.is_full() {
            self.write_first(out)?;
        }
        let next = self.spare.pop().unwrap_or_default();
        let next = Piece { tracepoints: Arc::clone(&self.next.tracepoints), ..next };
        self.under_way.give(std::mem::replace(&mut self.next, next)).map_err(Error::Output)
    }

    /// Writes the objects of all that wait.
    ///
    /// # Errors
    /// What `out` says, and as [`render::record`].
    pub fn flush(&mut self, out: &mut impl Write) -> Result<()> {
        while !self.under_way.is_empty() {
            self.write_first(out)?;
        }
        let rendered = std::mem::take(&mut self.next).rendered(self.before, self.behind).map_err(failed)?;
        out.write_all(&rendered.objects).map_err(Error::Output)?;
        self.next = rendered.emptied();
        Ok(())
    }

    /// Tells the fields of the tracepoints in records that come from now on by these formats.
    pub fn know(&mut self, tracepoints: Tracepoints) {
        self.next.tracepoints = tracepoints.into();
    }

    fn write_first(&mut self, out: &mut impl Write) -> Result<()> {
        let Some(rendered) = self.under_way.next_result() else { return Ok(()) };
        let rendered = rendered.map_err(failed)?;
        out.write_all(&rendered.objects).map_err(Error::Output)?;
        self.spare.push(rendered.emptied());
        Ok(())
    }
}

impl Piece {
    fn push(&mut self, raw: &Raw<'_>, of: Of) {
        if self.blocks.last().is_none_or(|last| last.serial != raw.block().serial) {
            self.blocks.push(raw.block().clone());
            self.kept += if raw.block().in_memory { raw.block().bytes.len() } else { 0 };
        }
        let (header, payload) = (raw.header(), raw.payload_len());
        let (endian, at) = (raw.endian(), raw.at());
        self.records.push(Record { header, endian, block: self.blocks.len() - 1, at, payload, of });
        self.len += header.len() + payload;
    }

    fn rendered(mut self, before: &[u8], behind: &[u8]) -> StdResult<Self, Unsupported> {
        for record in &self.records {
            let Record { header, endian, block, at, payload, ref of } = *record;
            let Some(raw) = Raw::new(header, endian, &self.blocks[block], at, payload) else { continue };
            self.objects.extend_from_slice(before);
            render::record(&mut self.objects, &raw, of, &self.tracepoints)?;
            self.objects.extend_from_slice(behind);
        }
        // Nobody needs them any more, however long the objects wait.
        self.blocks.clear();
        self.records.clear();
        Ok(self)
    }

    fn emptied(mut self) -> Self {
        self.objects.clear();
        (self.len, self.kept) = (0, 0);
        self
    }
}

/// Why an object cannot be written.
pub fn failed(unsupported: Unsupported) -> Error {
    Error::Output(io::Error::other(unsupported))
}
