//! From an opened container to a stream of records: in the order of the file, frames followed by the records in them.

use crate::abi::record::compressed::compressed_bytes;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::block::{Block, Origin};
use crate::container::misframed::reframed;
use crate::container::read::frame_decoder::Ahead;
use crate::container::read::frames::Decompressor;
use crate::container::read::input::Input;
use crate::container::read::pipe::HEADER_SIZE;
use crate::container::read::{Container, ReadOptions, Reader};
use crate::container::walk::{Damage, Step, is_sound, resynchronise, step};
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::counts::Counts;
use crate::stream::ledger::{Ledger, Reason};
use crate::stream::meta::{Meta, is_about_recording};
use crate::stream::raw::{BLOCK_LIMIT, Gap, Raw};

/// How far behind a frame those are looked for that are to be decompressed next.
const AHEAD: usize = 256 << 10;

/// A recording to be streamed.
pub struct Source {
    reader: Reader,
    meta: Meta,
    ledger: Ledger,
    counts: Counts,
    /// Of the file that is being read, if it has frames.
    frames: Option<Frames>,
}

/// The frames of one file.
struct Frames {
    ahead: Ahead,
    /// Up to where in a block, of which this is the number, frames were given to it.
    given: (u64, usize),
    source: u32,
    /// Where the last one is.
    offset: u64,
    /// Whether the last one could not be read.
    is_undecodable: bool,
}

impl Frames {
    /// Has a frame decompressed, if it was not given before, and those that come soon behind it in its block.
    fn give(&mut self, frame: &Raw<'_>) {
        let (block, at, endian) = (frame.block(), frame.at(), frame.endian());
        let (serial, given) = self.given;
        let mut next = if serial == block.serial { given.max(at) } else { at };
        let end = BLOCK_LIMIT.min(at + AHEAD);
        while next < end
            && let Step::Record { len, payload, .. } = step(&block.bytes, next, endian)
        {
            if let Some(compressed) = compressed_bytes(&block.bytes[next..next + len], endian) {
                self.ahead.give(block.bytes.slice_ref(compressed));
            }
            next += len + payload;
        }
        self.given = (block.serial, next);
    }
}

impl Source {
    /// Opens a recording.
    ///
    /// # Errors
    /// Where there is no recording, or none that can be read.
    pub fn open(input: Input, options: ReadOptions) -> Result<Self> {
        Reader::open(input, options).map(Self::new)
    }

    /// A recording that was opened by other means.
    pub fn new(reader: Reader) -> Self {
        let meta = Meta::new(&reader);
        Self { reader, meta, ledger: Ledger::default(), counts: Counts::default(), frames: None }
    }

    /// How it is read.
    pub fn options(&self) -> &ReadOptions {
        &self.reader.options
    }

    /// What the container's header tells.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Streams all records, and says what is known and what was read at the end.
    ///
    /// # Errors
    /// Where the sink cannot go on, or there is not a single record in a pipe or in what is damaged.
    pub fn run(mut self, sink: &mut impl Sink) -> Result<(Meta, Ledger)> {
        sink.begin(&self.meta)?;
        while !sink.is_done()
            && let Some(mut block) = self.reader.next_block()?
        {
            // A decompressor takes megabytes, and is of no use to another file.
            if self.frames.as_ref().is_some_and(|frames| frames.source != block.source) {
                self.end_frames();
            }
            while let Some(at) = self.walk(&block, sink)? {
                block = block.from(at, self.reader.serial());
            }
        }
        if !sink.is_done() {
            self.end_frames();
        }
        let damage = std::mem::take(&mut self.reader.damage);
        if self.counts.total() == 0 && self.is_unreadable(&damage) {
            return Err(self.nothing_read(damage));
        }
        damage.into_iter().for_each(|damage| self.ledger.damage(damage));
        self.counts.iter().for_each(|(kind, count)| self.ledger.read(kind, count));
        sink.end(&self.meta)?;
        Ok((self.meta, self.ledger))
    }

    /// Passes on the records of a block. Where the block is too large for one, says how far it came.
    fn walk(&mut self, block: &Block, sink: &mut impl Sink) -> Result<Option<usize>> {
        let endian = self.meta.endian;
        let mut at = 0;
        while at < BLOCK_LIMIT {
            match step(&block.bytes, at, endian) {
                Step::Record { header, len, payload } => {
                    let Some(raw) = Raw::new(header, endian, block, at, payload) else { return Ok(None) };
                    self.counts.add(header.kind);
                    if is_about_recording(&header) && self.meta.note(&raw).is_none() {
                        self.ledger.dropped(header.kind, Reason::Damaged);
                        self.damage(
                            block,
                            at,
                            format!("the {} record here cannot be read and is left out", header.kind),
                        );
                    }
                    if let Err(error) = sink.record(&self.meta, &raw) {
                        return Err(error.at_record(self.counts.total() - 1, header.kind));
                    }
                    if sink.is_done() {
                        return Ok(None);
                    }
                    let is_frame = matches!(header.kind, RecordType::COMPRESSED | RecordType::COMPRESSED2);
                    if is_frame && block.origin != Origin::Frame {
                        self.decompress(&raw, sink)?;
                    }
                    at += len + payload;
                }
                Step::Misframed { len } => {
                    self.reframe(&Gap { block, at, len }, sink)?;
                    at += len;
                }
                Step::End => return Ok(None),
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

    /// Passes on the records in a frame.
    fn decompress(&mut self, frame: &Raw<'_>, sink: &mut impl Sink) -> Result<()> {
        let (source, offset) = (frame.block().source, frame.offset());
        let mut frames = match self.frames.take() {
            Some(frames) => Frames { offset, ..frames },
            None => {
                let made = Decompressor::new(frame.endian(), self.reader.options.limits.clone()).and_then(Ahead::new);
                let file = &self.meta.files[source as usize];
                let ahead = made.map_err(Error::io(file, "cannot decompress"))?;
                Frames { ahead, given: (0, 0), source, offset, is_undecodable: false }
            }
        };
        let was_undecodable = frames.is_undecodable;
        frames.is_undecodable = false;
        if compressed_bytes(frame.bytes(), frame.endian()).is_none() {
            self.frames = Some(frames);
            self.undecodable(frame, was_undecodable, "its size does not fit");
            return Ok(());
        }
        frames.give(frame);
        let failure = loop {
            match frames.ahead.piece() {
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

    /// Passes on frames of which the first has swallowed the others: as the bytes that they are, then as they should be.
    fn reframe(&mut self, found: &Gap<'_>, sink: &mut impl Sink) -> Result<()> {
        let Gap { block, at, len } = *found;
        sink.gap(&self.meta, found)?;
        let offset = block.offset(at);
        let file = &self.meta.files[block.source as usize];
        self.ledger
            .note(format!("{file}: at offset {offset}: frames that perf wrote as one of {len} bytes are put right"));
        let bytes = reframed(&block.bytes[at..at + len], self.meta.endian).into();
        let serial = self.reader.serial();
        let records =
            Block { bytes, source: block.source, base: offset, origin: Origin::Reframed, in_memory: true, serial };
        self.walk(&records, sink).map(drop)
    }

    /// Counts a frame that cannot be read. Those that follow it in its stream cannot either, which is said once.
    fn undecodable(&mut self, frame: &Raw<'_>, is_told: bool, why: &str) {
        self.ledger.dropped(frame.header().kind, Reason::Undecodable);
        if let Some(frames) = &mut self.frames {
            frames.is_undecodable = true;
        }
        if !is_told {
            let what = format!(
                "the records in this compressed frame are missing, and those in frames that continue it: {why}"
            );
            self.damage(frame.block(), frame.at(), what);
        }
    }

    /// Says what the last frame of a file left unfinished.
    fn end_frames(&mut self) {
        let Some(frames) = self.frames.take() else { return };
        let rest = frames.ahead.rest();
        if rest > 0 {
            let file = self.meta.files[frames.source as usize].clone();
            let what =
                format!("the last compressed frame ends in the middle of a record, of which {rest} bytes are there");
            self.ledger.damage(Damage::new(file, frames.offset, what).with_unread(rest as u64));
        }
    }

    /// Notes what is wrong at a place where no record is, and finds the next one.
    fn skip_damage(&mut self, block: &Block, at: usize, end: Step) -> Option<usize> {
        let left = block.bytes.len() - at;
        let (problem, may_go_on) = match end {
            Step::Cut { needed } => {
                let sound = RecordHeader::peek(&block.bytes[at..], self.meta.endian).is_some_and(|h| is_sound(&h));
                let problem = format!("the record here needs {needed} bytes, of which {left} are there");
                (problem, !sound || needed > u64::from(u16::MAX))
            }
            Step::Garbage { header } if header.len() < RecordHeader::SIZE => {
                (format!("the record here has a size of {}, which none can have", header.len()), true)
            }
            Step::Garbage { header } => (format!("a record cannot be of type {}", header.kind), true),
            Step::Record { .. } | Step::Misframed { .. } | Step::End => return None,
        };
        let next = if may_go_on { resynchronise(&block.bytes, at, self.meta.endian) } else { None };
        let (missing, unread) = match next {
            Some(next) => (format!("{} bytes are skipped up to the next sound record", next - at), next - at),
            None => (format!("the last {left} bytes are missing"), left),
        };
        let damage = self.meta.damage(block, at, format!("{problem}; {missing}"));
        self.ledger.damage(damage.with_unread(unread as u64));
        next
    }

    fn damage(&mut self, block: &Block, at: usize, what: String) {
        self.ledger.damage(self.meta.damage(block, at, what));
    }

    /// Whether the recording, of which not a single record was read, should have some. A file may have none, as its header and
    /// sections tell all else; a pipe tells everything in records.
    fn is_unreadable(&self, damage: &[Damage]) -> bool {
        self.meta.container == Container::Pipe || !damage.is_empty() || !self.ledger.messages().is_empty()
    }

    /// Why there is not a single record.
    fn nothing_read(&self, damage: Vec<Damage>) -> Error {
        match self.ledger.messages().first().or(damage.first()) {
            Some(damage) => {
                Error::input(&damage.file, damage.offset, format!("not a single record can be read: {}", damage.what))
            }
            None => {
                Error::input(&self.meta.files[0], HEADER_SIZE as u64, "the recording is cut before its first record")
            }
        }
    }
}
