//! How many threads run at a time.

use super::scheduler::ContextSwitch;
use hashbrown::{HashMap, HashSet};

/// The threads that run, as far as switches and samples show it.
#[derive(Debug, Default)]
pub(crate) struct RunningThreads {
    /// Threads of which a switch is known.
    known: HashSet<u32>,
    /// Processes of running threads.
    running: HashMap<u32, u32>,
    /// Number of running threads by process.
    by_process: HashMap<u32, u64>,
}

impl RunningThreads {
    /// A thread began or stopped to run. The process of one that begins is `None` where the switch does not state it.
    pub(crate) fn switch(&mut self, switch: ContextSwitch, process: impl Fn(u32) -> u32) {
        if let Some((tid, _)) = switch.stopped {
            self.stop(tid);
        }
        if let Some(tid) = switch.started.filter(|&tid| tid != 0) {
            self.start(process(tid), tid);
        }
    }

    /// A thread was sampled, and so ran: this is how threads are known that began to run before the recording.
    #[inline]
    pub(crate) fn sampled(&mut self, pid: u32, tid: u32) {
        if tid != 0 && !self.known.contains(&tid) {
            self.start(pid, tid);
        }
    }

    /// A thread has exited.
    pub(crate) fn exit(&mut self, tid: u32) {
        self.stop(tid);
        self.known.remove(&tid);
    }

    /// Number of running threads of a process, or of all; at least the one that is sampled.
    #[inline]
    pub(crate) fn count(&self, process: Option<u32>) -> u64 {
        let count = match process {
            Some(pid) => self.by_process.get(&pid).copied().unwrap_or(0),
            None => self.running.len() as u64,
        };
        count.max(1)
    }

    fn start(&mut self, pid: u32, tid: u32) {
        self.known.insert(tid);
        if self.running.insert(tid, pid).is_none() {
            *self.by_process.entry(pid).or_default() += 1;
        }
    }

    fn stop(&mut self, tid: u32) {
        self.known.insert(tid);
        let Some(pid) = self.running.remove(&tid) else { return };
        if let Some(count) = self.by_process.get_mut(&pid) {
            *count -= 1;
            if *count == 0 {
                self.by_process.remove(&pid);
            }
        }
    }
}
