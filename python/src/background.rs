//! Work on another thread, whose results are taken in Python: without the interpreter's lock, and until a signal.

use crate::error::to_python;
use perfconv::Error;
use pyo3::prelude::*;
use std::io;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Number of results that wait to be taken.
const AHEAD: usize = 2;

/// How long to wait before signals are checked.
const INTERVAL: Duration = Duration::from_millis(50);

/// A reading in progress. If it is dropped, the work ends at its next result.
pub struct Background<T, R> {
    /// Never contended: the lock makes the receiver `Sync`.
    results: Mutex<Receiver<T>>,
    thread: Option<JoinHandle<perfconv::Result<R>>>,
}

/// Where the work sends its results.
pub struct Results<T>(SyncSender<T>);

impl<T> Results<T> {
    /// Sends a result; blocks while others wait.
    ///
    /// # Errors
    /// If results are no longer taken, which ends the work.
    pub fn send(&self, result: T) -> perfconv::Result<()> {
        self.0.send(result).map_err(|_| Error::Output(io::ErrorKind::BrokenPipe.into()))
    }
}

impl<T: Send + 'static, R: Send + 'static> Background<T, R> {
    /// Starts work.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(work: impl FnOnce(Results<T>) -> perfconv::Result<R> + Send + 'static) -> io::Result<Self> {
        let (sender, results) = sync_channel(AHEAD);
        let thread = Builder::new().name("perfconv".to_owned()).spawn(move || work(Results(sender)))?;
        Ok(Self { results: Mutex::new(results), thread: Some(thread) })
    }

    /// The next result; `None` at the end.
    ///
    /// # Errors
    /// Exceptions of signal handlers, such as `KeyboardInterrupt`.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<T>> {
        let results = self.results.get_mut().expect("no holder of the lock panics");
        loop {
            py.check_signals()?;
            let results = &mut *results;
            match py.detach(move || results.recv_timeout(INTERVAL)) {
                Ok(result) => return Ok(Some(result)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// What the work returned, after its last result; `None` if it was called before.
    ///
    /// # Errors
    /// The error that ended the work.
    pub fn end(&mut self, py: Python<'_>) -> PyResult<Option<R>> {
        let Some(thread) = self.thread.take() else { return Ok(None) };
        match py.detach(|| thread.join()) {
            Ok(Ok(value)) => Ok(Some(value)),
            Ok(Err(error)) => Err(to_python(py, &error)),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// Runs work on another thread, and waits for its result.
///
/// # Errors
/// Errors of the work, and exceptions of signal handlers.
pub fn wait<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> perfconv::Result<R> + Send + 'static,
) -> PyResult<R> {
    let mut background = Background::<(), R>::start(|_| work())?;
    background.next(py)?;
    Ok(background.end(py)?.expect("it is called once"))
}
