//! Work given to several threads, whose results come in the order in which it was given.

use super::{returned, workers};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};

/// Threads that work on things in turn.
pub struct WorkerPool<T, R> {
    name: &'static str,
    make: Arc<MakeWork<T, R>>,
    /// How many turns may be under way.
    most: usize,
    jobs: Option<Sender<Job<T, R>>>,
    waiting: Arc<Mutex<Receiver<Job<T, R>>>>,
    threads: Vec<JoinHandle<()>>,
    under_way: VecDeque<Receiver<R>>,
}

/// Makes what a thread does with each thing.
type MakeWork<T, R> = dyn Fn() -> Box<dyn FnMut(T) -> R> + Send + Sync;

/// What is to be worked on, and where the result goes.
type Job<T, R> = (T, Sender<R>);

impl<T: Send + 'static, R: Send + 'static> WorkerPool<T, R> {
    /// Has threads of this name do what `make` makes for each. They are begun as there is something to do, and at most `most`
    /// turns should be under way at once.
    pub fn new<W: FnMut(T) -> R + 'static>(
        name: &'static str,
        most: usize,
        make: impl Fn() -> W + Send + Sync + 'static,
    ) -> Self {
        let (jobs, waiting) = channel();
        Self {
            name,
            make: Arc::new(move || Box::new(make())),
            most,
            jobs: Some(jobs),
            waiting: Arc::new(Mutex::new(waiting)),
            threads: Vec::new(),
            under_way: VecDeque::new(),
        }
    }

    /// Whether no more should be given before a result is taken.
    pub fn is_full(&self) -> bool {
        self.under_way.len() >= self.most
    }

    /// Whether there are no results to come.
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }

    /// Gives something to work on.
    ///
    /// # Errors
    /// Where there can be no more threads.
    pub fn give(&mut self, thing: T) -> io::Result<()> {
        if self.threads.len() < workers().min(self.under_way.len() + 1) {
            let (make, waiting) = (Arc::clone(&self.make), Arc::clone(&self.waiting));
            let work = move || work(&*make, &waiting);
            self.threads.push(Builder::new().name(self.name.to_owned()).spawn(work)?);
        }
        let (done, result) = channel();
        if let Some(jobs) = &self.jobs {
            // Of threads that are gone the one that waits for them learns.
            let _ = jobs.send((thing, done));
        }
        self.under_way.push_back(result);
        Ok(())
    }

    /// The result of what was given first of all whose results have not been taken; none if there is no such.
    pub fn next_result(&mut self) -> Option<R> {
        let result = self.under_way.pop_front()?.recv();
        if result.is_err() {
            // Only a panic ends a thread before its turn is over.
            self.end();
        }
        result.ok()
    }
}

impl<T, R> WorkerPool<T, R> {
    /// Waits for the threads to end what they are at. What nobody will take is not begun.
    fn end(&mut self) {
        self.jobs = None;
        while locked(&self.waiting).try_recv().is_ok() {}
        self.threads.drain(..).for_each(|thread| returned(thread.join()));
    }
}

impl<T, R> Drop for WorkerPool<T, R> {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.end();
        }
    }
}

/// Takes turns as long as there are some.
fn work<T, R>(make: &MakeWork<T, R>, waiting: &Mutex<Receiver<Job<T, R>>>) {
    let next = || locked(waiting).recv();
    let mut work = make();
    while let Ok((thing, done)) = next() {
        // Nobody may wait for it any more.
        let _ = done.send(work(thing));
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
    fn results_come_in_the_order_in_which_work_was_given() {
        let mut turns = WorkerPool::new("test", 3, || {
            let mut before = 0;
            move |number: u64| {
                before += 1;
                thread::sleep(Duration::from_millis(number % 5));
                (number, before)
            }
        });
        assert!(turns.is_empty() && turns.next_result().is_none());
        let mut taken = Vec::new();
        for number in 0..50 {
            if turns.is_full() {
                taken.extend(turns.next_result());
            }
            turns.give(number).unwrap();
        }
        taken.extend(std::iter::from_fn(|| turns.next_result()));
        assert!(taken.iter().map(|&(number, _)| number).eq(0..50));
        assert!(taken.iter().any(|&(_, before)| before > 1), "a thread takes more than one turn");
    }

    #[test]
    fn a_panic_is_that_of_who_waits() {
        let mut turns = WorkerPool::new("test", 8, || |number: u32| assert!(number != 1, "it was 1"));
        (0..3).for_each(|number| turns.give(number).unwrap());
        assert_eq!(turns.next_result(), Some(()));
        let panic = catch_unwind(AssertUnwindSafe(|| turns.next_result())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"it was 1"));
    }

    #[test]
    fn what_nobody_will_take_is_not_begun() {
        let begun = Arc::new(AtomicUsize::new(0));
        let mut turns = WorkerPool::new("test", 1000, {
            let begun = Arc::clone(&begun);
            move || {
                let begun = Arc::clone(&begun);
                move |()| {
                    begun.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(20));
                }
            }
        });
        (0..1000).for_each(|_| turns.give(()).unwrap());
        turns.next_result();
        drop(turns);
        assert!((1..100).contains(&begun.load(Ordering::Relaxed)));
    }
}
