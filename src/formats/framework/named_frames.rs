//! Names of frames in formats that are written sample by sample: text refers to its frames by number until their symbols are looked
//! up, many at once. A frame that occurs often is described, looked up and rendered once. Workers replace the numbers, while the text
//! of further samples is collected.

use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::recent::{Recent, RecentKey};
use crate::profile::intern::stacks::{FrameId, Stacks};
use crate::profile::symbolize::symbols::Symbols;
use crate::profile::symbolize::unsymbolized::{FrameCounts, LookedUpFrames, Unsymbolized};
use crate::profile::symbolize::{SymbolSources, Symbolization};
use perf_data::error::{Error, Result};
use perf_data::session::id_table::IdTable;
use perf_data::session::map::{Map, MapId};
use perf_data::session::space::Space;
use perf_data::session::{Session, ViewId};
use perf_data::stream::meta::Meta;
use perf_data::threads::WorkerPool;
use std::io::Write;
use std::mem::size_of_val;
use std::sync::Arc;

/// Begins a frame in the text: followed by its number. Not a byte of UTF-8.
const FRAME: u8 = 0xff;

/// The number of the byte [`FRAME`] itself, which recorded text may contain.
const LITERAL: u32 = u32::MAX;

/// Appends recorded text, which may have any bytes.
pub(crate) fn append_text(text: &[u8], out: &mut Vec<u8>) {
    for (index, part) in text.split(|&byte| byte == FRAME).enumerate() {
        if index > 0 {
            append_number(LITERAL, out);
        }
        out.extend_from_slice(part);
    }
}

/// Appends the number of a frame.
#[inline]
fn append_number(number: u32, text: &mut Vec<u8>) {
    text.push(FRAME);
    text.extend_from_slice(&number.to_le_bytes());
}

/// Size of text and frames at which symbols are looked up.
const TEXT: usize = 16 << 20;

/// Size of the pieces of text in which workers replace numbers by frames.
const PIECE: usize = 1 << 20;

/// Size of rendered frames above which they are forgotten.
const RENDERED: usize = 32 << 20;

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

/// A frame of a stack: equal ones have the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackFrame {
    /// Version of the process's address space, or of the kernel's for kernel addresses.
    pub view: ViewId,
    /// Address space.
    pub space: Space,
    /// See [`FrameKey`].
    pub ip: u64,
    /// See [`FrameKey`].
    pub at: u64,
    /// See [`FrameKey`].
    pub form: u8,
}

impl RecentKey for StackFrame {
    #[inline]
    fn number(&self) -> u64 {
        self.ip ^ self.view.rotate_left(32)
    }
}

/// The number of a frame in the text, and its ID.
#[derive(Clone, Copy, Debug)]
struct FrameNumber {
    number: u32,
    id: FrameId,
}

/// A frame in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextFrame<'a> {
    /// ID, for its symbols.
    pub id: FrameId,
    /// How it is printed.
    pub form: u8,
    /// Text before the name.
    pub before: &'a [u8],
    /// Text after the name.
    pub after: &'a [u8],
}

/// A frame that has not been rendered: where its texts end in [`NumberedFrames::texts`].
struct NewFrame {
    /// The text before the name.
    before: usize,
    /// The text after the name, which follows it.
    after: usize,
}

/// Frames by number.
#[derive(Default)]
struct NumberedFrames {
    numbers: IdTable,
    list: Vec<(FrameKey, FrameId)>,
    /// The last of them, which have not been rendered.
    new: Vec<NewFrame>,
    /// Texts before and after their names.
    texts: Vec<u8>,
    /// The frames that have been rendered. Workers have it, too, until their text is taken from them.
    rendered: Arc<RenderedFrames>,
}

/// Frames as they are written.
#[derive(Clone, Default)]
struct RenderedFrames {
    /// One frame after the other.
    text: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl RenderedFrames {
    /// A frame by its number.
    fn frame(&self, number: u32) -> &[u8] {
        if number == LITERAL {
            return &[FRAME];
        }
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }
}

/// Text for a worker, and buffers that are used again.
#[derive(Default)]
struct Piece {
    /// Text with numbers of frames.
    numbered: Vec<u8>,
    /// The same with the frames.
    written: Vec<u8>,
}

impl Piece {
    /// Replaces the numbers by frames.
    fn replace(mut self, frames: Arc<RenderedFrames>) -> Self {
        let Self { numbered, written } = &mut self;
        let mut rest = &numbered[..];
        while let Some((before, number, after)) = next_frame(rest) {
            written.extend_from_slice(before);
            written.extend_from_slice(frames.frame(number));
            rest = after;
        }
        written.extend_from_slice(rest);
        self
    }
}

impl NumberedFrames {
    /// The number of a frame. A new one is described: it has this ID, and `before` and `after` append what surrounds its name.
    fn number(
        &mut self,
        key: FrameKey,
        id: impl FnOnce() -> FrameId,
        before: impl FnOnce(&mut Vec<u8>),
        after: impl FnOnce(&mut Vec<u8>),
    ) -> u32 {
        let Self { numbers, list, new: new_frames, texts, .. } = self;
        let new = list.len() as u32;
        let number = numbers.find_or_insert(numbers.hash(key), new, |number| list[number as usize].0 == key);
        if number == new {
            list.push((key, id()));
            before(texts);
            let before = texts.len();
            after(texts);
            new_frames.push(NewFrame { before, after: texts.len() });
        }
        number
    }

    /// Renders the frames that have not been rendered.
    fn render(&mut self, mut render: impl FnMut(&mut Vec<u8>, TextFrame<'_>)) {
        let Self { list, new, texts, rendered, .. } = self;
        let RenderedFrames { text, ends } = Arc::make_mut(rendered);
        let mut start = 0;
        for (&(key, id), &NewFrame { before, after }) in list[ends.len()..].iter().zip(&*new) {
            let frame = TextFrame { id, form: key.form, before: &texts[start..before], after: &texts[before..after] };
            render(text, frame);
            ends.push(text.len());
            start = after;
        }
        new.clear();
        texts.clear();
    }

    /// Size of the frames.
    fn size(&self) -> usize {
        size_of_val(&self.list[..]) + self.rendered.text.len() + self.new_size()
    }

    /// Size of the frames that have not been rendered.
    fn new_size(&self) -> usize {
        size_of_val(&self.new[..]) + self.texts.len()
    }
}

/// Text with frames whose names are not yet known.
pub(crate) struct NamedFrames {
    sources: SymbolSources,
    symbolization: Option<Symbolization>,
    mappings: Mappings,
    stacks: Stacks,
    frames: NumberedFrames,
    /// Most frames of a stack are in another one.
    recent: Recent<StackFrame, FrameNumber>,
    /// Text whose frames have not been looked up.
    pieces: Vec<Piece>,
    /// Its size.
    size: usize,
    /// Text in which workers replace numbers by frames.
    replacing: WorkerPool<(Piece, Arc<RenderedFrames>), Piece>,
    /// Empty pieces.
    spare: Vec<Piece>,
    /// How often frames of stacks occur, by ID.
    counts: Vec<FrameCounts>,
    /// Frames of stacks outside of mappings: in the kernel, and elsewhere.
    outside: [FrameCounts; 2],
    /// Whether the next frame of a stack is its innermost.
    is_at_leaf: bool,
}

impl NamedFrames {
    /// Creates an empty text; `None` if there are no symbols to look up.
    pub(crate) fn new(sources: &SymbolSources) -> Option<Self> {
        sources.is_any().then(|| Self {
            sources: sources.clone(),
            symbolization: None,
            mappings: Mappings::new(sources.has_objects()),
            stacks: Stacks::default(),
            frames: NumberedFrames::default(),
            recent: Recent::default(),
            pieces: Vec::new(),
            size: 0,
            replacing: WorkerPool::new("names", usize::MAX, || |(piece, frames): (Piece, _)| piece.replace(frames)),
            spare: Vec::new(),
            counts: Vec::new(),
            outside: [FrameCounts::default(); 2],
            is_at_leaf: false,
        })
    }

    /// Appends a frame to a text. `before` and `after` append what surrounds its name; both depend on nothing but the key, and are
    /// called when it is new.
    pub(crate) fn append(
        &mut self,
        text: &mut Vec<u8>,
        key: FrameKey,
        map: &Map,
        before: impl FnOnce(&mut Vec<u8>),
        after: impl FnOnce(&mut Vec<u8>),
    ) {
        append_number(self.number(key, map, before, after).number, text);
    }

    /// The number of a frame, see [`append`](Self::append).
    fn number(
        &mut self,
        key: FrameKey,
        map: &Map,
        before: impl FnOnce(&mut Vec<u8>),
        after: impl FnOnce(&mut Vec<u8>),
    ) -> FrameNumber {
        let Self { mappings, stacks, frames, .. } = self;
        let id = || stacks.frame_id(mappings.frame(key.map, || map, key.at, key.ip != key.at));
        let number = frames.number(key, id, before, after);
        FrameNumber { number, id: frames.list[number as usize].1 }
    }

    /// Begins the stack of a sample, whose frames are counted.
    pub(crate) fn begin_stack(&mut self) {
        self.is_at_leaf = true;
    }

    /// Appends a frame of a stack that has been appended recently. Returns whether it has.
    #[inline]
    pub(crate) fn append_recent(&mut self, text: &mut Vec<u8>, frame: StackFrame) -> bool {
        let recent = self.recent.get(frame);
        recent.into_iter().for_each(|recent| self.append_counted(text, recent));
        recent.is_some()
    }

    /// As [`append`](Self::append), for a frame of a stack.
    pub(crate) fn append_stack_frame(
        &mut self,
        text: &mut Vec<u8>,
        (frame, key): (StackFrame, FrameKey),
        map: &Map,
        before: impl FnOnce(&mut Vec<u8>),
        after: impl FnOnce(&mut Vec<u8>),
    ) {
        let number = self.number(key, map, before, after);
        self.recent.put(frame, number);
        self.append_counted(text, number);
    }

    #[inline]
    fn append_counted(&mut self, text: &mut Vec<u8>, FrameNumber { number, id }: FrameNumber) {
        append_number(number, text);
        let id = id as usize;
        if self.counts.len() <= id {
            self.counts.resize(id + 1, FrameCounts::default());
        }
        self.counts[id].count(std::mem::take(&mut self.is_at_leaf), 1);
    }

    /// Counts a frame of a stack that has no mapping, and thus no name.
    pub(crate) fn count_outside(&mut self, space: Space) {
        self.outside[usize::from(space.is_kernel())].count(std::mem::take(&mut self.is_at_leaf), 1);
    }

    /// The frames without names of the stacks that were written.
    pub(crate) fn unnamed(&self) -> Option<Unsymbolized> {
        let symbolization = self.symbolization.as_ref()?;
        let mut unnamed = Unsymbolized::default();
        let looked_up = LookedUpFrames {
            frames: self.stacks.frames(),
            mappings: self.mappings.list(),
            symbols: symbolization.symbols(),
            objects: &symbolization.reports(),
        };
        unnamed.add_frames(looked_up, &self.counts);
        let [user, kernel] = self.outside;
        unnamed.add_outside(false, user);
        unnamed.add_outside(true, kernel);
        Some(unnamed)
    }

    /// Appends text, to be written later.
    pub(crate) fn add(&mut self, text: &[u8]) {
        let Self { pieces, size, spare, .. } = self;
        *size += text.len();
        match pieces.last_mut().filter(|piece| piece.numbered.len() < PIECE) {
            Some(piece) => piece.numbered.extend_from_slice(text),
            None => {
                let mut piece = spare.pop().unwrap_or_default();
                piece.numbered.extend_from_slice(text);
                pieces.push(piece);
            }
        }
    }

    /// Whether there is so much text that it should be written.
    pub(crate) fn is_full(&self) -> bool {
        self.size + self.frames.new_size() >= TEXT
    }

    /// Forgets the frames, if there are many and all text has been given to workers. No other text may refer to frames.
    pub(crate) fn forget(&mut self) {
        if self.pieces.is_empty() && self.frames.size() >= RENDERED {
            self.frames = NumberedFrames::default();
            self.recent = Recent::default();
        }
    }

    /// Looks up the frames of the text, each rendered by `render`, gives it to workers, and writes the text before it.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn write(
        &mut self,
        (meta, session): (&Meta, &Session),
        out: &mut dyn Write,
        mut render: impl FnMut(&mut Vec<u8>, TextFrame<'_>, &Symbols),
    ) -> Result<()> {
        // The workers are done with the rendered frames, to which others can be added now.
        let replaced: Vec<_> = std::iter::from_fn(|| self.replacing.next_result()).collect();
        let Self { sources, symbolization, mappings, stacks, frames, .. } = self;
        let symbolization = symbolization.get_or_insert_with(|| Symbolization::new(sources, meta).keep_objects());
        symbolization.look_up(stacks.frames(), mappings.list(), session.process_files());
        frames.render(|rendered, frame| render(rendered, frame, symbolization.symbols()));
        self.pieces.drain(..).for_each(|piece| self.replacing.give((piece, Arc::clone(&frames.rendered))));
        self.size = 0;
        replaced.into_iter().try_for_each(|piece| self.write_piece(piece, out))
    }

    /// Writes the text that was given to workers.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        while let Some(piece) = self.replacing.next_result() {
            self.write_piece(piece, out)?;
        }
        Ok(())
    }

    fn write_piece(&mut self, mut piece: Piece, out: &mut dyn Write) -> Result<()> {
        out.write_all(&piece.written).map_err(Error::Output)?;
        piece.numbered.clear();
        piece.written.clear();
        self.spare.push(piece);
        Ok(())
    }
}

/// The text before the first frame, the number of the frame, and the text after it; `None` without a frame.
fn next_frame(text: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let start = memchr::memchr(FRAME, text)?;
    let (number, rest) = text[start + 1..].split_first_chunk()?;
    Some((&text[..start], u32::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_in_text() {
        let text = b"a\xff\x07\xff\0\0b\xff\x08\0\0\0";
        let (before, number, rest) = next_frame(text).unwrap();
        assert_eq!((before, number), (&b"a"[..], 0xff07));
        assert_eq!(next_frame(rest), Some((&b"b"[..], 8, &b""[..])));
        assert!(next_frame(b"c").is_none());
    }

    #[test]
    fn a_frame_is_described_and_rendered_once() {
        let mut frames = NumberedFrames::default();
        let mut described = 0;
        let mut add = |frames: &mut NumberedFrames, ip, [before, after]: [u8; 2]| {
            let key = FrameKey { map: MapId(0), ip, at: ip, form: 3 };
            let id = || {
                described += 1;
                9 + described
            };
            let number = frames.number(key, id, |out| out.push(before), |out| out.push(after));
            (number, described)
        };
        assert_eq!(
            [(1, *b"<>"), (2, *b"[]"), (1, *b"<>")].map(|(ip, text)| add(&mut frames, ip, text)),
            [(0, 1), (1, 2), (0, 2)]
        );
        let render = |out: &mut Vec<u8>, frame: TextFrame<'_>| {
            let id = frame.id.to_string();
            out.extend([frame.before, id.as_bytes(), frame.after].concat());
        };
        frames.render(render);
        assert_eq!(frames.new_size(), 0);
        assert_eq!(add(&mut frames, 3, *b"{}"), (2, 3));
        frames.render(render);
        let rendered = [0, 1, 2].map(|number| frames.rendered.frame(number));
        assert_eq!(rendered, [&b"<10>"[..], b"[11]", b"{12}"]);
    }
}
