//! A stream of JSON read in batches of objects: one a line, all in one list, or formatted in any other way.
//!
//! A batch is cut where a line begins with an object, and its pieces are read at once on several threads. That such a line
//! begins an object of the stream, not one within another, is a bet: where a piece does not end with an object, the batch is
//! read again, in order.

use super::item::Item;
use super::object::Object;
use super::parallel;
use super::rules::Ruled;
use super::wrong::{Wrong, wrong_in};
use crate::abi::Endian;
use memchr::memmem;
use serde::{Deserialize, Deserializer};
use std::io::{self, Read};
use std::marker::PhantomData;

/// How much each thread gets at a time.
const PIECE: usize = 1 << 20;

/// Reads a stream in batches.
pub struct Batches<'r> {
    stream: &'r mut dyn Read,
    buffer: Vec<u8>,
    /// How much of the buffer has been read.
    read: usize,
    /// The line that the buffer begins in, from 1.
    line: u64,
    has_ended: bool,
    state: State,
    /// Byte order of the recording, once it is told.
    endian: Option<Endian>,
}

/// Where between objects the stream is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing has been read.
    Start,
    /// Among objects without a list around them.
    Lines,
    /// In a list, before an object.
    ListBefore,
    /// In a list, behind an object.
    ListBehind,
    /// Behind the list.
    End,
}

impl State {
    /// Where the stream is behind an object that it had been before.
    fn behind_object(self) -> Self {
        if self == Self::ListBefore { Self::ListBehind } else { Self::Lines }
    }
}

/// Why there is no next batch.
pub enum Failure {
    /// The stream cannot be read.
    Io(io::Error),
    /// A line is not as it must be.
    Wrong(u64, Wrong),
}

/// Objects from a part of the stream.
pub struct Piece {
    /// What they tell, and where they begin in the batch.
    pub items: Vec<(usize, Item)>,
    /// The bytes of the records among them.
    pub bytes: Vec<u8>,
    /// Where it ends.
    end: usize,
    /// Where the stream is then.
    state: State,
    /// Why it ends before the end of the text.
    stopped: Option<Wrong>,
}

impl<'r> Batches<'r> {
    /// Takes a stream.
    pub fn new(stream: &'r mut dyn Read) -> Self {
        Self { stream, buffer: Vec::new(), read: 0, line: 1, has_ended: false, state: State::Start, endian: None }
    }

    /// The line of a place in the last batch.
    pub fn line(&self, at: usize) -> u64 {
        self.line + lines(&self.buffer[..at])
    }

    /// The line of the last place that was looked at.
    pub fn last_line(&self) -> u64 {
        self.line(self.read)
    }

    /// The object at a place in the last batch, which was read before, once more.
    pub fn object(&self, at: usize) -> Option<Object<'_>> {
        let text = std::str::from_utf8(&self.buffer[at..self.read]).ok()?;
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<ByTheRules<'_>>();
        stream.next()?.ok().map(|ByTheRules(object)| object)
    }

    /// The next objects; the first one comes alone. There are none at the end.
    ///
    /// # Errors
    /// Where the stream cannot be read or does not hold objects of this format.
    pub fn next(&mut self) -> Result<Vec<Piece>, Failure> {
        self.line += lines(&self.buffer[..self.read]);
        self.buffer.drain(..self.read);
        self.read = 0;
        loop {
            self.fill().map_err(Failure::Io)?;
            if let Some(pieces) = self.at_once() {
                return Ok(pieces);
            }
            let piece = objects(&self.buffer, 0, self.state, self.endian);
            if !piece.items.is_empty() {
                if let Some((_, Item::File { endian, .. })) = piece.items.first() {
                    self.endian = Some(*endian);
                }
                (self.read, self.state) = (piece.end, piece.state);
                return Ok(vec![piece]);
            }
            match piece.stopped {
                Some(wrong) if !wrong.is_cut => {
                    return Err(Failure::Wrong(self.line(piece.end) + wrong.lines as u64, wrong));
                }
                Some(_) if self.has_ended => {
                    return Err(Failure::Wrong(self.line(piece.end), Wrong::new("the object is cut short")));
                }
                None if self.has_ended => return self.end(piece).map(|()| Vec::new()),
                _ => {}
            }
        }
    }

    fn end(&mut self, piece: Piece) -> Result<(), Failure> {
        (self.read, self.state) = (piece.end, piece.state);
        match self.state {
            State::Lines | State::End => Ok(()),
            _ => Err(Failure::Wrong(self.line(piece.end), Wrong::new("the document is cut short"))),
        }
    }

    /// Reads more behind what is there: at least a batch, and as much as there is, so that an object of any size is looked at
    /// a few times only.
    fn fill(&mut self) -> io::Result<()> {
        let batch = if self.endian.is_some() { PIECE * parallel::workers() } else { PIECE };
        let more = batch.max(self.buffer.len()) as u64;
        let read = (&mut self.stream).take(more).read_to_end(&mut self.buffer)?;
        self.has_ended = (read as u64) < more;
        Ok(())
    }

    /// Reads the buffer in pieces at once, if it can be cut into such as hold whole objects.
    fn at_once(&mut self) -> Option<Vec<Piece>> {
        self.endian?;
        let guess = if self.state == State::Lines { State::Lines } else { State::ListBefore };
        let cuts = cuts(&self.buffer, self.has_ended)?;
        let begins = |from: usize| if from == 0 { self.state } else { guess };
        let (buffer, endian) = (&self.buffer, self.endian);
        let pairs: Vec<_> = cuts.windows(2).map(|cut| (cut[0], cut[1])).collect();
        let pieces = parallel::each(pairs, |(from, to)| objects(&buffer[..to], from, begins(from), endian));
        let is_whole = |(piece, next): (&Piece, &usize)| piece.stopped.is_none() && piece.end == *next;
        let goes_on = |pair: &[Piece]| pair[0].state == guess;
        if !pieces.iter().zip(&cuts[1..]).all(is_whole) || !pieces.windows(2).all(goes_on) {
            return None;
        }
        let last = pieces.last().filter(|_| pieces.iter().any(|piece| !piece.items.is_empty()))?;
        (self.read, self.state) = (last.end, last.state);
        Some(pieces)
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Where a text can be cut into about as many pieces as can be read at once, its ends included.
fn cuts(text: &[u8], has_ended: bool) -> Option<Vec<usize>> {
    const LINE: &[u8] = b"\n{";
    let end = if has_ended { text.len() } else { memmem::rfind(text, LINE)? + 1 };
    let each = end.div_ceil(parallel::workers()).max(PIECE / 16);
    let mut cuts = vec![0];
    let mut at = each;
    while let Some(found) = text.get(at..end).and_then(|rest| memmem::find(rest, LINE)) {
        cuts.push(at + found + 1);
        at += found + each;
    }
    cuts.push(end);
    Some(cuts)
}

/// An object, read by the rules of this format.
struct ByTheRules<'a>(Object<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for ByTheRules<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Object::deserialize(Ruled(deserializer)).map(Self)
    }
}

/// Reads objects from a place in a text to its end; the first one of all alone.
fn objects(text: &[u8], from: usize, state: State, endian: Option<Endian>) -> Piece {
    let (text, broken) = match std::str::from_utf8(&text[from..]) {
        Ok(text) => (text, None),
        Err(e) => (std::str::from_utf8(&text[from..][..e.valid_up_to()]).unwrap_or_default(), Some(e)),
    };
    // The JSON of records is two to three times as long as they are.
    let bytes = Vec::with_capacity(text.len() / 2);
    let mut piece = Piece { items: Vec::new(), bytes, end: from, state, stopped: None };
    while let Some(&byte) = text.as_bytes().get(piece.end - from) {
        let at = piece.end;
        match (byte, piece.state) {
            (b' ' | b'\t' | b'\r' | b'\n', _) => {}
            (b'[', State::Start) => piece.state = State::ListBefore,
            (b',', State::ListBehind) => piece.state = State::ListBefore,
            (b']', State::ListBehind) => piece.state = State::End,
            (b'{', State::Start | State::Lines | State::ListBefore) => {
                let rest = &text[at - from..];
                let usual = endian.and_then(|endian| Item::usual(rest, endian, &mut piece.bytes));
                if let Some((item, len)) = usual {
                    piece.items.push((at, item));
                    piece.end += len;
                    piece.state = piece.state.behind_object();
                    continue;
                }
                let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<ByTheRules<'_>>();
                let read = match stream.next() {
                    Some(Ok(ByTheRules(object))) => Item::of(object, endian, &mut piece.bytes),
                    _ => Err(wrong_in(rest, PhantomData::<Object<'_>>).unwrap_or_else(|| Wrong::new("no object"))),
                };
                match read {
                    Ok(mut item) => {
                        // What is told as bytes in a field may be what its event says are fields.
                        let told = &rest.as_bytes()[..stream.byte_offset()];
                        if let Item::Record { told: Some(fields), .. } = &mut item {
                            fields.is_all &= memmem::find(told, b"\"padding\"").is_none();
                        }
                        piece.items.push((at, item));
                    }
                    Err(wrong) => {
                        piece.stopped = Some(wrong);
                        break;
                    }
                }
                piece.end += stream.byte_offset();
                piece.state = piece.state.behind_object();
                if endian.is_none() {
                    return piece;
                }
                continue;
            }
            _ => {
                let what = format!("expected an object, found `{}`", byte.escape_ascii());
                piece.stopped = Some(Wrong::new(what));
                break;
            }
        }
        piece.end += 1;
    }
    if let Some(broken) = broken.filter(|_| piece.stopped.as_ref().is_none_or(|wrong| wrong.is_cut)) {
        let is_cut = broken.error_len().is_none();
        let mut wrong = Wrong::new("a string that is not UTF-8");
        wrong.is_cut = is_cut;
        piece.stopped = Some(wrong);
    }
    piece
}
