//! Text with frames whose functions are looked up later, many at once: until then the text has their addresses.

use super::frame_lookup::{Batch, FrameLookup, FrameRenderer, Piece};
use crate::profile::symbolize::unsymbolized::{FrameCounts, Unsymbolized};
use crate::profile::symbolize::{SymbolSources, Symbolization};
use perf_data::error::{Error, Result};
use perf_data::session::Session;
use perf_data::session::map::MapId;
use perf_data::session::space::Space;
use perf_data::stream::meta::Meta;
use perf_data::threads::{Lane, workers};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Begins a frame in the text. Not a byte of UTF-8.
const FRAME: u8 = 0xff;

/// Size of a frame in the text: mapping, recorded address, address of the function, form, and how it is counted.
const FRAME_SIZE: usize = size_of::<u32>() + 2 * size_of::<u64>() + 2;

/// The mapping of the byte [`FRAME`] itself, which recorded text may contain.
const LITERAL: MapId = MapId(u32::MAX);

/// Size of text whose frames are looked up at once.
const TEXT: usize = 4 << 20;

/// Size of the pieces of text in which workers replace frames.
const PIECE: usize = 1 << 20;

/// What the text of a frame depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FrameKey {
    /// Mapping of the address.
    pub map: MapId,
    /// Recorded address.
    pub ip: u64,
    /// Address whose function is printed.
    pub at: u64,
    /// How the frame is printed, by rules of its format.
    pub form: u8,
}

/// Whether a frame is one of a stack, which are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    No,
    Caller,
    Innermost,
}

/// Appends recorded text, which may have any bytes.
pub(crate) fn append_text(text: &[u8], out: &mut Vec<u8>) {
    for (index, part) in text.split(|&byte| byte == FRAME).enumerate() {
        if index > 0 {
            InText::append(FrameKey { map: LITERAL, ip: 0, at: 0, form: 0 }, Counted::No, out);
        }
        out.extend_from_slice(part);
    }
}

/// A frame in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InText {
    Frame(FrameKey, Counted),
    /// The byte [`FRAME`] itself.
    Literal,
}

impl InText {
    #[inline]
    pub(super) fn append(FrameKey { map, ip, at, form }: FrameKey, counted: Counted, out: &mut Vec<u8>) {
        let mut bytes = [FRAME; 1 + FRAME_SIZE];
        bytes[1..5].copy_from_slice(&map.0.to_le_bytes());
        bytes[5..13].copy_from_slice(&ip.to_le_bytes());
        bytes[13..21].copy_from_slice(&at.to_le_bytes());
        bytes[21] = form;
        bytes[22] = counted as u8;
        out.extend_from_slice(&bytes);
    }

    #[inline]
    pub(super) fn parse(bytes: &[u8; FRAME_SIZE]) -> Self {
        let address = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| bytes[at + index]));
        let map = MapId(u32::from_le_bytes(std::array::from_fn(|index| bytes[index])));
        if map == LITERAL {
            return Self::Literal;
        }
        let counted = [Counted::No, Counted::Caller, Counted::Innermost][usize::from(bytes[21]).min(2)];
        Self::Frame(FrameKey { map, ip: address(4), at: address(12), form: bytes[20] }, counted)
    }

    /// The text of a literal.
    pub(super) const LITERAL_TEXT: &[u8] = &[FRAME];
}

/// The text before the first frame, the frame, and the text after it; `None` without a frame.
#[inline]
pub(super) fn next_frame(text: &[u8]) -> Option<(&[u8], &[u8; FRAME_SIZE], &[u8])> {
    let start = memchr::memchr(FRAME, text)?;
    let (frame, rest) = text[start + 1..].split_first_chunk()?;
    Some((&text[..start], frame, rest))
}

/// Text with frames whose functions are looked up later.
pub(crate) struct NamedFrames {
    sources: SymbolSources,
    lookup: Lookup,
    /// What writes frames, until it is given to the lookup.
    renderer: Option<Box<dyn FrameRenderer>>,
    /// Text whose frames have not been looked up.
    pieces: Vec<Piece>,
    /// Its size.
    size: usize,
    /// Empty pieces.
    spare: Vec<Piece>,
    /// Frames of stacks outside of mappings: in the kernel, and elsewhere.
    outside: [FrameCounts; 2],
    /// Whether the next frame of a stack is its innermost.
    is_at_leaf: bool,
}

/// The lookup of frames, while text is written.
enum Lookup {
    /// It begins with the first batch, when the metadata of a pipe has been read.
    NotBegun,
    Running {
        lane: Lane<Batch, Box<FrameLookup>>,
        written: Receiver<Piece>,
    },
    Ended(Box<FrameLookup>),
}

impl NamedFrames {
    /// Creates an empty text; `None` if there are no symbols to look up.
    pub(crate) fn new(sources: &SymbolSources) -> Option<Self> {
        sources.is_any().then(|| Self {
            sources: sources.clone(),
            lookup: Lookup::NotBegun,
            renderer: None,
            pieces: Vec::new(),
            size: 0,
            spare: Vec::new(),
            outside: [FrameCounts::default(); 2],
            is_at_leaf: false,
        })
    }

    /// Sets what writes frames, before the first of them.
    pub(crate) fn render_by(&mut self, renderer: Box<dyn FrameRenderer>) {
        self.renderer = Some(renderer);
    }

    /// Appends a frame that is no frame of a stack, and thus not counted.
    pub(crate) fn append(&mut self, text: &mut Vec<u8>, key: FrameKey) {
        InText::append(key, Counted::No, text);
    }

    /// Begins the stack of a sample, whose frames are counted.
    pub(crate) fn begin_stack(&mut self) {
        self.is_at_leaf = true;
    }

    /// Appends a frame of the stack.
    #[inline]
    pub(crate) fn append_stack_frame(&mut self, text: &mut Vec<u8>, key: FrameKey) {
        let is_innermost = std::mem::take(&mut self.is_at_leaf);
        InText::append(key, if is_innermost { Counted::Innermost } else { Counted::Caller }, text);
    }

    /// Counts a frame of a stack that has no mapping, and thus no name.
    pub(crate) fn count_outside(&mut self, space: Space) {
        self.outside[usize::from(space.is_kernel())].count(std::mem::take(&mut self.is_at_leaf), 1);
    }

    /// The frames without names of the stacks that were written, at the end.
    pub(crate) fn unnamed(&self) -> Option<Unsymbolized> {
        let Lookup::Ended(lookup) = &self.lookup else { return None };
        let mut unnamed = lookup.unnamed();
        let [user, kernel] = self.outside;
        unnamed.add_outside(false, user);
        unnamed.add_outside(true, kernel);
        Some(unnamed)
    }

    /// Appends text, to be written later.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let Self { pieces, size, spare, .. } = self;
        *size += text.len();
        match pieces.last_mut().filter(|piece| piece.text.len() < PIECE) {
            Some(piece) => piece.text.extend_from_slice(text),
            None => {
                let mut piece = spare.pop().unwrap_or_default();
                piece.text.extend_from_slice(text);
                pieces.push(piece);
            }
        }
    }

    /// Whether there is so much text that it should be written.
    pub(crate) fn is_full(&self) -> bool {
        self.size >= TEXT
    }

    /// Has the frames of the text looked up, and writes earlier text that is complete.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn write(&mut self, (meta, session): (&Meta, &Session), out: &mut dyn Write) -> Result<()> {
        self.size = 0;
        let batch = Batch {
            pieces: std::mem::take(&mut self.pieces),
            renderer: self.renderer.take(),
            // Of any process: it has all mappings by ID.
            maps: session.address_space(0),
            process_files: Arc::clone(session.process_files()),
        };
        if let Lookup::NotBegun = self.lookup {
            self.lookup = Lookup::begin(&self.sources, meta);
        }
        let Lookup::Running { lane, written } = &mut self.lookup else { return Ok(()) };
        lane.give(batch);
        written.try_iter().try_for_each(|piece| write_piece(piece, &mut self.spare, out))
    }

    /// Writes the text whose frames have been looked up.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        let lookup = std::mem::replace(&mut self.lookup, Lookup::NotBegun);
        let Lookup::Running { lane, written } = lookup else { return Ok(()) };
        let mut lookup = lane.finish();
        lookup.finish();
        self.lookup = Lookup::Ended(lookup);
        written.try_iter().try_for_each(|piece| write_piece(piece, &mut self.spare, out))
    }
}

impl Lookup {
    fn begin(sources: &SymbolSources, meta: &Meta) -> Self {
        let symbolization = Symbolization::new(sources, meta).keep_objects();
        let (complete, written) = channel();
        let lookup = Box::new(FrameLookup::new(symbolization, sources.has_objects(), complete));
        let add = |lookup: &mut Box<FrameLookup>, batch| lookup.add(batch);
        Self::Running { lane: Lane::new("frames", workers() > 1, lookup, add), written }
    }
}

fn write_piece(mut piece: Piece, spare: &mut Vec<Piece>, out: &mut dyn Write) -> Result<()> {
    out.write_all(&piece.written).map_err(Error::Output)?;
    piece.clear();
    spare.push(piece);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_in_text() {
        let key = FrameKey { map: MapId(7), ip: 0xff07, at: 0xff06, form: 0xff };
        let mut text = b"a".to_vec();
        InText::append(key, Counted::Innermost, &mut text);
        append_text(b"b\xffc", &mut text);
        let (before, frame, rest) = next_frame(&text).unwrap();
        assert_eq!((before, InText::parse(frame)), (&b"a"[..], InText::Frame(key, Counted::Innermost)));
        let (before, frame, rest) = next_frame(rest).unwrap();
        assert_eq!((before, InText::parse(frame), rest), (&b"b"[..], InText::Literal, &b"c"[..]));
        assert!(next_frame(rest).is_none());
    }
}
