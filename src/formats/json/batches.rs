//! Reads a stream of JSON in batches of objects: one per line, in one array, or formatted in any other way. A long
//! stream is read on its own thread, one batch ahead of the consumer.
//!
//! A batch is split at lines that begin with an object, and its pieces are parsed by several threads in parallel.
//! That such a line begins a top-level object and not a nested one is a guess: if a piece does not end with an
//! object, the batch is parsed again sequentially.

use super::field_error::{FieldError, field_error_in};
use super::item::JsonItem;
use super::object::ParsedObject;
use super::rules::RuleDeserializer;
use memchr::memmem;
use perf_data::abi::Endian;
use perf_data::error::Error;
use perf_data::threads::{WorkerPool, builder, returned, workers};
use serde::{Deserialize, Deserializer};
use std::io::{self, Read};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

/// Bytes of JSON per thread and batch.
const PIECE: usize = 1 << 20;

/// Calls `take` with each batch of a stream, and returns the number of its last line.
///
/// # Errors
/// Errors of `take`, and those that `failed` makes for a stream that cannot be read or contains other objects.
pub(super) fn each(
    stream: &mut (dyn Read + Send),
    failed: impl Fn(Failure) -> Error,
    mut take: impl FnMut(&mut JsonBatch) -> Result<(), Error>,
) -> Result<u64, Error> {
    let (sender, batches) = sync_channel(1);
    let (empty, texts) = channel();
    let mut batch_reader = Batches::new(stream, texts);
    // A short stream is read faster than a thread starts.
    loop {
        let Some(mut batch) = batch_reader.next().map_err(&failed)? else { return Ok(batch_reader.line) };
        take(&mut batch)?;
        if !batch_reader.has_ended {
            break;
        }
    }
    let read_ahead = thread::scope(|scope| {
        let batch_reader = &mut batch_reader;
        let reader = builder("json").spawn_scoped(scope, move || batch_reader.send(&sender));
        let Ok(reader) = reader else { return Ok(false) };
        for batch in batches {
            let mut batch = batch.map_err(&failed)?;
            take(&mut batch)?;
            // The reader may have finished, and then does not need the buffer.
            let _ = empty.send(batch.text);
        }
        returned(reader.join());
        Ok(true)
    })?;
    if !read_ahead {
        while let Some(mut batch) = batch_reader.next().map_err(&failed)? {
            take(&mut batch)?;
            let _ = empty.send(batch.text);
        }
    }
    Ok(batch_reader.line)
}

/// Consecutive objects of a stream.
pub(super) struct JsonBatch {
    /// The objects.
    pub pieces: Vec<Piece>,
    text: Vec<u8>,
    /// The line at which it begins, from 1.
    line: u64,
}

impl JsonBatch {
    /// The line of an offset in the batch.
    pub(super) fn line(&self, at: usize) -> u64 {
        self.line + lines(&self.text[..at])
    }

    /// Parses the object at an offset a second time.
    pub(super) fn object(&self, at: usize) -> Option<ParsedObject<'_>> {
        let text = std::str::from_utf8(&self.text[at..]).ok()?;
        let mut stream = serde_json::Deserializer::from_str(text).into_iter::<RuledObject<'_>>();
        stream.next()?.ok().map(|RuledObject(object)| object)
    }
}

/// Reads a stream in batches.
struct Batches<'r> {
    stream: &'r mut (dyn Read + Send),
    buffer: Vec<u8>,
    /// Buffers of finished batches: allocating a new one each time takes longer than reading into it.
    texts: Receiver<Vec<u8>>,
    /// The line at which the buffer begins, from 1.
    line: u64,
    has_ended: bool,
    state: State,
    /// Byte order of the recording, once the first object gave it.
    endian: Option<Endian>,
    pieces: WorkerPool<JsonPart, Piece>,
}

/// A part of a text, parsed independently.
struct JsonPart {
    text: Arc<Vec<u8>>,
    from: usize,
    to: usize,
    /// The assumed state at its beginning.
    state: State,
    endian: Option<Endian>,
}

/// Position of the stream relative to objects and the array.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was read.
    Start,
    /// Between objects outside an array.
    Lines,
    /// In an array, before an object.
    ListBefore,
    /// In an array, after an object.
    ListBehind,
    /// After the array.
    End,
}

impl State {
    /// The state after an object.
    fn behind_object(self) -> Self {
        if self == Self::ListBefore { Self::ListBehind } else { Self::Lines }
    }
}

/// Reason why there is no next batch.
pub(super) enum Failure {
    /// The stream cannot be read.
    Io(io::Error),
    /// The JSON on this line is invalid.
    Field(u64, FieldError),
}

/// Objects from a part of the stream.
pub(super) struct Piece {
    /// The objects, with their offsets in the batch.
    pub items: Vec<(usize, JsonItem)>,
    /// The bytes of their records.
    pub bytes: Vec<u8>,
    /// Offset of its end.
    end: usize,
    /// The state at its end.
    state: State,
    /// Error that stopped parsing before the end of the text.
    stopped: Option<FieldError>,
}

impl<'r> Batches<'r> {
    fn new(stream: &'r mut (dyn Read + Send), texts: Receiver<Vec<u8>>) -> Self {
        let pieces = WorkerPool::new("json", workers(), || {
            |JsonPart { text, from, to, state, endian }: JsonPart| objects(&text[..to], from, state, endian)
        });
        let (buffer, state) = (Vec::new(), State::Start);
        Self { stream, buffer, texts, line: 1, has_ended: false, state, endian: None, pieces }
    }

    /// Sends batches until the receiver is dropped or one fails.
    fn send(&mut self, to: &SyncSender<Result<JsonBatch, Failure>>) {
        while let Some(batch) = self.next().transpose() {
            let is_last = batch.is_err();
            if to.send(batch).is_err() || is_last {
                break;
            }
        }
    }

    /// Returns the next objects; the first one is returned alone, since it gives the byte order.
    fn next(&mut self) -> Result<Option<JsonBatch>, Failure> {
        loop {
            self.fill().map_err(Failure::Io)?;
            if let Some(pieces) = self.parse_parallel() {
                return Ok(Some(self.batch(pieces)));
            }
            let piece = objects(&self.buffer, 0, self.state, self.endian);
            if !piece.items.is_empty() {
                if let Some((_, JsonItem::File { endian, .. })) = piece.items.first() {
                    self.endian = Some(*endian);
                }
                return Ok(Some(self.batch(vec![piece])));
            }
            let line = self.line + lines(&self.buffer[..piece.end]);
            match piece.stopped {
                Some(error) if !error.is_truncated => return Err(Failure::Field(line + error.lines as u64, error)),
                Some(_) if self.has_ended => {
                    return Err(Failure::Field(line, FieldError::new("the object is truncated")));
                }
                None if self.has_ended => {
                    self.line = line;
                    return match piece.state {
                        State::Lines | State::End => Ok(None),
                        _ => Err(Failure::Field(line, FieldError::new("the document is truncated"))),
                    };
                }
                _ => {
                    // Blanks are discarded, so that any number of them takes no memory.
                    self.buffer.drain(..piece.end);
                    (self.line, self.state) = (line, piece.state);
                }
            }
        }
    }

    /// Moves the parsed text out of the buffer.
    fn batch(&mut self, pieces: Vec<Piece>) -> JsonBatch {
        let end = pieces.last().map_or(0, |last| last.end);
        self.state = pieces.last().map_or(self.state, |last| last.state);
        let mut rest = self.texts.try_recv().unwrap_or_default();
        rest.clear();
        rest.extend_from_slice(&self.buffer[end..]);
        let mut text = std::mem::replace(&mut self.buffer, rest);
        text.truncate(end);
        let batch = JsonBatch { pieces, line: self.line, text };
        self.line += lines(&batch.text);
        batch
    }

    /// Reads at least a batch, and at least as much as is buffered, so that an object of any size is scanned only a
    /// few times.
    fn fill(&mut self) -> io::Result<()> {
        let batch = if self.endian.is_some() { PIECE * workers() } else { PIECE };
        let more = batch.max(self.buffer.len()) as u64;
        let read = (&mut self.stream).take(more).read_to_end(&mut self.buffer)?;
        self.has_ended = (read as u64) < more;
        Ok(())
    }

    /// Parses the buffer in parallel, if it can be split into several pieces of complete objects.
    fn parse_parallel(&mut self) -> Option<Vec<Piece>> {
        let guess = if self.state == State::Lines { State::Lines } else { State::ListBefore };
        let cuts = self.endian.and_then(|_| cuts(&self.buffer, self.has_ended));
        let cuts = cuts.filter(|cuts| cuts.len() > 2)?;
        let text = Arc::new(std::mem::take(&mut self.buffer));
        for cut in cuts.windows(2) {
            let state = if cut[0] == 0 { self.state } else { guess };
            self.pieces.give(JsonPart {
                text: Arc::clone(&text),
                from: cut[0],
                to: cut[1],
                state,
                endian: self.endian,
            });
        }
        let pieces: Vec<_> = std::iter::from_fn(|| self.pieces.next_result()).collect();
        // The workers have dropped their references.
        self.buffer = Arc::unwrap_or_clone(text);
        let is_complete = |(piece, next): (&Piece, &usize)| piece.stopped.is_none() && piece.end == *next;
        let continues = |pair: &[Piece]| pair[0].state == guess;
        let are_complete = pieces.iter().zip(&cuts[1..]).all(is_complete) && pieces.windows(2).all(continues);
        (are_complete && pieces.iter().any(|piece| !piece.items.is_empty())).then_some(pieces)
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Offsets at which to split a text into about one piece per worker, its start and end included.
fn cuts(text: &[u8], has_ended: bool) -> Option<Vec<usize>> {
    const LINE: &[u8] = b"\n{";
    let end = if has_ended { text.len() } else { memmem::rfind(text, LINE)? + 1 };
    let each = end.div_ceil(workers()).max(PIECE / 16);
    let mut cuts = vec![0];
    let mut at = each;
    while let Some(offset) = text.get(at..end).and_then(|rest| memmem::find(rest, LINE)) {
        cuts.push(at + offset + 1);
        at += offset + each;
    }
    cuts.push(end);
    Some(cuts)
}

/// An object, deserialized by the rules of this format.
struct RuledObject<'a>(ParsedObject<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for RuledObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ParsedObject::deserialize(RuleDeserializer::new(deserializer)).map(Self)
    }
}

/// Parses objects from an offset of a text to its end, or the first object of the stream alone.
fn objects(text: &[u8], from: usize, state: State, endian: Option<Endian>) -> Piece {
    let (text, utf8_error) = match std::str::from_utf8(&text[from..]) {
        Ok(text) => (text, None),
        Err(e) => (std::str::from_utf8(&text[from..][..e.valid_up_to()]).unwrap_or_default(), Some(e)),
    };
    // The JSON of records is two to three times as long as their bytes.
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
                let ordinary = endian.and_then(|endian| JsonItem::ordinary(rest, endian, &mut piece.bytes));
                if let Some((item, len)) = ordinary {
                    piece.items.push((at, item));
                    piece.end += len;
                    piece.state = piece.state.behind_object();
                    continue;
                }
                let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<RuledObject<'_>>();
                let read = match stream.next() {
                    Some(Ok(RuledObject(object))) => JsonItem::from_object(object, endian, &mut piece.bytes),
                    // The object is parsed again to locate its error: tracking the path of every field takes time.
                    _ => Err(field_error_in(rest, PhantomData::<ParsedObject<'_>>)
                        .unwrap_or_else(|| FieldError::new("expected an object"))),
                };
                match read {
                    Ok(mut item) => {
                        // Padding may hold bytes that are fields by the event's layout.
                        let json = &rest.as_bytes()[..stream.byte_offset()];
                        if let JsonItem::Record { described: Some(layout), .. } = &mut item {
                            layout.is_all &= memmem::find(json, b"\"padding\"").is_none();
                        }
                        piece.items.push((at, item));
                    }
                    Err(error) => {
                        piece.stopped = Some(error);
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
                let problem = format!("expected an object, found '{}'", byte.escape_ascii());
                piece.stopped = Some(FieldError::new(problem));
                break;
            }
        }
        piece.end += 1;
    }
    // An error in the valid text comes first; that the text is truncated only follows from the invalid bytes.
    if let Some(utf8_error) = utf8_error.filter(|_| piece.stopped.as_ref().is_none_or(|error| error.is_truncated)) {
        let is_truncated = utf8_error.error_len().is_none();
        let mut error = FieldError::new("the text is not UTF-8");
        error.is_truncated = is_truncated;
        piece.stopped = Some(error);
    }
    piece
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use perf_data::threads::testing::without_threads;

    #[test]
    fn a_long_stream_is_read_without_threads() {
        let line = r#"{"record":"COMM","body":{"pid":100,"tid":100,"comm":"server"}}"#;
        let lines: usize = 1 << 19;
        let text = ["{\"perfconv\":1,\"container\":\"file\",\"endian\":\"little\"}", line].join("\n") + "\n";
        let text = text + &format!("{line}\n").repeat(lines - 2);
        let read = || {
            let failed = |failure| match failure {
                Failure::Io(error) => Error::Output(error),
                Failure::Field(line, error) => Error::input("", line, format!("{error:?}")),
            };
            let mut items = 0;
            let count = |batch: &mut JsonBatch| {
                items += batch.pieces.iter().map(|piece| piece.items.len()).sum::<usize>();
                Ok(())
            };
            each(&mut text.as_bytes(), failed, count).map(|last| (items, last)).unwrap()
        };
        assert_eq!(without_threads(read), (lines, lines as u64 + 1));
        assert_eq!(read(), (lines, lines as u64 + 1));
    }
}
