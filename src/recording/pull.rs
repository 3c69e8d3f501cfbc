//! Pulling from a stream that pushes: the stream runs on a thread of its own, a few batches ahead.

use crate::error::{Error, Result};
use crate::stream::ledger::Ledger;
use crate::stream::meta::Meta;
use crate::threads::returned;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Batches that wait. The next one is filled while one is used.
const AHEAD: usize = 2;

/// What is known at the end of the stream.
pub(super) type End = (Meta, Ledger);

/// The receiving end. A stream whose receiver is dropped ends at its next batch.
pub(super) struct Pull<T> {
    batches: Receiver<T>,
    stream: Option<JoinHandle<Result<End>>>,
    end: Option<End>,
}

/// The end that a stream sends its batches to.
pub(super) struct Batches<T>(SyncSender<T>);

impl<T> Batches<T> {
    /// Sends a batch, as soon as there is room for it.
    ///
    /// # Errors
    /// Where the receiver was dropped, which ends the stream.
    pub fn send(&self, batch: T) -> Result<()> {
        self.0.send(batch).map_err(|_| Error::Output(io::ErrorKind::BrokenPipe.into()))
    }
}

impl<T: Send + 'static> Pull<T> {
    /// Starts a stream.
    ///
    /// # Errors
    /// Where the system has no thread left.
    pub fn new(stream: impl FnOnce(Batches<T>) -> Result<End> + Send + 'static) -> Result<Self> {
        let (sender, batches) = sync_channel(AHEAD);
        let thread = Builder::new().name("recording".to_owned()).spawn(move || stream(Batches(sender)));
        let stream = Some(thread.map_err(Error::io("thread", "cannot start"))?);
        Ok(Self { batches, stream, end: None })
    }

    /// The next batch; `None` at the end of the stream.
    ///
    /// # Errors
    /// Why the stream ended early.
    pub fn next(&mut self) -> Result<Option<T>> {
        let batch = self.batches.recv().ok();
        if let Some(stream) = self.stream.take_if(|_| batch.is_none()) {
            self.end = Some(returned(stream.join())?);
        }
        Ok(batch)
    }

    /// What is known at the end, once that is reached.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }
}
