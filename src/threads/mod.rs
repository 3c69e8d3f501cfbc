//! Worker threads. A worker's panic is propagated to the thread that waits for it.

mod in_order;
mod pool;

pub use in_order::in_order;
pub use pool::WorkerPool;

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

/// Number of threads to use.
pub fn workers() -> usize {
    // More threads would only wait for I/O.
    const MOST: usize = 8;
    // The system call is slow.
    static WORKERS: OnceLock<usize> = OnceLock::new();
    *WORKERS.get_or_init(|| thread::available_parallelism().map_or(1, |workers| workers.get().min(MOST)))
}

/// Returns the result of a joined thread, and propagates its panic.
pub fn returned<R>(joined: thread::Result<R>) -> R {
    joined.unwrap_or_else(|panic| resume_unwind(panic))
}
