//! A stream of JSON read in batches of objects: one a line, all in one list, or formatted in any other way. A long one is read on
//! a thread of its own, which is one batch ahead of who takes them.
//!
//! A batch is cut where a line begins with an object, and its pieces are read at once on several threads. That such a line
//! begins an object of the stream, not one within another, is a bet: where a piece does not end with an object, the batch is
//! read again, in order.

use super::field_error::{FieldError, field_error_in};
use super::item::Item;
use super::object::Object;
use super::rules::Ruled;
use crate::abi::Endian;
use crate::error::Error;
use crate::threads::{WorkerPool, returned, workers};
use memchr::memmem;
use serde::{Deserialize, Deserializer};
use std::io::{self, Read};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, Builder};

/// How much each thread gets at a time.
const PIECE: usize = 1 << 20;

/// Has `take` take the batches of a stream, and says in which line that ends.
///
/// # Errors
/// What `take` says, and what `failed` says of a stream that cannot be read or does not hold objects of this format.
pub fn each(
    stream: &mut (dyn Read + Send),
    failed: impl Fn(Failure) -> Error,
    mut take: impl FnMut(&mut Batch) -> Result<(), Error>,
) -> Result<u64, Error> {
    let (sender, batches) = sync_channel(1);
    let (empty, texts) = channel();
    let mut ahead = Batches::new(stream, texts);
    // A short stream is read before a thread for it would have begun.
    loop {
        let Some(mut batch) = ahead.next().map_err(&failed)? else { return Ok(ahead.line) };
        take(&mut batch)?;
        if !ahead.has_ended {
            break;
        }
    }
    thread::scope(|scope| {
        let reader = Builder::new().name("json".to_owned()).spawn_scoped(scope, move || ahead.send(&sender));
        let reader = reader.map_err(|e| failed(Failure::Io(e)))?;
        for batch in batches {
            let mut batch = batch.map_err(&failed)?;
            take(&mut batch)?;
            // That it is not needed any more is no reason to stop.
            let _ = empty.send(batch.text);
        }
        Ok(returned(reader.join()))
    })
}

/// Objects that follow each other in a stream.
pub struct Batch {
    /// The objects.
    pub pieces: Vec<Piece>,
    text: Vec<u8>,
    /// The line that it begins in, from 1.
    line: u64,
}

impl Batch {
    /// The line of a place in it.
    pub fn line(&self, at: usize) -> u64 {
        self.line + lines(&self.text[..at])
    }

    /// The object at a place, which was read before, once more.
    pub fn object(&self, at: usize) -> Option<Object<'_>> {
        let text = std::str::from_utf8(&self.text[at..]).ok()?;
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<ByTheRules<'_>>();
        stream.next()?.ok().map(|ByTheRules(object)| object)
    }
}

/// Reads a stream in batches.
struct Batches<'r> {
    stream: &'r mut (dyn Read + Send),
    buffer: Vec<u8>,
    /// Texts of batches that are not needed any more: memory for each anew would take longer than to read it.
    texts: Receiver<Vec<u8>>,
    /// The line that the buffer begins in, from 1.
    line: u64,
    has_ended: bool,
    state: State,
    /// Byte order of the recording, once it is told.
    endian: Option<Endian>,
    pieces: WorkerPool<Part, Piece>,
}

/// A part of a text, to be read by itself.
struct Part {
    text: Arc<Vec<u8>>,
    from: usize,
    to: usize,
    /// Where the stream is taken to be at its beginning.
    state: State,
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
    Field(u64, FieldError),
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
    stopped: Option<FieldError>,
}

impl<'r> Batches<'r> {
    fn new(stream: &'r mut (dyn Read + Send), texts: Receiver<Vec<u8>>) -> Self {
        let pieces = WorkerPool::new("json", workers(), || {
            |Part { text, from, to, state, endian }: Part| objects(&text[..to], from, state, endian)
        });
        let (buffer, state) = (Vec::new(), State::Start);
        Self { stream, buffer, texts, line: 1, has_ended: false, state, endian: None, pieces }
    }

    /// Sends all batches, as long as they are taken, and says in which line the stream ends. Behind a failure nothing is read.
    fn send(mut self, to: &SyncSender<Result<Batch, Failure>>) -> u64 {
        while let Some(batch) = self.next().transpose() {
            let is_last = batch.is_err();
            if to.send(batch).is_err() || is_last {
                break;
            }
        }
        self.line
    }

    /// The next objects; the first one comes alone.
    fn next(&mut self) -> Result<Option<Batch>, Failure> {
        loop {
            self.fill().map_err(Failure::Io)?;
            if let Some(pieces) = self.at_once().map_err(Failure::Io)? {
                return Ok(Some(self.batch(pieces)));
            }
            let piece = objects(&self.buffer, 0, self.state, self.endian);
            if !piece.items.is_empty() {
                if let Some((_, Item::File { endian, .. })) = piece.items.first() {
                    self.endian = Some(*endian);
                }
                return Ok(Some(self.batch(vec![piece])));
            }
            let line = self.line + lines(&self.buffer[..piece.end]);
            match piece.stopped {
                Some(wrong) if !wrong.is_cut => return Err(Failure::Field(line + wrong.lines as u64, wrong)),
                Some(_) if self.has_ended => {
                    return Err(Failure::Field(line, FieldError::new("the object is cut short")));
                }
                None if self.has_ended => {
                    self.line = line;
                    return match piece.state {
                        State::Lines | State::End => Ok(None),
                        _ => Err(Failure::Field(line, FieldError::new("the document is cut short"))),
                    };
                }
                _ => {
                    // Of nothing but blanks, however much there is, nothing has to be kept.
                    self.buffer.drain(..piece.end);
                    (self.line, self.state) = (line, piece.state);
                }
            }
        }
    }

    /// Takes what was read out of the buffer.
    fn batch(&mut self, pieces: Vec<Piece>) -> Batch {
        let end = pieces.last().map_or(0, |last| last.end);
        self.state = pieces.last().map_or(self.state, |last| last.state);
        let mut rest = self.texts.try_recv().unwrap_or_default();
        rest.clear();
        rest.extend_from_slice(&self.buffer[end..]);
        let mut text = std::mem::replace(&mut self.buffer, rest);
        text.truncate(end);
        let batch = Batch { pieces, line: self.line, text };
        self.line += lines(&batch.text);
        batch
    }

    /// Reads more behind what is there: at least a batch, and as much as there is, so that an object of any size is looked at
    /// a few times only.
    fn fill(&mut self) -> io::Result<()> {
        let batch = if self.endian.is_some() { PIECE * workers() } else { PIECE };
        let more = batch.max(self.buffer.len()) as u64;
        let read = (&mut self.stream).take(more).read_to_end(&mut self.buffer)?;
        self.has_ended = (read as u64) < more;
        Ok(())
    }

    /// Reads the buffer in pieces at once, if it can be cut into several that hold whole objects.
    fn at_once(&mut self) -> io::Result<Option<Vec<Piece>>> {
        let guess = if self.state == State::Lines { State::Lines } else { State::ListBefore };
        let cuts = self.endian.and_then(|_| cuts(&self.buffer, self.has_ended));
        let Some(cuts) = cuts.filter(|cuts| cuts.len() > 2) else { return Ok(None) };
        let text = Arc::new(std::mem::take(&mut self.buffer));
        for cut in cuts.windows(2) {
            let state = if cut[0] == 0 { self.state } else { guess };
            self.pieces.give(Part { text: Arc::clone(&text), from: cut[0], to: cut[1], state, endian: self.endian })?;
        }
        let pieces: Vec<_> = std::iter::from_fn(|| self.pieces.next_result()).collect();
        // All have let go of it who had it.
        self.buffer = Arc::unwrap_or_clone(text);
        let is_whole = |(piece, next): (&Piece, &usize)| piece.stopped.is_none() && piece.end == *next;
        let goes_on = |pair: &[Piece]| pair[0].state == guess;
        let are_whole = pieces.iter().zip(&cuts[1..]).all(is_whole) && pieces.windows(2).all(goes_on);
        Ok((are_whole && pieces.iter().any(|piece| !piece.items.is_empty())).then_some(pieces))
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Where a text can be cut into about as many pieces as can be read at once, its ends included.
fn cuts(text: &[u8], has_ended: bool) -> Option<Vec<usize>> {
    const LINE: &[u8] = b"\n{";
    let end = if has_ended { text.len() } else { memmem::rfind(text, LINE)? + 1 };
    let each = end.div_ceil(workers()).max(PIECE / 16);
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
        Object::deserialize(Ruled::new(deserializer)).map(Self)
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
                let read =
                    match stream.next() {
                        Some(Ok(ByTheRules(object))) => Item::of(object, endian, &mut piece.bytes),
                        _ => Err(field_error_in(rest, PhantomData::<Object<'_>>)
                            .unwrap_or_else(|| FieldError::new("no object"))),
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
                piece.stopped = Some(FieldError::new(what));
                break;
            }
        }
        piece.end += 1;
    }
    if let Some(broken) = broken.filter(|_| piece.stopped.as_ref().is_none_or(|wrong| wrong.is_cut)) {
        let is_cut = broken.error_len().is_none();
        let mut wrong = FieldError::new("a string that is not UTF-8");
        wrong.is_cut = is_cut;
        piece.stopped = Some(wrong);
    }
    piece
}
