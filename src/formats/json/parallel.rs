//! The same work on several things at once.

use std::sync::OnceLock;
use std::thread;

/// How many things can be worked on at once.
pub fn workers() -> usize {
    // More would wait for what reads and writes.
    const MOST: usize = 8;
    // The system takes long to tell.
    static WORKERS: OnceLock<usize> = OnceLock::new();
    *WORKERS.get_or_init(|| thread::available_parallelism().map_or(1, |workers| workers.get().min(MOST)))
}

/// Works on all of these at once; what comes of them is in their order.
pub fn each<T: Send, R: Send>(things: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let mut things = things.into_iter();
    let Some(first) = things.next() else { return Vec::new() };
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = things.map(|thing| scope.spawn(move || work(thing))).collect();
        let mut results = vec![work(first)];
        for other in others {
            match other.join() {
                Ok(result) => results.push(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    })
}
