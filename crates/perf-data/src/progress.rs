//! Progress of long work, for programs that show it.

use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// An observer of running work. By default nothing is observed, which costs nothing.
///
/// ```
/// use perf_data::container::read::ReadOptions;
/// use perf_data::progress::Progress;
///
/// let progress = Progress::observed();
/// let options = ReadOptions::default().with_progress(progress.clone());
/// // While another thread reads a recording with these options:
/// for task in progress.tasks() {
///     println!("{:?} {}: {} of {:?}", task.work, task.name, task.done, task.total);
/// }
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Progress(Option<Arc<Observed>>);

/// The tasks in progress, and who is called about them.
#[derive(Default)]
struct Observed {
    tasks: Mutex<Vec<Arc<Counter>>>,
    callback: Option<Callback>,
}

type Callback = Box<dyn Fn(&[TaskState]) + Send + Sync>;

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tasks.fmt(f)
    }
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// Records of a recording are read, in bytes.
    Reading,
    /// Object files and their debug information are opened, in objects.
    OpeningObjects,
    /// Addresses are resolved to functions and lines, in addresses.
    ResolvingAddresses,
    /// A file is downloaded, in bytes.
    Downloading,
}

/// Work in progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskState {
    /// The kind of work.
    pub work: Work,
    /// Name of the file that it is about; empty if it is about several.
    pub name: String,
    /// How much is done.
    pub done: u64,
    /// How much there is to do, if that is known.
    pub total: Option<u64>,
    /// When it began.
    pub begin: Instant,
}

#[derive(Debug)]
struct Counter {
    work: Work,
    name: String,
    done: AtomicU64,
    total: Option<u64>,
    begin: Instant,
    /// How much must be done for the next call of the callback.
    next_call: AtomicU64,
}

/// A callback is called this often per task.
const CALLS: u64 = 100;

/// How much is done between calls if it is unknown how much there is to do.
const UNKNOWN_STEP: u64 = 1 << 20;

impl Progress {
    /// An observer to pass to [`ReadOptions`](crate::container::read::ReadOptions) and, in clones, to other work.
    pub fn observed() -> Self {
        Self(Some(Arc::default()))
    }

    /// As [`observed`](Self::observed), for programs without another thread that could look: calls a function with the tasks in
    /// progress, about a hundred times per task.
    pub fn calling(callback: impl Fn(&[TaskState]) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Observed { callback: Some(Box::new(callback)), ..Observed::default() })))
    }

    /// The tasks in progress, the oldest first.
    pub fn tasks(&self) -> Vec<TaskState> {
        self.0.as_ref().map_or_else(Vec::new, |observed| observed.states())
    }

    /// Begins a task; it ends when the result is dropped.
    pub fn begin(&self, work: Work, name: &str, total: Option<u64>) -> Task {
        let begun = self.0.as_ref().map(|observed| {
            let (name, done, begin) = (name.to_owned(), AtomicU64::new(0), Instant::now());
            let counter = Arc::new(Counter { work, name, done, total, begin, next_call: AtomicU64::new(0) });
            locked(&observed.tasks).push(Arc::clone(&counter));
            (Arc::clone(observed), counter)
        });
        Task(begun)
    }
}

impl Observed {
    fn states(&self) -> Vec<TaskState> {
        let state = |counter: &Arc<Counter>| TaskState {
            work: counter.work,
            name: counter.name.clone(),
            done: counter.done.load(Ordering::Relaxed),
            total: counter.total,
            begin: counter.begin,
        };
        locked(&self.tasks).iter().map(state).collect()
    }

    /// Calls the callback if enough was done since the last call.
    fn call(&self, counter: &Counter, done: u64) {
        let Some(callback) = &self.callback else { return };
        if done >= counter.next_call.load(Ordering::Relaxed) {
            let step = counter.total.map_or(UNKNOWN_STEP, |total| (total / CALLS).max(1));
            counter.next_call.store(done.saturating_add(step), Ordering::Relaxed);
            callback(&self.states());
        }
    }
}

/// A task of [`Progress`], or none if nothing is observed.
#[derive(Debug)]
pub struct Task(Option<(Arc<Observed>, Arc<Counter>)>);

impl Task {
    /// A task that is not observed.
    pub fn unobserved() -> Self {
        Self(None)
    }

    /// Sets how much is done.
    #[inline]
    pub fn set(&self, done: u64) {
        if let Some((observed, counter)) = &self.0 {
            counter.done.store(done, Ordering::Relaxed);
            observed.call(counter, done);
        }
    }

    /// Adds to how much is done.
    pub fn add(&self, done: u64) {
        if let Some((observed, counter)) = &self.0 {
            let before = counter.done.fetch_add(done, Ordering::Relaxed);
            observed.call(counter, before.saturating_add(done));
        }
    }

    /// A reader that adds the bytes that are read.
    pub fn reader<'a, R: Read + ?Sized>(&'a self, stream: &'a mut R) -> CountingReader<'a, R> {
        CountingReader { task: self, stream }
    }
}

/// See [`Task::reader`].
pub struct CountingReader<'a, R: ?Sized> {
    task: &'a Task,
    stream: &'a mut R,
}

impl<R: Read + ?Sized> Read for CountingReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.task.add(read as u64);
        Ok(read)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some((observed, counter)) = &self.0 {
            locked(&observed.tasks).retain(|other| !Arc::ptr_eq(other, counter));
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callback_is_called_a_hundred_times() {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        let progress = Progress::calling(move |tasks| locked(&seen).push(tasks[0].done));
        let task = progress.begin(Work::Reading, "a", Some(10_000));
        (1..=10_000).for_each(|done| task.set(done));
        let calls = locked(&calls);
        assert_eq!((calls.len(), calls[0], calls[1], calls.last()), (100, 1, 101, Some(&9901)));
    }

    #[test]
    fn tasks_are_listed_until_they_end() {
        let progress = Progress::observed();
        let read = progress.begin(Work::Reading, "a", Some(10));
        let other = progress.begin(Work::Downloading, "b", None);
        read.set(3);
        other.add(1);
        other.add(1);
        let listed = |progress: &Progress| {
            let tasks = progress.tasks().into_iter();
            tasks.map(|task| (task.work, task.name, task.done, task.total)).collect::<Vec<_>>()
        };
        assert_eq!(
            listed(&progress),
            [(Work::Reading, "a".to_owned(), 3, Some(10)), (Work::Downloading, "b".to_owned(), 2, None)]
        );
        drop(read);
        assert_eq!(listed(&progress.clone()), [(Work::Downloading, "b".to_owned(), 2, None)]);
        let unobserved = Progress::default();
        let task = unobserved.begin(Work::Reading, "c", None);
        task.set(1);
        assert!(unobserved.tasks().is_empty() && task.0.is_none());
    }
}
