//! Adapts a stream, which pushes records, to an iterator. The stream runs on a separate thread, a few batches ahead.

use crate::error::{Error, Result};
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::threads::{builder, returned};
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Number of batches in flight: the next one is filled while one is used.
const AHEAD: usize = 2;

/// Metadata and ledger at the end of the stream.
pub type End = (Meta, Ledger);

/// The receiver. If it is dropped, the stream ends at its next batch.
pub struct Pull<T> {
    batches: Receiver<T>,
    stream: Option<JoinHandle<Result<End>>>,
    end: Option<End>,
}

/// The sender for the stream.
pub struct Batches<T>(SyncSender<T>);

impl<T> Batches<T> {
    /// Sends a batch; blocks until there is room.
    ///
    /// # Errors
    /// If the receiver was dropped, which ends the stream.
    pub fn send(&self, batch: T) -> Result<()> {
        self.0.send(batch).map_err(|_| Error::Output(io::ErrorKind::BrokenPipe.into()))
    }
}

impl<T: Send + 'static> Pull<T> {
    /// Starts a stream.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(stream: impl FnOnce(Batches<T>) -> Result<End> + Send + 'static) -> Result<Self> {
        let (sender, batches) = sync_channel(AHEAD);
        let thread = builder("recording").spawn(move || stream(Batches(sender)));
        let stream = Some(thread.map_err(Error::io("thread", "cannot start"))?);
        Ok(Self { batches, stream, end: None })
    }

    /// The next batch; `None` at the end of the stream.
    ///
    /// # Errors
    /// The error that ended the stream.
    pub fn next_batch(&mut self) -> Result<Option<T>> {
        let batch = self.batches.recv().ok();
        if let Some(stream) = self.stream.take_if(|_| batch.is_none()) {
            self.end = Some(returned(stream.join())?);
        }
        Ok(batch)
    }

    /// Metadata and ledger, once the end is reached.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }
}
