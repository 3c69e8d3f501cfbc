//! Threads that accumulate something, each from its own queue of jobs.

use super::{HAS_THREADS, builder, returned};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Threads that accumulate something, each from its own queue of jobs. Each has jobs in the order in which they were given.
pub struct Lanes<T, A> {
    lanes: Vec<Lane<T, A>>,
    /// The one that gets the next job.
    next: usize,
    add: fn(&mut A, T),
}

/// Something that accumulates, on a thread or where jobs are given.
enum Lane<T, A> {
    Thread { jobs: SyncSender<T>, thread: JoinHandle<A> },
    Here(A),
}

/// Number of jobs that may wait for a thread: it should not wait for the next, and memory is limited.
const WAITING: usize = 2;

impl<T: Send + 'static, A: Send + 'static> Lanes<T, A> {
    /// Creates `count` lanes with these initial values; `add` adds a job to one. A single lane has no thread.
    pub fn new(name: &str, count: usize, initial: impl Fn() -> A, add: fn(&mut A, T)) -> Self {
        let lane = || {
            let (jobs, waiting) = sync_channel(WAITING);
            let mut accumulated = initial();
            let work = move || {
                waiting.iter().for_each(|job| add(&mut accumulated, job));
                accumulated
            };
            let thread = builder(name).spawn(work).ok()?;
            Some(Lane::Thread { jobs, thread })
        };
        let count = if count > 1 && HAS_THREADS { count } else { 0 };
        let mut lanes: Vec<_> = (0..count).map_while(|_| lane()).collect();
        if lanes.is_empty() {
            lanes.push(Lane::Here(initial()));
        }
        Self { lanes, next: 0, add }
    }

    /// Gives a job to the next lane, in turn; waits while too many wait for it.
    pub fn give(&mut self, job: T) {
        let next = self.next;
        self.next = (next + 1) % self.lanes.len();
        match &mut self.lanes[next] {
            Lane::Here(accumulated) => (self.add)(accumulated, job),
            // If the thread has ended, `finish` propagates its panic.
            Lane::Thread { jobs, .. } => _ = jobs.send(job),
        }
    }

    /// Waits for all jobs, and returns what each lane accumulated.
    pub fn finish(self) -> Vec<A> {
        let end = |lane| match lane {
            Lane::Here(accumulated) => Ok(accumulated),
            Lane::Thread { jobs, thread } => {
                drop(jobs);
                Err(thread)
            }
        };
        let ended: Vec<_> = self.lanes.into_iter().map(end).collect();
        ended.into_iter().map(|lane| lane.unwrap_or_else(|thread| returned(thread.join()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::without_threads;
    use super::*;

    fn accumulate(count: usize) -> Vec<Vec<u32>> {
        let mut lanes = Lanes::new("test", count, Vec::new, |numbers: &mut Vec<u32>, number| numbers.push(number));
        (0..5).for_each(|number| lanes.give(number));
        lanes.finish()
    }

    #[test]
    fn each_lane_has_its_jobs_in_order() {
        assert_eq!(accumulate(2), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(accumulate(1), [[0, 1, 2, 3, 4]]);
        assert_eq!(without_threads(|| accumulate(2)), [[0, 1, 2, 3, 4]]);
    }

    #[test]
    #[should_panic(expected = "the job fails")]
    fn a_panic_of_a_thread_is_propagated() {
        let mut lanes = Lanes::new("test", 2, || (), |_, ()| panic!("the job fails"));
        (0..9).for_each(|_| lanes.give(()));
        lanes.finish();
    }
}
