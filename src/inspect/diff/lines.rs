//! The records of a recording, read ahead on a thread of their own.

use super::ignore::Ignore;
use super::item::{self, Item, Others};
use super::{DiffOptions, ToJsonLines};
use crate::error::{Error, Result};
use crate::stream::ledger::Ledger;
use crate::stream::source::Source;
use crate::threads::returned;
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// How much is given to the other thread at once, and how many such pieces may wait there.
const PIECE: usize = 1 << 18;
const PIECES: usize = 4;

/// One recording's records as they are told; what else is told of it is kept.
pub struct Lines<'scope> {
    pieces: Receiver<Vec<u8>>,
    /// The piece at hand, and how far it was read.
    piece: Vec<u8>,
    at: usize,
    reader: ScopedJoinHandle<'scope, Result<Ledger>>,
    ignore: Ignore,
    others: Others,
}

impl<'scope> Lines<'scope> {
    /// Begins to read a recording.
    pub fn read<'env>(
        scope: &'scope Scope<'scope, 'env>,
        source: Source,
        options: &DiffOptions,
        to_json_lines: ToJsonLines,
    ) -> Self {
        let (sender, pieces) = sync_channel(PIECES);
        let by_time = options.by_time;
        let reader = scope.spawn(move || {
            let mut feed = Feed { piece: Vec::with_capacity(PIECE), sender };
            let ledger = to_json_lines(source, by_time, &mut feed)?;
            feed.send().map_err(Error::Output)?;
            Ok(ledger)
        });
        let ignore = options.ignore.clone();
        Self { pieces, piece: Vec::new(), at: 0, reader, ignore, others: Others::default() }
    }

    /// The next record; `None` where there is none, or none can be read.
    ///
    /// # Errors
    /// Where what is told cannot be read back.
    pub fn next(&mut self) -> Result<Option<Item>> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.piece[self.at..]) else {
                // Pieces end with lines.
                let Ok(piece) = self.pieces.recv() else { return Ok(None) };
                (self.piece, self.at) = (piece, 0);
                continue;
            };
            let line = &self.piece[self.at..self.at + end];
            self.at += end + 1;
            if let Some(record) = item::read(line, &self.ignore, &mut self.others)? {
                return Ok(Some(record));
            }
        }
    }

    /// What else was told, and what became of the records, when all have been read.
    ///
    /// # Errors
    /// Where the recording could not be read.
    pub fn finish(self) -> Result<(Others, Ledger)> {
        let Self { pieces, reader, others, .. } = self;
        drop(pieces);
        let ledger = returned(reader.join())?;
        Ok((others, ledger))
    }
}

/// Passes lines on in pieces that end with one.
struct Feed {
    piece: Vec<u8>,
    sender: SyncSender<Vec<u8>>,
}

impl Feed {
    fn send(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.sender.send(piece).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

impl Write for Feed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE && self.piece.ends_with(b"\n") {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
