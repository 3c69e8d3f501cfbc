//! Writes a recording back unchanged.

use crate::container::block::{Block, Origin};
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::meta::Meta;
use crate::stream::raw::{Gap, Raw};
use std::io::Write;
use std::ops::Range;

/// Number of bytes written at once, small enough to be still in the cache.
const MAX_RUN: usize = 128 << 10;

/// Writes records, and the bytes before, between and after them, unchanged.
pub struct Verbatim<W> {
    /// One output for each file of the recording.
    outs: Vec<W>,
    /// Consecutive bytes of a block that are not yet written.
    run: Option<(Block, Range<usize>)>,
}

impl<W: Write> Verbatim<W> {
    /// Takes an output for each of the recording's [files](Meta::files).
    pub fn new(outs: Vec<W>) -> Self {
        Self { outs, run: None }
    }

    /// The outputs.
    pub fn into_inner(self) -> Vec<W> {
        self.outs
    }

    fn add(&mut self, block: &Block, at: usize, len: usize) -> Result<()> {
        // Decompressed or corrected records are part of bytes already written.
        if block.origin != Origin::File {
            return Ok(());
        }
        match &mut self.run {
            Some((of, run)) if of.serial == block.serial && run.end == at && run.len() < MAX_RUN => run.end += len,
            _ => {
                self.write_run()?;
                self.run = Some((block.clone(), at..at + len));
            }
        }
        Ok(())
    }

    fn write_run(&mut self) -> Result<()> {
        let Some((block, run)) = self.run.take() else { return Ok(()) };
        self.outs[block.source as usize].write_all(&block.bytes[run]).map_err(Error::Output)
    }
}

impl<W: Write> Sink for Verbatim<W> {
    fn begin(&mut self, meta: &Meta) -> Result<()> {
        self.outs[0].write_all(&meta.image.before).map_err(Error::Output)
    }

    fn record(&mut self, _: &Meta, raw: &Raw<'_>) -> Result<()> {
        self.add(raw.block(), raw.at(), raw.header().len() + raw.payload_len())
    }

    fn gap(&mut self, _: &Meta, gap: &Gap<'_>) -> Result<()> {
        self.add(gap.block, gap.at, gap.len)
    }

    fn end(&mut self, meta: &Meta) -> Result<()> {
        self.write_run()?;
        self.outs[0].write_all(&meta.image.behind).map_err(Error::Output)?;
        self.outs.iter_mut().try_for_each(|out| out.flush().map_err(Error::Output))
    }
}
