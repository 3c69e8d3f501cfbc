//! Scheduling of threads, and its records.

use super::plan::{BEGIN, PlannedThread, Switches};
use crate::synth::tracepoint::Tracepoint;
use crate::synth::{Recorder, Stamp};
use perf_data::abi::record::switch::{Switch, SwitchCpuWide};
use perf_data::abi::record::{Body, Misc};
use perf_data::error::Result;
use perf_data::stream::Sink;

/// Scheduling of a thread: it runs for the first part of each interval, after a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slices {
    /// Interval in nanoseconds.
    pub(super) every: u64,
    pub(super) run: u64,
    /// Nanoseconds from the begin of the interval, in which it is woken.
    pub(super) delay: u64,
}

/// The event of context switches.
pub(super) const SCHED_SWITCH: &str = "sched:sched_switch";

/// The events of wakeups: the first is used.
pub(super) const WAKEUPS: [&str; 2] = ["sched:sched_waking", "sched:sched_wakeup"];

/// The fields that the kernel defines for an event of the scheduler.
pub(super) fn scheduler_format(name: &str) -> Option<Tracepoint> {
    let (system, event) = name.split_once(':')?;
    let tracepoint = Tracepoint::new(system, event);
    let task = |tracepoint: Tracepoint, prefix: &str| {
        let field = |kind: &str, rest: &str| format!("{kind} {prefix}{rest}");
        let tracepoint = tracepoint.field(field("char", "comm[16]"), 16, false);
        tracepoint.field(field("pid_t", "pid"), 4, true).field(field("int", "prio"), 4, true)
    };
    if name == SCHED_SWITCH {
        return Some(task(task(tracepoint, "prev_").field("long prev_state", 8, true), "next_"));
    }
    WAKEUPS.contains(&name).then(|| task(tracepoint, "").field("int target_cpu", 4, true))
}

impl Slices {
    /// The scheduling of a thread. Without context switches, a partially busy thread runs all the time with fewer samples.
    pub(super) fn new(thread: &PlannedThread, switches: Option<Switches>) -> Option<Self> {
        let Switches { every, sampled, .. } = switches?;
        let run = (u128::from(every) * u128::from(thread.busy) / 100) as u64;
        Some(Self { every, run, delay: sampled.map_or(0, |sampled| sampled.delay) })
    }

    /// The time at which the thread has run for `ran` nanoseconds.
    pub(super) fn time(self, ran: u64) -> u64 {
        BEGIN + self.delay + ran / self.run * self.every + ran % self.run
    }
}

/// Context switch records of a thread.
pub(super) struct SwitchRecords {
    task: (u32, u32),
    cpu: u32,
    slices: Slices,
    is_cpu_wide: bool,
    /// Total number of switches, in and out.
    left: u64,
    number: u64,
}

impl SwitchRecords {
    pub(super) fn new(thread: &PlannedThread, slices: Option<Slices>, switches: Switches, duration: u64) -> Self {
        let slices = slices.unwrap_or(Slices { every: switches.every, run: switches.every, delay: 0 });
        let left = 2 * duration.div_ceil(switches.every);
        Self { task: thread.task, cpu: thread.cpu, slices, is_cpu_wide: switches.cpu_wide, left, number: 0 }
    }

    pub(super) fn time(&self) -> Option<u64> {
        let is_out = self.number % 2 == 1;
        let into = if is_out { self.slices.run } else { 0 };
        (self.number < self.left).then(|| BEGIN + self.number / 2 * self.slices.every + into)
    }

    pub(super) fn record<S: Sink>(&mut self, recorder: &mut Recorder<S>) -> Result<()> {
        let Some(time) = self.time() else { return Ok(()) };
        let misc = if self.number % 2 == 1 { Misc::SWITCH_OUT } else { Misc::empty() };
        self.number += 1;
        // The CPU is otherwise idle.
        let body = match self.is_cpu_wide {
            true => Body::SwitchCpuWide(SwitchCpuWide { next_prev_pid: 0, next_prev_tid: 0 }),
            false => Body::Switch(Switch),
        };
        recorder.record(misc, &body, Stamp::at(time, self.task.0, self.task.1).on(self.cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_advances_while_the_thread_runs() {
        let slices = Slices { every: 100, run: 25, delay: 0 };
        assert_eq!([0, 24, 25, 51].map(|ran| slices.time(ran) - BEGIN), [0, 24, 100, 201]);
    }
}
