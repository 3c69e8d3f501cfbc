//! From an opened container to a stream of records: in the order of the file, frames followed by the records in them.

use crate::abi::record::compressed::compressed_bytes;
use crate::abi::record::{RecordHeader, RecordType};
use crate::container::block::Block;
use crate::container::read::frames::Decompressor;
use crate::container::read::input::Input;
use crate::container::read::pipe::HEADER_SIZE;
use crate::container::read::{ReadOptions, Reader};
use crate::container::walk::{Damage, Step, looks_sound, resynchronise, step};
use crate::error::{Error, Result};
use crate::stream::Sink;
use crate::stream::ledger::{Ledger, Reason};
use crate::stream::meta::{Meta, is_about_recording};
use crate::stream::raw::{Gap, Raw};

/// How far into a block records may begin, so that places in blocks fit 32 bits.
const BLOCK_LIMIT: usize = 1 << 31;

/// A recording to be streamed.
pub struct Source {
    reader: Reader,
    meta: Meta,
    ledger: Ledger,
    counts: Counts,
    /// One for each of the recording's files that has frames.
    decompressors: Vec<Option<Decompressor>>,
    /// Of which files the last frame could not be read.
    undecodable: Vec<bool>,
}

impl Source {
    /// Opens a recording.
    ///
    /// # Errors
    /// Where there is no recording, or none that can be read.
    pub fn open(input: Input, options: ReadOptions) -> Result<Self> {
        let reader = Reader::open(input, options)?;
        let decompressors = reader.files.iter().map(|_| None).collect();
        let undecodable = vec![false; reader.files.len()];
        let meta = Meta::new(&reader);
        Ok(Self { reader, meta, ledger: Ledger::default(), counts: Counts::default(), decompressors, undecodable })
    }

    /// What the container's header tells.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Streams all records, and says what is known and what was read at the end.
    ///
    /// # Errors
    /// Where the sink cannot go on, or there is not a single record.
    pub fn run(mut self, sink: &mut impl Sink) -> Result<(Meta, Ledger)> {
        sink.begin(&self.meta)?;
        while let Some(mut block) = self.reader.next_block()? {
            while let Some(at) = self.walk(&block, sink)? {
                block = block.from(at, self.reader.serial());
            }
        }
        self.note_unfinished_frames();
        let damage = std::mem::take(&mut self.reader.damage);
        if self.counts.total() == 0 {
            return Err(self.nothing_read(damage));
        }
        damage.into_iter().for_each(|damage| self.ledger.damage(damage));
        self.counts.enter(&mut self.ledger);
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
                    let raw = Raw { header, endian, block, at, payload };
                    self.counts.add(header.kind);
                    if is_about_recording(&header) {
                        self.meta.note(&raw);
                    }
                    sink.record(&self.meta, &raw)?;
                    if matches!(header.kind, RecordType::COMPRESSED | RecordType::COMPRESSED2) && !block.decompressed {
                        self.decompress(&raw, sink)?;
                    }
                    at += len + payload;
                }
                Step::End => return Ok(None),
                end => {
                    let next = self.skip_damage(block, at, end);
                    let len = next.unwrap_or(block.bytes.len()) - at;
                    sink.gap(&self.meta, &Gap { block, at, len })?;
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
        let file = frame.block.source as usize;
        let Some(compressed) = compressed_bytes(frame.bytes(), frame.endian) else {
            self.undecodable(frame, "its size does not fit");
            return Ok(());
        };
        let made = match self.decompressors[file].take() {
            Some(decompressor) => Ok(decompressor),
            None => Decompressor::new(frame.endian),
        };
        let mut decompressor = made.map_err(Error::io(&self.meta.files[file], "cannot decompress"))?;
        let mut pieces = decompressor.frame(compressed);
        loop {
            match pieces.piece() {
                Ok(Some(bytes)) => {
                    let serial = self.reader.serial();
                    let base = frame.offset();
                    let piece =
                        Block { bytes, source: frame.block.source, base, decompressed: true, in_memory: true, serial };
                    self.walk(&piece, sink)?;
                }
                Ok(None) => {
                    self.undecodable[file] = false;
                    break;
                }
                Err(e) => {
                    self.undecodable(frame, &e.to_string());
                    break;
                }
            }
        }
        self.decompressors[file] = Some(decompressor);
        Ok(())
    }

    /// Counts a frame that cannot be read. Those that follow it in its stream cannot either, which is said once.
    fn undecodable(&mut self, frame: &Raw<'_>, why: &str) {
        self.ledger.dropped(frame.header.kind, Reason::Undecodable);
        if !std::mem::replace(&mut self.undecodable[frame.block.source as usize], true) {
            let what = format!(
                "the records in this compressed frame are missing, and those in frames that continue it: {why}"
            );
            self.damage(frame.block, frame.at, what);
        }
    }

    fn note_unfinished_frames(&mut self) {
        for (file, decompressor) in self.decompressors.iter().enumerate() {
            let rest = decompressor.as_ref().map_or(0, Decompressor::rest);
            if rest > 0 {
                let file = self.meta.files[file].clone();
                let what = format!(
                    "the last compressed frame ends in the middle of a record, of which {rest} bytes are there"
                );
                self.ledger.damage(Damage { file, offset: 0, what });
            }
        }
    }

    /// Notes what is wrong at a place where no record is, and finds the next one.
    fn skip_damage(&mut self, block: &Block, at: usize, end: Step) -> Option<usize> {
        let left = block.bytes.len() - at;
        let (problem, may_go_on) = match end {
            Step::Cut { needed } => {
                let sound = RecordHeader::peek(&block.bytes[at..], self.meta.endian).is_some_and(|h| looks_sound(&h));
                let problem = format!("the record here needs {needed} bytes, of which {left} are there");
                (problem, !sound || needed > u64::from(u16::MAX))
            }
            Step::Garbage { header } if header.len() < RecordHeader::SIZE => {
                (format!("the record here has a size of {}, which none can have", header.len()), true)
            }
            Step::Garbage { header } => (format!("a record cannot be of type {}", header.kind), true),
            Step::Record { .. } | Step::End => return None,
        };
        let next = if may_go_on { resynchronise(&block.bytes, at, self.meta.endian) } else { None };
        let missing = match next {
            Some(next) => format!("{} bytes are skipped up to the next sound record", next - at),
            None => format!("the last {left} bytes are missing"),
        };
        self.damage(block, at, format!("{problem}; {missing}"));
        next
    }

    fn damage(&mut self, block: &Block, at: usize, what: String) {
        let file = self.meta.files[block.source as usize].clone();
        self.ledger.damage(Damage { file, offset: block.offset(at), what });
    }

    /// Why there is not a single record.
    fn nothing_read(&self, damage: Vec<Damage>) -> Error {
        match self.ledger.messages().first().or(damage.first()) {
            Some(damage) => {
                Error::input(&damage.file, damage.offset, format!("not a single record can be read: {}", damage.what))
            }
            // Only a pipe's header can be all there is: a file's says where its records should be.
            None => {
                Error::input(&self.meta.files[0], HEADER_SIZE as u64, "the recording is cut before its first record")
            }
        }
    }
}

/// Records read by type, counted without a look-up for those of low numbers, which are nearly all.
struct Counts {
    low: [u64; 256],
    high: u64,
}

impl Default for Counts {
    fn default() -> Self {
        Self { low: [0; 256], high: 0 }
    }
}

impl Counts {
    #[inline]
    fn add(&mut self, kind: RecordType) {
        match self.low.get_mut(kind.0 as usize) {
            Some(count) => *count += 1,
            None => self.high += 1,
        }
    }

    fn total(&self) -> u64 {
        self.low.iter().sum::<u64>() + self.high
    }

    fn enter(&self, ledger: &mut Ledger) {
        let low = self.low.iter().enumerate().filter(|&(_, &count)| count > 0);
        low.for_each(|(kind, &count)| ledger.read(RecordType(kind as u32), count));
        if self.high > 0 {
            ledger.read(RecordType(u32::MAX), self.high);
        }
    }
}
