//! Threads that accumulate something, each from its own queue of jobs.

use super::{HAS_THREADS, builder, returned};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Threads that accumulate something, each from its own queue of jobs. Each has jobs in the order in which they were given.
pub struct Lanes<T, A> {
    lanes: Vec<Lane<T, A>>,
    /// The one that gets the next job.
    next: usize,
}

/// Something that accumulates from a queue of jobs, in order.
pub struct Lane<T, A> {
    accumulated: Accumulated<T, A>,
    add: fn(&mut A, T),
}

enum Accumulated<T, A> {
    Thread {
        jobs: SyncSender<T>,
        thread: JoinHandle<A>,
    },
    /// Jobs are done where they are given.
    Here(A),
}

/// Number of jobs that may wait for a thread: it should not wait for the next, and memory is limited.
const WAITING: usize = 2;

impl<T: Send + 'static, A: Send + 'static> Lane<T, A> {
    /// Creates a lane with this initial value; `add` adds a job to it. Unless `has_thread`, or if the system starts no thread,
    /// [`give`](Self::give) does the jobs.
    pub fn new(name: &str, has_thread: bool, initial: A, add: fn(&mut A, T)) -> Self {
        let (jobs, waiting) = sync_channel(WAITING);
        // The value is sent to the thread once there is one.
        let (start, started) = sync_channel(1);
        let work = move || {
            let mut accumulated: A = started.recv().expect("the initial value is sent");
            waiting.iter().for_each(|job| add(&mut accumulated, job));
            accumulated
        };
        let thread = (has_thread && HAS_THREADS).then(|| builder(name).spawn(work).ok()).flatten();
        let accumulated = match thread {
            Some(thread) => {
                start.send(initial).expect("the thread waits for it");
                Accumulated::Thread { jobs, thread }
            }
            None => Accumulated::Here(initial),
        };
        Self { accumulated, add }
    }

    fn has_thread(&self) -> bool {
        matches!(self.accumulated, Accumulated::Thread { .. })
    }

    /// Gives a job; waits while too many wait for the thread.
    pub fn give(&mut self, job: T) {
        match &mut self.accumulated {
            Accumulated::Here(accumulated) => (self.add)(accumulated, job),
            // If the thread has ended, `finish` propagates its panic.
            Accumulated::Thread { jobs, .. } => _ = jobs.send(job),
        }
    }

    /// Waits for all jobs, and returns what they accumulated.
    pub fn finish(self) -> A {
        match self.accumulated {
            Accumulated::Here(accumulated) => accumulated,
            Accumulated::Thread { jobs, thread } => {
                drop(jobs);
                returned(thread.join())
            }
        }
    }
}

impl<T: Send + 'static, A: Send + 'static> Lanes<T, A> {
    /// Creates `count` lanes with these initial values; `add` adds a job to one. A single lane has no thread.
    pub fn new(name: &str, count: usize, initial: impl Fn() -> A, add: fn(&mut A, T)) -> Self {
        let lane = || Lane::new(name, count > 1, initial(), add);
        let mut lanes = vec![lane()];
        while lanes.len() < count && lanes.iter().all(Lane::has_thread) {
            lanes.push(lane());
        }
        Self { lanes, next: 0 }
    }

    /// Gives a job to the next lane, in turn; waits while too many wait for it.
    pub fn give(&mut self, job: T) {
        let next = self.next;
        self.next = (next + 1) % self.lanes.len();
        self.lanes[next].give(job);
    }

    /// Waits for all jobs, and returns what each lane accumulated.
    pub fn finish(self) -> Vec<A> {
        self.lanes.into_iter().map(Lane::finish).collect()
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
