//! How threads were scheduled: how long each ran, waited, and was delayed once it could run, and which threads woke it.

use super::intern::stacks::StackId;
use super::weight::scheduler::{ContextSwitch, StopReason, SwitchSource};
use hashbrown::HashMap;
use perf_data::session::Session;
use perf_data::session::names::NameId;
use std::cmp::Reverse;

/// The scheduling of all threads but the idle ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scheduling {
    /// Those with the longest time on the CPU first.
    pub threads: Vec<ThreadScheduling>,
    /// Who woke whom, the most frequent first.
    pub wakeups: Vec<Wakeups>,
    /// Times of the first and the last switch.
    pub times: Option<(u64, u64)>,
    /// Whether it is recorded if waits were uninterruptible: by `sched_switch`, not by switch records.
    pub has_states: bool,
}

/// The scheduling of a thread. Times are in nanoseconds; what is not recorded from its beginning to its end is not included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadScheduling {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub comm: Option<NameId>,
    /// How often it stopped running.
    pub switches: u64,
    /// Time on the CPU.
    pub running: u64,
    /// Time off the CPU because it waited, or for a reason that is not recorded.
    pub blocked: u64,
    /// Time off the CPU in uninterruptible waits, mostly for I/O.
    pub uninterruptible: u64,
    /// Time off the CPU although it could run, from a switch on.
    pub preempted: u64,
    /// Time off the CPU although it could run, from a wakeup on; part of the other waits.
    pub delayed: u64,
    /// The longest time in which it could run, but did not.
    pub worst_delay: Option<Delay>,
}

/// A time in which a thread could run, but did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Nanoseconds.
    pub duration: u64,
    /// When it ended: the thread began to run.
    pub end: u64,
    /// The stack with which the thread had stopped running, if recorded.
    pub stack: Option<StackId>,
}

/// How often a thread woke another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeups {
    /// The thread that ran when the other was woken; `None` for interrupts of an idle CPU.
    pub waker: Option<NamedThread>,
    /// The thread that was woken.
    pub woken: NamedThread,
    /// How often.
    pub count: u64,
}

/// A thread with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedThread {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Its name.
    pub comm: Option<NameId>,
}

/// Measures the scheduling of threads. Memory depends on their number, and on that of pairs of threads that wake each other.
#[derive(Debug, Default)]
pub(crate) struct SchedulingCollector {
    threads: HashMap<u32, ScheduledThread>,
    /// Threads whose ID was reused.
    ended: Vec<ThreadScheduling>,
    wakeups: HashMap<(u32, u32), u64>,
    times: Option<(u64, u64)>,
    has_states: bool,
}

/// The state of a thread.
#[derive(Debug, Default)]
struct ScheduledThread {
    scheduling: ThreadScheduling,
    running_since: Option<u64>,
    stopped: Option<(u64, StopReason)>,
    /// When it was woken, since it stopped.
    woken: Option<u64>,
    /// Whether filters select its latest stop, and thus what follows it.
    is_selected: Option<bool>,
    /// The [state](Session::state) of the session in which it was looked up.
    named: Option<u64>,
}

impl SchedulingCollector {
    /// Processes a switch. Returns the thread that was delayed longer than ever before, whose [stack](Self::set_stack) is wanted. The
    /// times of a thread until it stops, and until it runs again, are added if its stop `is_selected`.
    pub(crate) fn switch(
        &mut self,
        switch: ContextSwitch,
        session: &Session,
        is_selected: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let ContextSwitch { time, stopped, started, source, .. } = switch;
        self.has_states |= source == SwitchSource::Tracepoint;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        if let Some((tid, reason)) = stopped.filter(|&(tid, _)| is_thread(tid)) {
            self.thread(tid, session).stop(time, reason, is_selected(tid));
        }
        started.filter(|&tid| is_thread(tid) && self.thread(tid, session).start(time))
    }

    /// Sets the stack with which a thread had stopped running before its worst delay.
    pub(crate) fn set_stack(&mut self, tid: u32, stack: StackId) {
        let delay = self.threads.get_mut(&tid).and_then(|thread| thread.scheduling.worst_delay.as_mut());
        delay.into_iter().for_each(|delay| delay.stack = Some(stack));
    }

    /// A thread is woken by the one that runs. Counts it if filters select either.
    pub(crate) fn wakeup(&mut self, (waker, is_selected): (u32, bool), woken: u32, time: u64, session: &Session) {
        if is_thread(waker) {
            self.thread(waker, session);
        }
        let thread = self.thread(woken, session);
        thread.woken.get_or_insert(time);
        if is_selected || thread.is_selected == Some(true) {
            *self.wakeups.entry((waker, woken)).or_default() += 1;
        }
    }

    /// A thread was created.
    pub(crate) fn begin(&mut self, tid: u32) {
        self.ended.extend(self.threads.remove(&tid).map(|thread| thread.scheduling));
    }

    fn thread(&mut self, tid: u32, session: &Session) -> &mut ScheduledThread {
        let thread = self.threads.entry(tid).or_default();
        let state = Some(session.state());
        if thread.named != state {
            thread.named = state;
            thread.scheduling.tid = tid;
            if let Some(named) = session.thread(tid) {
                thread.scheduling.pid = named.pid;
                thread.scheduling.comm = named.comm.or(thread.scheduling.comm);
            }
        }
        thread
    }

    /// The result, with the final numbers of stacks.
    pub(crate) fn finish(self, number: impl Fn(StackId) -> StackId) -> Scheduling {
        let named = |tid: u32| {
            let thread = self.threads.get(&tid).map(|thread| &thread.scheduling);
            let (pid, comm) = thread.map_or((tid, None), |thread| (thread.pid, thread.comm));
            NamedThread { pid, tid, comm }
        };
        let mut wakeups: Vec<_> = self.wakeups.into_iter().collect();
        wakeups.sort_unstable_by_key(|&(threads, count)| (Reverse(count), threads));
        let wakeups = wakeups.into_iter().map(|((waker, woken), count)| Wakeups {
            waker: is_thread(waker).then(|| named(waker)),
            woken: named(woken),
            count,
        });
        let wakeups = wakeups.collect();
        let mut threads = self.ended;
        threads.extend(self.threads.into_values().map(|thread| thread.scheduling));
        threads.retain(|thread| thread.switches > 0 || thread.off_cpu() > 0);
        for delay in threads.iter_mut().filter_map(|thread| thread.worst_delay.as_mut()) {
            delay.stack = delay.stack.map(&number);
        }
        threads.sort_unstable_by_key(|thread| (Reverse(thread.running), thread.tid, thread.switches));
        Scheduling { threads, wakeups, times: self.times, has_states: self.has_states }
    }
}

/// Whether this is a thread: idle CPUs have the ID 0, and threads that have ended -1.
fn is_thread(tid: u32) -> bool {
    tid as i32 > 0
}

impl ThreadScheduling {
    /// Time off the CPU.
    pub fn off_cpu(&self) -> u64 {
        self.blocked + self.uninterruptible + self.preempted
    }
}

impl ScheduledThread {
    fn stop(&mut self, time: u64, reason: StopReason, is_selected: bool) {
        let Self { scheduling, running_since, stopped, woken, .. } = self;
        self.is_selected = Some(is_selected);
        let running = running_since.take().and_then(|since| time.checked_sub(since)).unwrap_or(0);
        if is_selected {
            scheduling.switches += 1;
            scheduling.running += running;
        }
        *stopped = (is_selected && reason != StopReason::Exited).then_some((time, reason));
        *woken = None;
    }

    /// Returns whether it was delayed longer than ever before.
    fn start(&mut self, time: u64) -> bool {
        let Self { scheduling, running_since, stopped, woken, is_selected, .. } = self;
        *running_since = Some(time);
        let woken = woken.take().filter(|_| *is_selected != Some(false));
        let stopped = stopped.take();
        let mut could_run = woken;
        if let Some((since, reason)) = stopped
            && let Some(waited) = time.checked_sub(since)
        {
            match reason {
                StopReason::Preempted => {
                    scheduling.preempted += waited;
                    could_run = Some(since);
                }
                StopReason::Uninterruptible => scheduling.uninterruptible += waited,
                _ => scheduling.blocked += waited,
            }
        }
        scheduling.delayed += woken.and_then(|woken| time.checked_sub(woken)).unwrap_or(0);
        let Some(duration) = could_run.and_then(|since| time.checked_sub(since)) else { return false };
        let is_worst = scheduling.worst_delay.is_none_or(|worst| worst.duration < duration);
        if is_worst {
            scheduling.worst_delay = Some(Delay { duration, end: time, stack: None });
        }
        is_worst
    }
}
