//! Records that wait to be rendered, on several threads at once.

use super::parallel;
use super::render::{self, Of};
use super::ser::Unsupported;
use crate::abi::Endian;
use crate::abi::record::RecordHeader;
use crate::container::block::Block;
use crate::stream::raw::Raw;
use crate::tracing::tracepoints::Tracepoints;

/// How many bytes of records each thread gets at a time.
const PIECE: usize = 1 << 18;

/// Records that wait.
#[derive(Default)]
pub struct Waiting {
    /// What they are in.
    blocks: Vec<Block>,
    records: Vec<Record>,
    /// Their bytes.
    len: usize,
    /// The objects of those that waited last, for each thread.
    rendered: Vec<Vec<u8>>,
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
    /// Takes a record.
    pub fn push(&mut self, raw: &Raw<'_>, of: Of) {
        if self.blocks.last().is_none_or(|last| last.serial != raw.block.serial) {
            self.blocks.push(raw.block.clone());
        }
        let Raw { header, endian, at, payload, .. } = *raw;
        self.records.push(Record { header, endian, block: self.blocks.len() - 1, at, payload, of });
        self.len += header.len() + payload;
    }

    /// Whether there is enough for all threads.
    pub fn is_full(&self) -> bool {
        self.len >= PIECE * parallel::workers()
    }

    /// The objects of all that wait, in order, each with what stands before and behind it.
    ///
    /// # Errors
    /// As [`render::record`].
    pub fn render(
        &mut self,
        before: &[u8],
        behind: &[u8],
        tracepoints: &Tracepoints,
    ) -> Result<&[Vec<u8>], Unsupported> {
        let workers = parallel::workers();
        self.rendered.resize_with(workers, Vec::new);
        self.rendered.iter_mut().for_each(Vec::clear);
        let (blocks, each) = (&self.blocks, self.records.len().div_ceil(workers).max(1));
        let render = |(records, out): (&[Record], &mut Vec<u8>)| {
            records.iter().try_for_each(|record| {
                let Record { header, endian, block, at, payload, ref of } = *record;
                let raw = Raw { header, endian, block: &blocks[block], at, payload };
                out.extend_from_slice(before);
                render::record(out, &raw, of, tracepoints)?;
                out.extend_from_slice(behind);
                Ok(())
            })
        };
        let pieces = self.records.chunks(each).zip(&mut self.rendered).collect();
        parallel::each(pieces, render).into_iter().collect::<Result<(), _>>()?;
        self.blocks.clear();
        self.records.clear();
        self.len = 0;
        Ok(&self.rendered)
    }
}
