//! A pool of worker threads that returns results in the order of the jobs.

use super::{HAS_THREADS, builder, returned, workers};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Threads that process a queue of jobs.
pub struct WorkerPool<T, R> {
    name: &'static str,
    make: Arc<MakeWork<T, R>>,
    /// Maximum number of pending jobs.
    limit: usize,
    jobs: Option<Sender<Job<T, R>>>,
    waiting: Arc<Mutex<Receiver<Job<T, R>>>>,
    threads: Vec<JoinHandle<()>>,
    pending: VecDeque<Receiver<R>>,
}

/// Creates the function that a thread runs on each input.
type MakeWork<T, R> = dyn Fn() -> Box<dyn FnMut(T) -> R> + Send + Sync;

/// An input, and where its result is sent.
type Job<T, R> = (T, Sender<R>);

impl<T: Send + 'static, R: Send + 'static> WorkerPool<T, R> {
    /// Creates a pool whose threads have this name and each run a function created by `make`. Threads start on demand. At most
    /// `limit` jobs should be pending at once.
    pub fn new<W: FnMut(T) -> R + 'static>(
        name: &'static str,
        limit: usize,
        make: impl Fn() -> W + Send + Sync + 'static,
    ) -> Self {
        let (jobs, waiting) = channel();
        Self {
            name,
            make: Arc::new(move || Box::new(make())),
            limit,
            jobs: Some(jobs),
            waiting: Arc::new(Mutex::new(waiting)),
            threads: Vec::new(),
            pending: VecDeque::new(),
        }
    }

    /// Whether a result should be taken before another job is submitted.
    pub fn is_full(&self) -> bool {
        self.pending.len() >= self.limit
    }

    /// Whether no results are pending.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Submits a job. If no thread can be started, it is done before the function returns.
    pub fn give(&mut self, input: T) {
        if HAS_THREADS && self.threads.len() < workers().min(self.pending.len() + 1) {
            let (make, waiting) = (Arc::clone(&self.make), Arc::clone(&self.waiting));
            let work = move || work(&*make, &waiting);
            self.threads.extend(builder(self.name).spawn(work));
        }
        let (done, result) = channel();
        if self.threads.is_empty() {
            let _ = done.send((self.make)()(input));
        } else if let Some(jobs) = &self.jobs {
            // If a thread has ended, `next_result` propagates its panic.
            let _ = jobs.send((input, done));
        }
        self.pending.push_back(result);
    }

    /// Waits for the oldest pending job and returns its result; `None` if nothing is pending.
    pub fn next_result(&mut self) -> Option<R> {
        let result = self.pending.pop_front()?.recv();
        if result.is_err() {
            // Only a panic ends a thread before its job is done.
            self.end();
        }
        result.ok()
    }
}

impl<T, R> WorkerPool<T, R> {
    /// Waits for the jobs in progress. Queued jobs are discarded.
    fn end(&mut self) {
        self.jobs = None;
        while locked(&self.waiting).try_recv().is_ok() {}
        self.threads.drain(..).for_each(|thread| returned(thread.join()));
    }
}

impl<T, R> Drop for WorkerPool<T, R> {
    fn drop(&mut self) {
        // Propagating the panic of a worker during another panic would abort the program.
        if !thread::panicking() {
            self.end();
        }
    }
}

/// Runs jobs until the queue is closed.
fn work<T, R>(make: &MakeWork<T, R>, waiting: &Mutex<Receiver<Job<T, R>>>) {
    let next = || locked(waiting).recv();
    let mut work = make();
    while let Ok((input, done)) = next() {
        // The receiver may have been dropped.
        let _ = done.send(work(input));
    }
}

fn locked<M>(mutex: &Mutex<M>) -> MutexGuard<'_, M> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn returns_results_in_submission_order() {
        let mut pool = WorkerPool::new("test", 3, || {
            let mut before = 0;
            move |number: u64| {
                before += 1;
                thread::sleep(Duration::from_millis(number % 5));
                (number, before)
            }
        });
        assert!(pool.is_empty() && pool.next_result().is_none());
        let mut results = Vec::new();
        for number in 0..50 {
            if pool.is_full() {
                results.extend(pool.next_result());
            }
            pool.give(number);
        }
        results.extend(std::iter::from_fn(|| pool.next_result()));
        assert!(results.iter().map(|&(number, _)| number).eq(0..50));
        assert!(results.iter().any(|&(_, before)| before > 1), "a thread runs more than one job");
    }

    #[test]
    fn a_panic_reaches_the_waiting_thread() {
        let mut pool = WorkerPool::new("test", 8, || |number: u32| assert!(number != 1, "it was 1"));
        (0..3).for_each(|number| pool.give(number));
        assert_eq!(pool.next_result(), Some(()));
        let panic = catch_unwind(AssertUnwindSafe(|| pool.next_result())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"it was 1"));
    }

    #[test]
    fn a_dropped_pool_discards_queued_jobs() {
        let started = Arc::new(AtomicUsize::new(0));
        let mut pool = WorkerPool::new("test", 1000, {
            let started = Arc::clone(&started);
            move || {
                let started = Arc::clone(&started);
                move |()| {
                    started.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(20));
                }
            }
        });
        (0..1000).for_each(|_| pool.give(()));
        pool.next_result();
        drop(pool);
        assert!((1..100).contains(&started.load(Ordering::Relaxed)));
    }
}
