//! Frames of compressed records on their way back: from the original bytes as long as nothing in them was changed, anew
//! from there on.

use crate::abi::Endian;
use crate::abi::record::compressed::compressed_bytes;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::limits::Limits;
use crate::container::misframed::reframed;
use crate::container::read::frames::{Decompressor, Stream};
use crate::container::write::frames::{FrameKind, FrameOptions, FrameWriter};
use crate::error::{Error, Result};
use std::io::Write;

/// Writes the records of one file, with the frames among them.
pub struct Framed {
    endian: Endian,
    /// Made for the first frame: it takes megabytes.
    decompressor: Option<Decompressor>,
    /// Where it decompresses to.
    room: Vec<u8>,
    /// The frame whose records are coming.
    open: Option<Frame>,
    /// What waits because the last frame in it ends in the middle of a record: only where the next one is unchanged, too,
    /// can it be written as it was.
    waiting: Vec<Item>,
    /// Whether what was written as it was ends in the middle of zstd's stream.
    is_open: bool,
    /// Compresses, once a frame was changed.
    anew: Option<FrameWriter>,
}

/// What goes to the file.
enum Item {
    Frame(Frame),
    /// As it is; with the number of an AUXTRACE record.
    Plain(Vec<u8>, Option<u64>),
}

/// A frame.
struct Frame {
    /// The bytes that it was; none where its line was deleted.
    original: Vec<u8>,
    /// Whether these are several that perf wrote as one.
    misframed: bool,
    /// The records in it.
    plain: Vec<u8>,
    /// Their sizes.
    sizes: Vec<usize>,
}

/// Where records go to, with the places of AUXTRACE records.
pub trait Places: Write {
    /// Notes that the next byte begins an AUXTRACE record of this number.
    fn auxtrace(&mut self, nr: u64);
}

impl Framed {
    /// Begins a file.
    pub fn new(endian: Endian) -> Self {
        Self {
            endian,
            decompressor: None,
            room: Vec::new(),
            open: None,
            waiting: Vec::new(),
            is_open: false,
            anew: None,
        }
    }

    /// Whether frames were compressed anew.
    pub fn is_changed(&self) -> bool {
        self.anew.is_some()
    }

    /// Whether there has been a frame.
    pub fn has_frames(&self) -> bool {
        self.open.is_some() || self.decompressor.is_some() || self.anew.is_some()
    }

    /// Takes a record or gap that is in no frame.
    ///
    /// # Errors
    /// What `out` says.
    pub fn plain(&mut self, bytes: &[u8], nr: Option<u64>, out: &mut impl Places) -> Result<()> {
        self.close(out)?;
        if let Some(anew) = &mut self.anew {
            anew.flush(out)?;
        }
        if self.waiting.is_empty() {
            return write_plain(bytes, nr, out);
        }
        self.waiting.push(Item::Plain(bytes.to_vec(), nr));
        Ok(())
    }

    /// Takes a frame, whose records follow.
    ///
    /// # Errors
    /// What `out` says.
    pub fn frame(&mut self, original: Vec<u8>, misframed: bool, out: &mut impl Places) -> Result<()> {
        self.close(out)?;
        self.open = Some(Frame { original, misframed, plain: Vec::new(), sizes: Vec::new() });
        Ok(())
    }

    /// Takes a record of the last frame.
    pub fn inside(&mut self, record: &[u8]) {
        let none = || Frame { original: Vec::new(), misframed: false, plain: Vec::new(), sizes: Vec::new() };
        let frame = self.open.get_or_insert_with(none);
        frame.plain.extend_from_slice(record);
        frame.sizes.push(record.len());
    }

    /// Ends the file.
    ///
    /// # Errors
    /// What `out` says.
    pub fn finish(&mut self, out: &mut impl Places) -> Result<()> {
        self.close(out)?;
        if let Some(anew) = &mut self.anew {
            anew.flush(out)?;
        }
        self.release(out)
    }

    fn release(&mut self, out: &mut impl Places) -> Result<()> {
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|item| self.write(item, out))
    }

    /// Compares the last frame with its records.
    fn close(&mut self, out: &mut impl Places) -> Result<()> {
        let Some(frame) = self.open.take() else { return Ok(()) };
        if self.anew.is_some() {
            return self.write(Item::Frame(frame), out);
        }
        if self.is_unchanged(&frame)? {
            self.waiting.push(Item::Frame(frame));
            let Some(decompressor) = &self.decompressor else { return Ok(()) };
            if decompressor.rest() > 0 || decompressor.stream() == Stream::InBlock {
                return Ok(());
            }
            self.is_open = decompressor.stream() == Stream::BetweenBlocks;
            return self.release(out);
        }
        let kind = match RecordHeader::peek(&frame.original, self.endian) {
            Some(header) if header.kind == RecordType::COMPRESSED2 => FrameKind::Compressed2,
            _ => FrameKind::Compressed,
        };
        let mut anew = FrameWriter::new(FrameOptions { kind, ..FrameOptions::default() }, self.endian)?;
        if self.is_open {
            anew.end_others();
        }
        self.anew = Some(anew);
        self.release(out)?;
        self.write(Item::Frame(frame), out)
    }

    fn is_unchanged(&mut self, frame: &Frame) -> Result<bool> {
        if frame.original.is_empty() {
            return Ok(false);
        }
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new(self.endian, Limits::default()).map_err(Error::Output)?),
        };
        let right = frame.misframed.then(|| reframed(&frame.original, self.endian));
        let mut rest = right.as_deref().unwrap_or(&frame.original);
        let mut plain = &frame.plain[..];
        while let Some(header) = RecordHeader::peek(rest, self.endian) {
            let Some((record, next)) = rest.split_at_checked(header.len().max(RecordHeader::SIZE)) else { break };
            rest = next;
            let Some(compressed) = compressed_bytes(record, self.endian) else { continue };
            let mut pieces = decompressor.frame(compressed);
            // What cannot be decompressed was not told in the first place.
            while let Ok(true) = pieces.piece(&mut self.room) {
                match plain.strip_prefix(&*self.room) {
                    Some(left) => plain = left,
                    None => return Ok(false),
                }
            }
        }
        Ok(plain.is_empty())
    }

    fn write(&mut self, item: Item, out: &mut impl Places) -> Result<()> {
        match (&mut self.anew, item) {
            (Some(anew), Item::Frame(frame)) => {
                let mut at = 0;
                for size in frame.sizes {
                    anew.record(&frame.plain[at..at + size], out)?;
                    at += size;
                }
                Ok(())
            }
            (None, Item::Frame(frame)) => write_plain(&frame.original, None, out),
            (anew, Item::Plain(bytes, nr)) => {
                if let Some(anew) = anew {
                    anew.flush(out)?;
                }
                write_plain(&bytes, nr, out)
            }
        }
    }
}

/// Writes a record that is in no frame.
fn write_plain(bytes: &[u8], nr: Option<u64>, out: &mut impl Places) -> Result<()> {
    if let Some(nr) = nr {
        out.auxtrace(nr);
    }
    out.write_all(bytes).map_err(Error::Output)
}
