//! Time off the CPU: for each thread, from the switch that stops it to the one with which it runs again.

use super::scheduler::{ContextSwitch, StopReason, SwitchSource};
use hashbrown::HashMap;
use perf_data::stream::ledger::counted;

/// The waits of threads. Memory depends on the number of threads that are alive.
#[derive(Debug)]
pub(crate) struct Waits<S> {
    threads: HashMap<u32, WaitingThread<S>>,
    /// Number of records so far that report lost events.
    losses: u64,
    counts: WaitCounts,
}

/// A thread whose waits are measured.
#[derive(Debug)]
struct WaitingThread<S> {
    state: ThreadState,
    /// Its latest sample, whose stack is where it waits.
    sample: Option<S>,
    /// Whether that was taken since it began to run.
    is_current: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThreadState {
    /// No switch of it is known.
    Unknown,
    /// As [`Unknown`](Self::Unknown), of a thread that began in the recording.
    New,
    Running(SwitchSource),
    Waiting {
        since: u64,
        reason: StopReason,
        source: SwitchSource,
        losses: u64,
    },
}

/// A wait that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedWait {
    pub tid: u32,
    pub nanoseconds: u64,
    pub end: u64,
    pub reason: StopReason,
}

/// Numbers of waits, for the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitCounts {
    pub waits: u64,
    pub nanoseconds: u64,
    /// Waits that began before the first switch of the thread.
    pub without_begin: u64,
    /// Waits that had not ended with the recording.
    pub without_end: u64,
    /// Switches whose counterpart is missing.
    pub unpaired: u64,
    /// Waits that ended before they began.
    pub reversed: u64,
    /// Waits during which events were lost, in which the thread may have run.
    pub with_losses: u64,
    pub nanoseconds_with_losses: u64,
    /// Waits whose stack is that of a sample from before the thread's latest switch.
    pub earlier_stacks: u64,
    pub without_stacks: u64,
}

impl<S> Default for Waits<S> {
    fn default() -> Self {
        Self { threads: HashMap::new(), losses: 0, counts: WaitCounts::default() }
    }
}

impl<S> WaitingThread<S> {
    fn new(state: ThreadState) -> Self {
        Self { state, sample: None, is_current: false }
    }
}

impl<S> Waits<S> {
    fn thread(&mut self, tid: u32) -> &mut WaitingThread<S> {
        self.threads.entry(tid).or_insert_with(|| WaitingThread::new(ThreadState::Unknown))
    }

    /// Sets the latest sample of a thread; returns the previous one.
    pub(crate) fn set_sample(&mut self, tid: u32, sample: S) -> Option<S> {
        let thread = self.thread(tid);
        thread.is_current = true;
        thread.sample.replace(sample)
    }

    /// The latest sample of a thread.
    pub(crate) fn sample(&self, tid: u32) -> Option<&S> {
        self.threads.get(&tid)?.sample.as_ref()
    }

    /// A thread was created.
    pub(crate) fn begin(&mut self, tid: u32) {
        self.threads.insert(tid, WaitingThread::new(ThreadState::New));
    }

    /// A thread has exited.
    pub(crate) fn exit(&mut self, tid: u32) {
        self.threads.remove(&tid);
    }

    /// Events were lost.
    pub(crate) fn lost(&mut self) {
        self.losses += 1;
    }

    /// Processes a switch; returns the wait that ended with it. Idle threads do not wait.
    pub(crate) fn switch(&mut self, switch: ContextSwitch) -> Option<EndedWait> {
        let ContextSwitch { time, source, stopped, started, .. } = switch;
        if let Some((tid, reason)) = stopped.filter(|&(tid, _)| tid != 0) {
            self.stop(tid, time, reason, source);
        }
        self.start(started.filter(|&tid| tid != 0)?, time, source)
    }

    /// Processes a sample as evidence that a waiting thread runs again, in recordings without other; returns the wait.
    pub(crate) fn sampled(&mut self, tid: u32, time: u64) -> Option<EndedWait> {
        let is_waiting = matches!(self.threads.get(&tid)?.state, ThreadState::Waiting { .. });
        if is_waiting { self.start(tid, time, SwitchSource::Tracepoint) } else { None }
    }

    fn stop(&mut self, tid: u32, time: u64, reason: StopReason, source: SwitchSource) {
        if reason == StopReason::Exited {
            return self.exit(tid);
        }
        let losses = self.losses;
        let thread = self.thread(tid);
        match &mut thread.state {
            // The switch record after the tracepoint: the same switch, of which the tracepoint has the exact state.
            ThreadState::Waiting { source: other, .. } if *other != source => {}
            state => {
                let is_unpaired = matches!(state, ThreadState::Waiting { .. });
                *state = ThreadState::Waiting { since: time, reason, source, losses };
                self.counts.unpaired += u64::from(is_unpaired);
            }
        }
    }

    fn start(&mut self, tid: u32, time: u64, source: SwitchSource) -> Option<EndedWait> {
        let all_losses = self.losses;
        let thread = self.threads.entry(tid).or_insert_with(|| WaitingThread::new(ThreadState::Unknown));
        let counts = &mut self.counts;
        let state = std::mem::replace(&mut thread.state, ThreadState::Running(source));
        let is_current = std::mem::take(&mut thread.is_current);
        let (since, reason, losses) = match state {
            ThreadState::Waiting { since, reason, losses, .. } => (since, reason, losses),
            ThreadState::Running(other) => {
                // The switch record after the tracepoint is no switch of its own.
                thread.is_current = is_current && other != source;
                counts.unpaired += u64::from(other == source);
                return None;
            }
            ThreadState::Unknown => {
                counts.without_begin += 1;
                return None;
            }
            ThreadState::New => return None,
        };
        let Some(nanoseconds) = time.checked_sub(since) else {
            counts.reversed += 1;
            return None;
        };
        counts.waits += 1;
        counts.nanoseconds += nanoseconds;
        if losses != all_losses {
            counts.with_losses += 1;
            counts.nanoseconds_with_losses += nanoseconds;
        }
        counts.without_stacks += u64::from(thread.sample.is_none());
        counts.earlier_stacks += u64::from(thread.sample.is_some() && !is_current);
        Some(EndedWait { tid, nanoseconds, end: time, reason })
    }

    /// The counts at the end of the recording.
    pub(crate) fn finish(self) -> WaitCounts {
        let waiting = self.threads.values().filter(|thread| matches!(thread.state, ThreadState::Waiting { .. }));
        WaitCounts { without_end: waiting.count() as u64, ..self.counts }
    }
}

impl WaitCounts {
    /// What was measured, in a line.
    pub(crate) fn message(&self) -> String {
        let mut message = format!("time off the CPU: {} in {}", seconds(self.nanoseconds), counted(self.waits, "wait"));
        let omitted = [
            (self.without_begin, "began before the recording"),
            (self.without_end, "did not end in it"),
            (self.unpaired, "lack a switch"),
            (self.reversed, "end before they begin"),
        ];
        let omitted: Vec<_> =
            omitted.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}")).collect();
        if !omitted.is_empty() {
            message += &format!("; omitted waits: {}", omitted.join(", "));
        }
        message
    }

    /// What makes the result inexact.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let losses = (self.with_losses > 0).then(|| {
            let time = seconds(self.nanoseconds_with_losses);
            format!(
                "waits during which events were lost, so that the thread may have run in between: {} ({time})",
                self.with_losses
            )
        });
        let earlier = (self.earlier_stacks > 0).then(|| {
            format!(
                "waits with the stack of an earlier sample of their thread, because it was not sampled since it began to run: {}; \
                 record sched:sched_switch with -g for the stack of each",
                self.earlier_stacks
            )
        });
        let missing = (self.without_stacks > 0).then(|| {
            format!("waits without a stack, because their thread was not sampled before: {}", self.without_stacks)
        });
        losses.into_iter().chain(earlier).chain(missing)
    }
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:06} s", nanoseconds / 1_000_000_000, nanoseconds / 1000 % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACEPOINT: SwitchSource = SwitchSource::Tracepoint;
    const RECORD: SwitchSource = SwitchSource::Record;

    fn switch(
        time: u64,
        source: SwitchSource,
        stopped: Option<(u32, StopReason)>,
        started: Option<u32>,
    ) -> ContextSwitch {
        ContextSwitch { time, cpu: Some(0), source, stopped, started }
    }

    #[test]
    fn a_switch_in_both_sources_is_one() {
        let mut waits: Waits<()> = Waits::default();
        let blocked = Some((7, StopReason::Blocked));
        assert_eq!(waits.switch(switch(10, TRACEPOINT, blocked, Some(0))), None);
        assert_eq!(waits.switch(switch(11, RECORD, Some((7, StopReason::Unknown)), None)), None);
        let wait = EndedWait { tid: 7, nanoseconds: 20, end: 30, reason: StopReason::Blocked };
        assert_eq!(waits.switch(switch(30, TRACEPOINT, None, Some(7))), Some(wait));
        assert_eq!(waits.switch(switch(31, RECORD, None, Some(7))), None);
        let counts = WaitCounts { waits: 1, nanoseconds: 20, without_stacks: 1, ..WaitCounts::default() };
        assert_eq!(waits.finish(), counts);
    }

    #[test]
    fn waits_that_are_not_seen_whole_are_counted() {
        let mut waits: Waits<()> = Waits::default();
        let stop = |time, tid| switch(time, RECORD, Some((tid, StopReason::Unknown)), None);
        let start = |time, tid| switch(time, RECORD, None, Some(tid));
        waits.begin(2);
        for record in [start(1, 1), start(2, 2), start(3, 1), stop(4, 1), stop(6, 1), stop(9, 3), start(8, 3)] {
            assert_eq!(waits.switch(record), None, "{record:?}");
        }
        waits.lost();
        assert_eq!(waits.switch(start(8, 1)).map(|wait| wait.nanoseconds), Some(2));
        // One exits while it waits; another at its last switch.
        [stop(10, 2), stop(10, 4), stop(10, 1)].into_iter().for_each(|record| _ = waits.switch(record));
        waits.exit(2);
        waits.switch(switch(10, TRACEPOINT, Some((3, StopReason::Exited)), None));
        let counts = waits.finish();
        let expected = WaitCounts {
            waits: 1,
            nanoseconds: 2,
            without_begin: 1,
            without_end: 2,
            unpaired: 2,
            reversed: 1,
            with_losses: 1,
            nanoseconds_with_losses: 2,
            without_stacks: 1,
            ..WaitCounts::default()
        };
        assert_eq!(counts, expected);
        assert_eq!(
            counts.message(),
            "time off the CPU: 0.000000 s in 1 wait; omitted waits: 1 began before the recording, 2 did not end in it, \
             2 lack a switch, 1 end before they begin"
        );
        assert_eq!(counts.warnings().count(), 2);
    }
}
