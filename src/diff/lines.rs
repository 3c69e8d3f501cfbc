//! Reads the records of a recording on a separate thread.

use super::ignore::Ignore;
use super::item::{self, DiffItem, NonRecordItems};
use super::{DiffOptions, ToJsonLines};
use perf_data::error::{Error, Result};
use perf_data::stream::ledger::Ledger;
use perf_data::stream::source::Source;
use perf_data::threads::{builder, returned};
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

/// Size of the pieces passed between the threads, and how many may be queued.
const PIECE: usize = 1 << 18;
const PIECES: usize = 4;

/// The records of a recording as lines of JSON; other parts are collected.
pub(super) struct DiffLines<'scope> {
    pieces: Receiver<Vec<u8>>,
    /// Current piece, and the position in it.
    piece: Vec<u8>,
    at: usize,
    reader: ScopedJoinHandle<'scope, Result<Ledger>>,
    ignore: Ignore,
    others: NonRecordItems,
}

impl<'scope> DiffLines<'scope> {
    /// Starts reading a recording.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn read<'env>(
        scope: &'scope Scope<'scope, 'env>,
        source: Source,
        options: &DiffOptions,
        to_json_lines: ToJsonLines,
    ) -> Result<Self> {
        let (sender, pieces) = sync_channel(PIECES);
        let by_time = options.by_time;
        let reader = builder("diff").spawn_scoped(scope, move || {
            let mut writer = PieceWriter { piece: Vec::with_capacity(PIECE), sender };
            let ledger = to_json_lines(source, by_time, &mut writer)?;
            writer.send().map_err(Error::Output)?;
            Ok(ledger)
        });
        let reader = reader.map_err(Error::io(
            "diff",
            "cannot start the thread that reads a recording; raise the limit of processes (ulimit -u)",
        ))?;
        let ignore = options.ignore.clone();
        Ok(Self { pieces, piece: Vec::new(), at: 0, reader, ignore, others: NonRecordItems::default() })
    }

    /// The next record; `None` at the end, or if reading failed.
    ///
    /// # Errors
    /// If a line cannot be parsed.
    pub(super) fn next(&mut self) -> Result<Option<DiffItem>> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.piece[self.at..]) else {
                // Pieces end with a complete line.
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

    /// The other parts and the ledger, after all records were read.
    ///
    /// # Errors
    /// If the recording could not be read.
    pub(super) fn finish(self) -> Result<(NonRecordItems, Ledger)> {
        let Self { pieces, reader, others, .. } = self;
        drop(pieces);
        let ledger = returned(reader.join())?;
        Ok((others, ledger))
    }
}

/// Sends lines in pieces that end with a complete line.
struct PieceWriter {
    piece: Vec<u8>,
    sender: SyncSender<Vec<u8>>,
}

impl PieceWriter {
    fn send(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE));
        self.sender.send(piece).map_err(|_| ErrorKind::BrokenPipe.into())
    }
}

impl Write for PieceWriter {
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
