//! Work on several threads. A panic of a thread is passed on to the one that waits for it.

mod in_order;
mod pool;

pub use in_order::in_order;
pub use pool::WorkerPool;

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

/// How many threads can work at once.
pub fn workers() -> usize {
    // More would wait for what reads and writes.
    const MOST: usize = 8;
    // The system takes long to answer.
    static WORKERS: OnceLock<usize> = OnceLock::new();
    *WORKERS.get_or_init(|| thread::available_parallelism().map_or(1, |workers| workers.get().min(MOST)))
}

/// What a thread returned, as its `join` says; its panic is passed on.
pub fn returned<R>(joined: thread::Result<R>) -> R {
    joined.unwrap_or_else(|panic| resume_unwind(panic))
}
