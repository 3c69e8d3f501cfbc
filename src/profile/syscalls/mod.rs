//! System calls: how often each thread called them, how often they failed, and how long they took.

mod collector;
mod names;

pub(crate) use collector::SyscallCollector;

use perf_data::session::names::NameId;

/// The system calls of all threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Syscalls {
    /// Those with the longest time in system calls first.
    pub threads: Vec<ThreadSyscalls>,
}

/// The system calls of a thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadSyscalls {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub comm: Option<NameId>,
    /// Those that took longest in total first.
    pub calls: Vec<SyscallTimes>,
}

/// One system call of a thread. Times are in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SyscallTimes {
    /// Name, such as `openat`; the number where the name is unknown.
    pub name: String,
    /// Number of calls that returned.
    pub calls: u64,
    /// How many of them returned an error.
    pub errors: u64,
    /// Times of the calls whose entry is recorded, too.
    pub times: CallTimes,
}

/// Sums over the times of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CallTimes {
    /// Number of calls.
    pub count: u64,
    /// Nanoseconds of all together.
    pub total: u64,
    /// The shortest.
    pub min: u64,
    /// The longest.
    pub max: u64,
    /// Sum of the squared differences from the mean.
    squares: f64,
}

impl ThreadSyscalls {
    /// Time in all system calls.
    pub fn total(&self) -> u64 {
        self.calls.iter().fold(0, |sum: u64, call| sum.saturating_add(call.times.total))
    }
}

impl CallTimes {
    fn add(&mut self, nanoseconds: u64) {
        let Self { count, total, min, max, squares } = self;
        *min = if *count == 0 { nanoseconds } else { (*min).min(nanoseconds) };
        *max = (*max).max(nanoseconds);
        // The means before and after, by Welford: sums of squares themselves would lose precision.
        let before = if *count == 0 { 0.0 } else { *total as f64 / *count as f64 };
        *count += 1;
        *total = total.saturating_add(nanoseconds);
        let mean = *total as f64 / *count as f64;
        *squares += (nanoseconds as f64 - before) * (nanoseconds as f64 - mean);
    }

    /// The mean; `None` without calls.
    pub fn mean(&self) -> Option<u64> {
        self.total.checked_div(self.count)
    }

    /// The standard error of the mean, in percent of it; 0 for a single call.
    pub fn error_percent(&self) -> f64 {
        if self.count < 2 || self.total == 0 {
            return 0.0;
        }
        let count = self.count as f64;
        let mean = self.total as f64 / count;
        100.0 * (self.squares / (count - 1.0) / count).sqrt() / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_all_calls() {
        let mut times = CallTimes::default();
        assert_eq!((times.mean(), times.error_percent()), (None, 0.0));
        [2000, 4000, 9000].into_iter().for_each(|time| times.add(time));
        assert_eq!((times.count, times.total, times.min, times.max), (3, 15000, 2000, 9000));
        assert_eq!(times.mean(), Some(5000));
        // The variance is (9 + 1 + 16) / 2 square microseconds.
        assert!((times.error_percent() - 100.0 * (13.0_f64 / 3.0).sqrt() / 5.0).abs() < 1e-9);
    }
}
