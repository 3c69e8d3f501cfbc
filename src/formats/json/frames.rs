//! Writes the frames of compressed records: their original bytes as long as no record in them was changed, and newly
//! compressed frames from there on.

use perf_data::abi::Endian;
use perf_data::abi::record::compressed::compressed_bytes;
use perf_data::abi::record::{RecordHeader, RecordType};
use perf_data::container::limits::Limits;
use perf_data::container::misframed::reframed;
use perf_data::container::read::frames::{Decompressor, Stream};
use perf_data::container::write::frames::{FrameKind, FrameOptions, FrameWriter};
use perf_data::error::{Error, Result};
use std::io::Write;

/// Writes the records of one file and their frames.
pub(super) struct Framed {
    endian: Endian,
    /// Created for the first frame, since it takes megabytes.
    decompressor: Option<Decompressor>,
    /// Scratch buffer for decompressed bytes.
    scratch: Vec<u8>,
    /// The frame whose records follow.
    open: Option<JsonFrame>,
    /// Items held back because the last frame ends inside a zstd block: they are written unchanged only if the next
    /// frame is unchanged, too.
    waiting: Vec<FrameItem>,
    /// Whether the frames written unchanged end inside a zstd stream.
    ends_in_stream: bool,
    /// Compresses records, from the first changed frame on.
    writer: Option<FrameWriter>,
}

/// An item of the output file.
enum FrameItem {
    Frame(JsonFrame),
    /// Bytes outside frames, with the number of an AUXTRACE record.
    Plain(Vec<u8>, Option<u64>),
}

/// A compressed frame.
struct JsonFrame {
    /// The original bytes; empty if its line was deleted.
    original: Vec<u8>,
    /// Whether these are several frames that perf wrote as one.
    misframed: bool,
    /// The records in it.
    plain: Vec<u8>,
    /// The sizes of these records.
    sizes: Vec<usize>,
}

/// An output that records the offsets of AUXTRACE records.
pub(super) trait RecordOutput: Write {
    /// Notes that the next byte begins the AUXTRACE record of this number.
    fn auxtrace(&mut self, nr: u64);
}

impl Framed {
    /// Begins a file.
    pub(super) fn new(endian: Endian) -> Self {
        Self {
            endian,
            decompressor: None,
            scratch: Vec::new(),
            open: None,
            waiting: Vec::new(),
            ends_in_stream: false,
            writer: None,
        }
    }

    /// Whether frames were recompressed.
    pub(super) fn is_changed(&self) -> bool {
        self.writer.is_some()
    }

    /// Whether there was a frame.
    pub(super) fn has_frames(&self) -> bool {
        self.open.is_some() || self.decompressor.is_some() || self.writer.is_some()
    }

    /// Adds a record or gap outside frames.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(super) fn plain(&mut self, bytes: &[u8], nr: Option<u64>, out: &mut impl RecordOutput) -> Result<()> {
        self.close(out)?;
        if let Some(writer) = &mut self.writer {
            writer.flush(out)?;
        }
        if self.waiting.is_empty() {
            return write_plain(bytes, nr, out);
        }
        self.waiting.push(FrameItem::Plain(bytes.to_vec(), nr));
        Ok(())
    }

    /// Adds a frame, whose records follow.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(super) fn frame(&mut self, original: Vec<u8>, misframed: bool, out: &mut impl RecordOutput) -> Result<()> {
        self.close(out)?;
        self.open = Some(JsonFrame { original, misframed, plain: Vec::new(), sizes: Vec::new() });
        Ok(())
    }

    /// Adds a record of the last frame.
    pub(super) fn frame_record(&mut self, record: &[u8]) {
        let none = || JsonFrame { original: Vec::new(), misframed: false, plain: Vec::new(), sizes: Vec::new() };
        let frame = self.open.get_or_insert_with(none);
        frame.plain.extend_from_slice(record);
        frame.sizes.push(record.len());
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(super) fn finish(&mut self, out: &mut impl RecordOutput) -> Result<()> {
        self.close(out)?;
        if let Some(writer) = &mut self.writer {
            writer.flush(out)?;
        }
        self.release(out)
    }

    fn release(&mut self, out: &mut impl RecordOutput) -> Result<()> {
        std::mem::take(&mut self.waiting).into_iter().try_for_each(|item| self.write(item, out))
    }

    /// Compares the last frame with its records, and writes it where possible.
    fn close(&mut self, out: &mut impl RecordOutput) -> Result<()> {
        let Some(frame) = self.open.take() else { return Ok(()) };
        if self.writer.is_some() {
            return self.write(FrameItem::Frame(frame), out);
        }
        if self.is_unchanged(&frame)? {
            self.waiting.push(FrameItem::Frame(frame));
            let Some(decompressor) = &self.decompressor else { return Ok(()) };
            if decompressor.rest() > 0 || decompressor.stream() == Stream::InBlock {
                return Ok(());
            }
            self.ends_in_stream = decompressor.stream() == Stream::BetweenBlocks;
            return self.release(out);
        }
        let kind = match RecordHeader::peek(&frame.original, self.endian) {
            Some(header) if header.kind == RecordType::COMPRESSED2 => FrameKind::Compressed2,
            _ => FrameKind::Compressed,
        };
        let mut writer = FrameWriter::new(FrameOptions { kind, ..FrameOptions::default() }, self.endian)?;
        if self.ends_in_stream {
            writer.end_preceding_stream();
        }
        self.writer = Some(writer);
        self.release(out)?;
        self.write(FrameItem::Frame(frame), out)
    }

    fn is_unchanged(&mut self, frame: &JsonFrame) -> Result<bool> {
        if frame.original.is_empty() {
            return Ok(false);
        }
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new(self.endian, Limits::default()).map_err(Error::Output)?),
        };
        let reframed_bytes = frame.misframed.then(|| reframed(&frame.original, self.endian));
        let mut rest = reframed_bytes.as_deref().unwrap_or(&frame.original);
        let mut plain = &frame.plain[..];
        while let Some(header) = RecordHeader::peek(rest, self.endian) {
            let Some((record, next)) = rest.split_at_checked(header.len().max(RecordHeader::SIZE)) else { break };
            rest = next;
            let Some(compressed) = compressed_bytes(record, self.endian) else { continue };
            let mut pieces = decompressor.frame(compressed);
            // What cannot be decompressed was not exported in the first place.
            while let Ok(true) = pieces.piece(&mut self.scratch) {
                match plain.strip_prefix(&*self.scratch) {
                    Some(left) => plain = left,
                    None => return Ok(false),
                }
            }
        }
        Ok(plain.is_empty())
    }

    fn write(&mut self, item: FrameItem, out: &mut impl RecordOutput) -> Result<()> {
        match (&mut self.writer, item) {
            (Some(writer), FrameItem::Frame(frame)) => {
                let mut at = 0;
                for size in frame.sizes {
                    writer.record(&frame.plain[at..at + size], out)?;
                    at += size;
                }
                Ok(())
            }
            (None, FrameItem::Frame(frame)) => write_plain(&frame.original, None, out),
            (writer, FrameItem::Plain(bytes, nr)) => {
                if let Some(writer) = writer {
                    writer.flush(out)?;
                }
                write_plain(&bytes, nr, out)
            }
        }
    }
}

/// Writes a record outside frames.
fn write_plain(bytes: &[u8], nr: Option<u64>, out: &mut impl RecordOutput) -> Result<()> {
    if let Some(nr) = nr {
        out.auxtrace(nr);
    }
    out.write_all(bytes).map_err(Error::Output)
}
