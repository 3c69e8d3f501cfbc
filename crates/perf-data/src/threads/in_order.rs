//! Independent jobs on several threads, with results in the order of the jobs.

use super::{HAS_THREADS, builder, returned};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Runs jobs on `threads` threads, and calls `take` with each result in the order of the jobs, as soon as it is available.
pub fn in_order<T: Sync, R: Send>(threads: usize, jobs: &[T], work: impl Fn(&T) -> R + Sync, mut take: impl FnMut(R)) {
    let threads = threads.min(jobs.len());
    if threads <= 1 || !HAS_THREADS {
        return jobs.iter().for_each(|job| take(work(job)));
    }
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let worker = || {
            let (sender, next, work) = (sender.clone(), &next, &work);
            builder("worker").spawn_scoped(scope, move || {
                while let Some((index, job)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(index).map(|job| (index, job))
                } {
                    if sender.send((index, work(job))).is_err() {
                        break;
                    }
                }
            })
        };
        let workers: Vec<_> = (0..threads).map_while(|_| worker().ok()).collect();
        if workers.is_empty() {
            return jobs.iter().for_each(|job| take(work(job)));
        }
        drop(sender);
        let (mut next_index, mut waiting) = (0, BTreeMap::new());
        for (index, result) in receiver {
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(&next_index) {
                take(result);
                next_index += 1;
            }
        }
        workers.into_iter().for_each(|worker| returned(worker.join()));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;
    use std::time::Duration;

    #[test]
    fn results_are_in_the_order_of_the_jobs() {
        let jobs: Vec<u64> = (0..40).collect();
        for threads in [1, 3, 100] {
            let mut results = Vec::new();
            let work = |job: &u64| {
                thread::sleep(Duration::from_millis(job % 4));
                job * 2
            };
            in_order(threads, &jobs, work, |result| results.push(result));
            assert!(results.iter().eq(&jobs.iter().map(|job| job * 2).collect::<Vec<_>>()), "{threads} threads");
        }
    }

    #[test]
    fn a_panic_is_passed_on() {
        let panic = catch_unwind(|| in_order(2, &[1, 2, 3], |job| assert!(*job != 2, "it is 2"), |()| {})).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"it is 2"));
    }
}
