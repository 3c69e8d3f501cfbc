//! Worker threads. A worker's panic is propagated to the thread that waits for it.

mod in_order;
mod pool;

pub use in_order::in_order;
pub use pool::WorkerPool;

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::{self, Builder};

/// Number of threads to use.
pub fn workers() -> usize {
    // More threads would only wait for I/O.
    const MOST: usize = 8;
    // The system call is slow.
    static WORKERS: OnceLock<usize> = OnceLock::new();
    *WORKERS.get_or_init(|| thread::available_parallelism().map_or(1, |workers| workers.get().min(MOST)))
}

/// A builder of a worker thread. If the system starts no more threads, the caller does the work itself.
pub fn builder(name: &str) -> Builder {
    let builder = Builder::new().name(name.to_owned());
    #[cfg(test)]
    if tests::CANNOT_START.get() {
        // No address space has this size.
        return builder.stack_size(1 << 62);
    }
    builder
}

/// Returns the result of a joined thread, and propagates its panic.
pub fn returned<R>(joined: thread::Result<R>) -> R {
    joined.unwrap_or_else(|panic| resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// Whether threads of this thread fail to start.
        pub static CANNOT_START: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn work_is_done_without_threads() {
        CANNOT_START.set(true);
        let mut results = Vec::new();
        in_order(4, &[1, 2, 3], |job| job * 2, |result| results.push(result));
        assert_eq!(results, [2, 4, 6]);
        let mut pool = WorkerPool::new("test", 8, || |number: u32| number * 2);
        (0..5).for_each(|number| pool.give(number));
        let results: Vec<_> = std::iter::from_fn(|| pool.next_result()).collect();
        assert_eq!(results, [0, 2, 4, 6, 8]);
        CANNOT_START.set(false);
    }
}
