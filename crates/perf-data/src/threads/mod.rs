//! Worker threads, and panics: a worker's is propagated to the thread that waits for it.

mod caught;
mod in_order;
mod lanes;
mod pool;

pub use caught::{caught, is_caught};
pub use in_order::in_order;
pub use lanes::{Lane, Lanes};
pub use pool::WorkerPool;

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread::{self, Builder};

/// Whether the system can have threads. Without, the code that only they run is not linked.
const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// The system call is slow.
static WORKERS: OnceLock<usize> = OnceLock::new();

/// Sets the number of threads to use, unless it has been used already.
pub fn limit_workers(count: NonZeroUsize) {
    let _ = WORKERS.set(count.get());
}

/// Number of threads to use.
pub fn workers() -> usize {
    // More threads would only wait for I/O.
    const MAX_WORKERS: usize = 8;
    *WORKERS.get_or_init(|| thread::available_parallelism().map_or(1, |workers| workers.get().min(MAX_WORKERS)))
}

/// A builder of a worker thread. If the system starts no more threads, the caller does the work itself.
pub fn builder(name: &str) -> Builder {
    let builder = Builder::new().name(name.to_owned());
    #[cfg(any(test, feature = "testing"))]
    if testing::ARE_REFUSED.get() {
        // No address space has this size.
        return builder.stack_size(1 << 62);
    }
    builder
}

/// Returns the result of a joined thread, and propagates its panic.
pub fn returned<R>(joined: thread::Result<R>) -> R {
    joined.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Threads that the system refuses to start.
#[cfg(any(test, feature = "testing"))]
pub mod testing {
    use std::cell::Cell;

    thread_local! {
        pub(super) static ARE_REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Calls a function that cannot start threads.
    pub fn without_threads<R>(work: impl FnOnce() -> R) -> R {
        ARE_REFUSED.set(true);
        let result = work();
        ARE_REFUSED.set(false);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::testing::without_threads;
    use super::*;

    #[test]
    fn work_is_done_without_threads() {
        without_threads(|| {
            let mut results = Vec::new();
            in_order(4, &[1, 2, 3], |job| job * 2, |result| results.push(result));
            assert_eq!(results, [2, 4, 6]);
            let mut pool = WorkerPool::new("test", 8, || |number: u32| number * 2);
            (0..5).for_each(|number| pool.give(number));
            let results: Vec<_> = std::iter::from_fn(|| pool.next_result()).collect();
            assert_eq!(results, [0, 2, 4, 6, 8]);
        });
    }
}
