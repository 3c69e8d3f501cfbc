//! Scheduling of threads.

use super::plan::{BEGIN, PlannedThread, Switches};
use crate::synth::{Recorder, Stamp};
use perf_data::abi::record::switch::{Switch, SwitchCpuWide};
use perf_data::abi::record::{Body, Misc};
use perf_data::error::Result;
use perf_data::stream::Sink;

/// Scheduling of a thread: it runs for the first part of each interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slices {
    /// Interval in nanoseconds.
    every: u64,
    run: u64,
}

impl Slices {
    /// The scheduling of a thread. Without context switches, a partially busy thread runs all the time with fewer samples.
    pub(super) fn new(thread: &PlannedThread, switches: Option<Switches>) -> Option<Self> {
        let every = switches?.every;
        Some(Self { every, run: (u128::from(every) * u128::from(thread.busy) / 100) as u64 })
    }

    /// The time at which the thread has run for `ran` nanoseconds.
    pub(super) fn time(self, ran: u64) -> u64 {
        BEGIN + ran / self.run * self.every + ran % self.run
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
        let slices = slices.unwrap_or(Slices { every: switches.every, run: switches.every });
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
        let slices = Slices { every: 100, run: 25 };
        assert_eq!([0, 24, 25, 51].map(|ran| slices.time(ran) - BEGIN), [0, 24, 100, 201]);
    }
}
