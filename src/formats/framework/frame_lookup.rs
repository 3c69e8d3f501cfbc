//! Looks up the functions of frames in text, renders each frame once, and replaces the frames by their text: on threads of their
//! own, while the text of further samples is collected.

use super::named_frames::{Counted, FrameKey, InText, next_frame};
use crate::profile::intern::mappings::Mappings;
use crate::profile::intern::stacks::{FrameId, Stacks};
use crate::profile::symbolize::Symbolization;
use crate::profile::symbolize::symbols::Symbols;
use crate::profile::symbolize::unsymbolized::{FrameCounts, LookedUpFrames, Unsymbolized};
use perf_data::session::ProcessFiles;
use perf_data::session::address_space::AddressSpace;
use perf_data::session::id_table::{IdTable, KeyHash};
use perf_data::session::map::Map;
use perf_data::threads::WorkerPool;
use std::mem::size_of_val;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The number of the byte that begins a frame, see [`InText::Literal`].
const LITERAL: u32 = u32::MAX;

/// Number of frames that are numbered at once: they and their hashes stay in the CPU caches.
const AT_ONCE: usize = 256;

/// Size of rendered frames above which they are forgotten.
const RENDERED: usize = 32 << 20;

/// Writes frames in a format.
pub(crate) trait FrameRenderer: Send {
    /// Appends a frame.
    fn render(&mut self, out: &mut Vec<u8>, frame: NamedFrame<'_>);
}

/// A frame whose functions have been looked up.
#[derive(Clone, Copy)]
pub(crate) struct NamedFrame<'a> {
    /// Which frame.
    pub key: FrameKey,
    /// Its mapping.
    pub map: &'a Map,
    /// ID, for its symbols.
    pub id: FrameId,
    /// The symbols.
    pub symbols: &'a Symbols,
}

/// Text, and what is needed to look up its frames.
pub(super) struct Batch {
    pub pieces: Vec<Piece>,
    /// With the first frames.
    pub renderer: Option<Box<dyn FrameRenderer>>,
    pub maps: AddressSpace,
    pub process_files: Arc<ProcessFiles>,
}

/// A part of the text, and buffers that are used again.
#[derive(Default)]
pub(super) struct Piece {
    /// Text with frames by their addresses.
    pub text: Vec<u8>,
    /// The numbers of these frames.
    numbers: Vec<u32>,
    /// The text with rendered frames.
    pub written: Vec<u8>,
}

impl Piece {
    /// Empties the buffers.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.numbers.clear();
        self.written.clear();
    }

    /// Replaces the frames.
    fn replace(mut self, frames: Arc<RenderedFrames>) -> Self {
        let Self { text, numbers, written } = &mut self;
        let mut rest = &text[..];
        for &number in &*numbers {
            let Some((before, _, after)) = next_frame(rest) else { break };
            written.extend_from_slice(before);
            written.extend_from_slice(frames.frame(number));
            rest = after;
        }
        written.extend_from_slice(rest);
        self
    }
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
            return InText::LITERAL_TEXT;
        }
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }
}

/// A frame by its number.
struct NumberedFrame {
    key: FrameKey,
    id: FrameId,
    /// How often it occurs in stacks.
    counts: FrameCounts,
}

/// Frames by number, in the order in which they first occur.
#[derive(Default)]
struct NumberedFrames {
    numbers: IdTable,
    list: Vec<NumberedFrame>,
    /// Scratch buffers: frames that are numbered at once, and their hashes.
    at_once: Vec<InText>,
    hashes: Vec<KeyHash>,
}

impl NumberedFrames {
    /// Numbers the frames of a text. `id` determines the ID of a new frame.
    fn number(&mut self, piece: &mut Piece, mut id: impl FnMut(FrameKey) -> FrameId) {
        let Piece { text, numbers, .. } = piece;
        let mut rest = &text[..];
        loop {
            self.at_once.clear();
            while let Some((_, frame, after)) = next_frame(rest).filter(|_| self.at_once.len() < AT_ONCE) {
                self.at_once.push(InText::parse(frame));
                rest = after;
            }
            if self.at_once.is_empty() {
                return;
            }
            self.load();
            for index in 0..self.at_once.len() {
                numbers.push(match self.at_once[index] {
                    InText::Frame(key, counted) => self.count(key, self.hashes[index], counted, &mut id),
                    InText::Literal => LITERAL,
                });
            }
        }
    }

    /// Hashes the frames, and loads what their lookups read into the CPU caches.
    fn load(&mut self) {
        let Self { numbers, list, at_once, hashes } = self;
        hashes.clear();
        hashes.extend(at_once.iter().map(|frame| match frame {
            InText::Frame(key, _) => numbers.hash(key),
            InText::Literal => KeyHash::default(),
        }));
        numbers.load(hashes, |number| list.get(number as usize).map_or(0, |frame| frame.key.ip));
    }

    /// Counts a frame, and returns its number.
    #[inline]
    fn count(&mut self, key: FrameKey, hash: KeyHash, counted: Counted, id: impl FnOnce(FrameKey) -> FrameId) -> u32 {
        let Self { numbers, list, .. } = self;
        let new = list.len() as u32;
        let number = numbers.find_or_insert(hash, new, |number| list[number as usize].key == key);
        if number == new {
            list.push(NumberedFrame { key, id: id(key), counts: FrameCounts::default() });
        }
        if counted != Counted::No {
            list[number as usize].counts.count(counted == Counted::Innermost, 1);
        }
        number
    }

    /// Adds how often the frames occur, by ID.
    fn add_counts(&self, counts: &mut Vec<FrameCounts>) {
        for frame in &self.list {
            let id = frame.id as usize;
            if counts.len() <= id {
                counts.resize(id + 1, FrameCounts::default());
            }
            counts[id] += frame.counts;
        }
    }
}

/// Frames of a text, with what is needed to look them up and to render them.
pub(super) struct FrameLookup {
    symbolization: Symbolization,
    mappings: Mappings,
    stacks: Stacks,
    frames: NumberedFrames,
    /// `None` until there are frames.
    renderer: Option<Box<dyn FrameRenderer>>,
    /// The frames that have been rendered. Workers have it, too, until their text is taken from them.
    rendered: Arc<RenderedFrames>,
    /// How often forgotten frames occur, by ID.
    forgotten: Vec<FrameCounts>,
    replacing: WorkerPool<(Piece, Arc<RenderedFrames>), Piece>,
    /// Gets the text that is complete.
    complete: Sender<Piece>,
}

impl FrameLookup {
    pub(super) fn new(symbolization: Symbolization, has_objects: bool, complete: Sender<Piece>) -> Self {
        Self {
            symbolization,
            mappings: Mappings::new(has_objects),
            stacks: Stacks::default(),
            frames: NumberedFrames::default(),
            renderer: None,
            rendered: Arc::default(),
            forgotten: Vec::new(),
            replacing: WorkerPool::new("names", usize::MAX, || |(piece, frames): (Piece, _)| piece.replace(frames)),
            complete,
        }
    }

    /// Looks up the frames of a text, and gives it to workers.
    pub(super) fn add(&mut self, mut batch: Batch) {
        self.renderer = batch.renderer.or(self.renderer.take());
        let Self { mappings, stacks, frames, .. } = self;
        for piece in &mut batch.pieces {
            frames.number(piece, |key| {
                let FrameKey { map, ip, at, .. } = key;
                stacks.frame_id(mappings.frame(map, || batch.maps.map(map), at, ip != at))
            });
        }
        self.symbolization.look_up(self.stacks.frames(), self.mappings.list(), &batch.process_files);
        // The workers are done with the rendered frames then, to which others can be added.
        self.finish();
        self.render(&batch.maps);
        for piece in batch.pieces {
            self.replacing.give((piece, Arc::clone(&self.rendered)));
        }
        self.forget();
    }

    /// Renders the frames that have not been rendered.
    fn render(&mut self, maps: &AddressSpace) {
        let Self { symbolization, frames, renderer, rendered, .. } = self;
        let Some(renderer) = renderer else { return };
        let RenderedFrames { text, ends } = Arc::make_mut(rendered);
        let symbols = symbolization.symbols();
        for &NumberedFrame { key, id, .. } in &frames.list[ends.len()..] {
            renderer.render(text, NamedFrame { key, map: &maps.map(key.map), id, symbols });
            ends.push(text.len());
        }
    }

    /// Forgets the frames if there are many.
    fn forget(&mut self) {
        if size_of_val(&self.frames.list[..]) + self.rendered.text.len() >= RENDERED {
            self.frames.add_counts(&mut self.forgotten);
            self.frames = NumberedFrames::default();
            self.rendered = Arc::default();
        }
    }

    /// Passes on the text that workers have.
    pub(super) fn finish(&mut self) {
        while let Some(piece) = self.replacing.next_result() {
            // The receiver no longer exists if the output could not be written.
            let _ = self.complete.send(piece);
        }
    }

    /// The frames without names.
    pub(super) fn unnamed(&self) -> Unsymbolized {
        let mut counts = self.forgotten.clone();
        self.frames.add_counts(&mut counts);
        let mut unnamed = Unsymbolized::default();
        let looked_up = LookedUpFrames {
            frames: self.stacks.frames(),
            mappings: self.mappings.list(),
            symbols: self.symbolization.symbols(),
            objects: &self.symbolization.reports(),
        };
        unnamed.add_frames(looked_up, &counts);
        unnamed
    }
}

#[cfg(test)]
mod tests {
    use super::super::named_frames::append_text;
    use super::*;
    use perf_data::session::map::MapId;

    #[test]
    fn a_frame_is_numbered_once_and_replaced_everywhere() {
        let mut frames = NumberedFrames::default();
        let mut piece = Piece::default();
        let mut new = Vec::new();
        let key = |ip| FrameKey { map: MapId(0), ip, at: ip, form: 3 };
        for (ip, counted) in [(1, Counted::Innermost), (2, Counted::Caller), (1, Counted::No), (2, Counted::Innermost)]
        {
            InText::append(key(ip), counted, &mut piece.text);
            append_text(b";\xff", &mut piece.text);
        }
        frames.number(&mut piece, |key| {
            new.push(key.ip);
            9 + key.ip as u32
        });
        assert_eq!((&*new, &*piece.numbers), (&[1, 2][..], &[0, LITERAL, 1, LITERAL, 0, LITERAL, 1, LITERAL][..]));
        let mut counts = Vec::new();
        frames.add_counts(&mut counts);
        let counts: Vec<_> = counts[10..].iter().map(|count| (count.innermost, count.all)).collect();
        assert_eq!(counts, [(1, 1), (1, 2)]);
        let rendered = RenderedFrames { text: b"[one][two]".to_vec(), ends: vec![5, 10] };
        assert_eq!(piece.replace(Arc::new(rendered)).written, b"[one];\xff[two];\xff[one];\xff[two];\xff");
    }
}
