//! Progress of long work, for programs that show it.

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
pub struct Progress(Option<Arc<Tasks>>);

/// The tasks in progress.
type Tasks = Mutex<Vec<Arc<Counter>>>;

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
}

impl Progress {
    /// An observer to pass to [`ReadOptions`](crate::container::read::ReadOptions) and, in clones, to other work.
    pub fn observed() -> Self {
        Self(Some(Arc::default()))
    }

    /// The tasks in progress, the oldest first.
    pub fn tasks(&self) -> Vec<TaskState> {
        let Some(tasks) = &self.0 else { return Vec::new() };
        let state = |counter: &Arc<Counter>| TaskState {
            work: counter.work,
            name: counter.name.clone(),
            done: counter.done.load(Ordering::Relaxed),
            total: counter.total,
            begin: counter.begin,
        };
        locked(tasks).iter().map(state).collect()
    }

    /// Begins a task; it ends when the result is dropped.
    pub fn begin(&self, work: Work, name: &str, total: Option<u64>) -> Task {
        let begun = self.0.as_ref().map(|tasks| {
            let name = name.to_owned();
            let counter = Arc::new(Counter { work, name, done: AtomicU64::new(0), total, begin: Instant::now() });
            locked(tasks).push(Arc::clone(&counter));
            (Arc::clone(tasks), counter)
        });
        Task(begun)
    }
}

/// A task of [`Progress`], or none if nothing is observed.
#[derive(Debug)]
pub struct Task(Option<(Arc<Tasks>, Arc<Counter>)>);

impl Task {
    /// A task that is not observed.
    pub fn unobserved() -> Self {
        Self(None)
    }

    /// Sets how much is done.
    #[inline]
    pub fn set(&self, done: u64) {
        if let Some((_, counter)) = &self.0 {
            counter.done.store(done, Ordering::Relaxed);
        }
    }

    /// Adds to how much is done.
    pub fn add(&self, done: u64) {
        if let Some((_, counter)) = &self.0 {
            counter.done.fetch_add(done, Ordering::Relaxed);
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
        if let Some((tasks, counter)) = &self.0 {
            locked(tasks).retain(|other| !Arc::ptr_eq(other, counter));
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
