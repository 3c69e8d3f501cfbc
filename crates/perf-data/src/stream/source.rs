//! Converts an opened container to a stream of records in file order. Records of a compressed frame follow the frame.

use crate::abi::record::compressed::compressed_bytes;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::block::{Block, Origin};
use crate::container::misframed::reframed;
use crate::container::read::frame_decoder::FrameDecoder;
use crate::container::read::frames::Decompressor;
use crate::container::read::input::Input;
use crate::container::read::pipe::HEADER_SIZE;
use crate::container::read::{Container, ContainerReader, ReadOptions};
use crate::container::walk::{Damage, DamageKind, WalkStep, is_plausible, resynchronize, step};
use crate::error::{Error, Result};
use crate::progress::Task;
use crate::stream::Sink;
use crate::stream::counts::Counts;
use crate::stream::ledger::{Ledger, Reason};
use crate::stream::meta::Meta;
use crate::stream::raw::{BLOCK_LIMIT, Gap, Raw};
use crate::stream::unknown_layouts::UnknownLayouts;

/// How far ahead of a frame further frames are submitted for decompression.
const LOOKAHEAD: usize = 256 << 10;

/// Number of records after which a sink is asked again whether it [is done](Sink::is_done): each stage before it forwards the
/// question.
const RECORDS_PER_QUESTION: u32 = 16;

/// A recording to be streamed.
pub struct Source {
    reader: ContainerReader,
    meta: Meta,
    ledger: Ledger,
    counts: Counts,
    unknown_layouts: UnknownLayouts,
    /// Decompression state of the current file, once it has frames.
    frames: Option<SourceFrames>,
    progress: Task,
    /// Bytes of blocks before the current one.
    passed: u64,
}

/// The compressed frames of one file.
struct SourceFrames {
    decoder: FrameDecoder,
    /// Serial of a block, and the offset up to which its frames were submitted.
    submitted: (u64, usize),
    source: u32,
    /// Offset of the last frame.
    offset: u64,
    /// Whether the last frame was undecodable.
    is_undecodable: bool,
}

impl SourceFrames {
    /// Submits a frame, if not already submitted, and those that follow closely in its block.
    fn submit(&mut self, frame: &Raw<'_>) {
        let (block, at, endian) = (frame.block(), frame.at(), frame.endian());
        let (serial, submitted) = self.submitted;
        let mut next = if serial == block.serial { submitted.max(at) } else { at };
        let end = BLOCK_LIMIT.min(at + LOOKAHEAD);
        while next < end
            && let WalkStep::Record { len, payload, .. } = step(&block.bytes, next, endian)
        {
            if let Some(compressed) = compressed_bytes(&block.bytes[next..next + len], endian) {
                self.decoder.submit(block.bytes.slice_ref(compressed));
            }
            next += len + payload;
        }
        self.submitted = (block.serial, next);
    }
}

impl Source {
    /// Opens a recording.
    ///
    /// # Errors
    /// If the input is not a recording or cannot be read.
    pub fn open(input: Input, options: ReadOptions) -> Result<Self> {
        ContainerReader::open(input, options).map(Self::new)
    }

    /// Creates a source from an opened container.
    pub fn new(reader: ContainerReader) -> Self {
        let meta = Meta::new(&reader);
        Self {
            reader,
            meta,
            ledger: Ledger::default(),
            counts: Counts::default(),
            unknown_layouts: UnknownLayouts::default(),
            frames: None,
            progress: Task::unobserved(),
            passed: 0,
        }
    }

    /// Options it is read with.
    pub fn options(&self) -> &ReadOptions {
        &self.reader.options
    }

    /// Metadata from the header of the container.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Streams all records; returns the final metadata and ledger.
    ///
    /// # Errors
    /// If the sink fails, or a pipe or a corrupt recording has no readable record.
    pub fn run(mut self, sink: &mut impl Sink) -> Result<(Meta, Ledger)> {
        sink.begin(&self.meta)?;
        self.progress = self.reader.begin_task();
        while !sink.is_done()
            && let Some(mut block) = self.reader.next_block()?
        {
            // A decompressor takes megabytes and cannot be used for another file.
            if self.frames.as_ref().is_some_and(|frames| frames.source != block.source) {
                self.end_frames();
            }
            while let Some(at) = self.walk(&block, sink)? {
                self.passed += at as u64;
                block = block.from(at, self.reader.serial());
            }
            self.passed += block.bytes.len() as u64;
        }
        if !sink.is_done() {
            self.end_frames();
        }
        self.progress = Task::unobserved();
        let damage = std::mem::take(&mut self.reader.damage);
        if self.counts.total() == 0 && self.is_unreadable(&damage) {
            return Err(self.nothing_read(damage));
        }
        damage.into_iter().for_each(|damage| self.ledger.damage(damage));
        self.counts.iter().for_each(|(kind, count)| self.ledger.read(kind, count));
        std::mem::take(&mut self.unknown_layouts).warnings().into_iter().for_each(|warning| self.ledger.note(warning));
        sink.end(&self.meta)?;
        Ok((self.meta, self.ledger))
    }

    /// Passes on the records of a block. Returns the offset reached if the block exceeds the limit on offsets.
    fn walk(&mut self, block: &Block, sink: &mut impl Sink) -> Result<Option<usize>> {
        let endian = self.meta.endian;
        let (mut at, mut until_asked) = (0, 1);
        while at < BLOCK_LIMIT {
            match step(&block.bytes, at, endian) {
                WalkStep::Record { header, len, payload } => {
                    let Some(raw) = Raw::new(header, endian, block, at, payload) else { return Ok(None) };
                    self.counts.add(header.kind);
                    if self.meta.events.may_be_partial() && header.kind < RecordType::USER_START {
                        self.unknown_layouts.add(&self.meta.events, &raw);
                    }
                    if header.kind.is_about_recording() && self.meta.note(&raw).is_none() {
                        self.ledger.dropped(header.kind, Reason::Damaged);
                        self.damage(block, at, format!("invalid {} record; skipped", header.kind));
                    }
                    if let Err(error) = sink.record(&self.meta, &raw) {
                        return Err(error.at_record(self.counts.total() - 1, header.kind));
                    }
                    until_asked -= 1;
                    if until_asked == 0 {
                        if sink.is_done() {
                            return Ok(None);
                        }
                        until_asked = RECORDS_PER_QUESTION;
                        if block.origin != Origin::Frame {
                            self.progress.set(self.passed + at as u64);
                        }
                    }
                    if header.kind.is_frame() && block.origin != Origin::Frame {
                        self.decompress(&raw, sink)?;
                    }
                    at += len + payload;
                }
                WalkStep::Misframed { len } => {
                    self.reframe(&Gap { block, at, len }, sink)?;
                    at += len;
                }
                WalkStep::End => return Ok(None),
                end => {
                    let next = self.skip_damage(block, at, end);
                    let len = next.unwrap_or(block.bytes.len()) - at;
                    let gap = Gap { block, at, len };
                    self.meta.note_gap(&gap);
                    sink.gap(&self.meta, &gap)?;
                    match next {
                        Some(next) => at = next,
                        None => return Ok(None),
                    }
                }
            }
        }
        Ok(Some(at))
    }

    /// Passes on the records of a frame.
    fn decompress(&mut self, frame: &Raw<'_>, sink: &mut impl Sink) -> Result<()> {
        let (source, offset) = (frame.block().source, frame.offset());
        let mut frames = match self.frames.take() {
            Some(frames) => SourceFrames { offset, ..frames },
            None => {
                let created = Decompressor::new(frame.endian(), self.reader.options.limits.clone());
                let file = &self.meta.files[source as usize];
                let decoder = FrameDecoder::new(created.map_err(Error::io(file, "cannot decompress"))?);
                SourceFrames { decoder, submitted: (0, 0), source, offset, is_undecodable: false }
            }
        };
        let was_undecodable = frames.is_undecodable;
        frames.is_undecodable = false;
        if compressed_bytes(frame.bytes(), frame.endian()).is_none() {
            self.frames = Some(frames);
            self.undecodable(frame, was_undecodable, "its data size exceeds the record");
            return Ok(());
        }
        frames.submit(frame);
        let failure = loop {
            match frames.decoder.piece() {
                Ok(Some(bytes)) => {
                    let serial = self.reader.serial();
                    let piece = Block { bytes, source, base: offset, origin: Origin::Frame, in_memory: true, serial };
                    self.walk(&piece, sink)?;
                    if sink.is_done() {
                        break None;
                    }
                }
                Ok(None) => break None,
                Err(e) => break Some(e.to_string()),
            }
        };
        self.frames = Some(frames);
        if let Some(why) = failure {
            self.undecodable(frame, was_undecodable, &why);
        }
        Ok(())
    }

    /// Passes on misframed records: as a gap of raw bytes, then as corrected records.
    fn reframe(&mut self, gap: &Gap<'_>, sink: &mut impl Sink) -> Result<()> {
        let Gap { block, at, len } = *gap;
        sink.gap(&self.meta, gap)?;
        let offset = block.offset(at);
        let file = &self.meta.files[block.source as usize];
        self.ledger.note(format!(
            "{file}: offset {offset:#x}: correcting compressed frames that perf wrote as one record of {len} bytes"
        ));
        let bytes = reframed(&block.bytes[at..at + len], self.meta.endian).into();
        let serial = self.reader.serial();
        let records =
            Block { bytes, source: block.source, base: offset, origin: Origin::Reframed, in_memory: true, serial };
        self.walk(&records, sink).map(drop)
    }

    /// Counts an undecodable frame. The frames after it in the stream are undecodable, too; only the first is reported.
    fn undecodable(&mut self, frame: &Raw<'_>, is_reported: bool, why: &str) {
        self.ledger.dropped(frame.header().kind, Reason::Undecodable);
        if let Some(frames) = &mut self.frames {
            frames.is_undecodable = true;
        }
        if !is_reported {
            let problem = format!(
                "cannot decompress this frame; its records and those of the frames that continue it are missing: {why}"
            );
            let damage = self.meta.damage(frame.block(), frame.at(), problem);
            self.ledger.damage(Damage { kind: DamageKind::CorruptFrame, ..damage });
        }
    }

    /// Reports an incomplete record at the end of the last frame.
    fn end_frames(&mut self) {
        let Some(frames) = self.frames.take() else { return };
        let rest = frames.decoder.rest();
        if rest > 0 {
            let file = self.meta.files[frames.source as usize].clone();
            let problem = format!("the last compressed frame ends within a record, after {rest} bytes");
            self.ledger
                .damage(Damage::new(DamageKind::Truncated, file, frames.offset, problem).with_unread(rest as u64));
        }
    }

    /// Reports bytes that are not a record, and finds the next record.
    fn skip_damage(&mut self, block: &Block, at: usize, end: WalkStep) -> Option<usize> {
        let left = block.bytes.len() - at;
        let (problem, may_continue) = match end {
            WalkStep::Cut { needed } => {
                let sound = RecordHeader::peek(&block.bytes[at..], self.meta.endian).is_some_and(|h| is_plausible(&h));
                let problem = format!("record is truncated: needs {needed} bytes, {left} left");
                // After a sound record that is truncated, nothing follows. Only a payload, whose size may be corrupt, needs more.
                (problem, !sound || needed > u64::from(u16::MAX))
            }
            WalkStep::Garbage { header } if header.len() < RecordHeader::SIZE => {
                (format!("invalid record size {}", header.len()), true)
            }
            WalkStep::Garbage { header } => (format!("invalid record type {}", header.kind), true),
            WalkStep::Record { .. } | WalkStep::Misframed { .. } | WalkStep::End => return None,
        };
        let next = if may_continue { resynchronize(&block.bytes, at, self.meta.endian) } else { None };
        let (missing, unread) = match next {
            Some(next) => (format!("skipping {} bytes to the next valid record", next - at), next - at),
            None => (format!("the last {left} bytes are lost"), left),
        };
        let is_truncated = matches!(end, WalkStep::Cut { .. }) && next.is_none();
        let kind = if is_truncated { DamageKind::Truncated } else { DamageKind::CorruptRecord };
        let damage = self.meta.damage(block, at, format!("{problem}; {missing}"));
        self.ledger.damage(Damage { kind, ..damage }.with_unread(unread as u64));
        next
    }

    fn damage(&mut self, block: &Block, at: usize, problem: String) {
        self.ledger.damage(self.meta.damage(block, at, problem));
    }

    /// Whether a recording without a single record is an error. A file may have no records, since its header and sections contain
    /// the metadata. A pipe consists of records.
    fn is_unreadable(&self, damage: &[Damage]) -> bool {
        self.meta.container == Container::Pipe || !damage.is_empty() || !self.ledger.messages().is_empty()
    }

    /// The error for a recording without a single record.
    fn nothing_read(&self, damage: Vec<Damage>) -> Error {
        match self.ledger.messages().first().or(damage.first()) {
            Some(damage) => {
                Error::input(&damage.file, damage.offset, format!("no readable records: {}", damage.problem))
            }
            None => Error::input(&self.meta.files[0], HEADER_SIZE as u64, "truncated before the first record"),
        }
    }
}
