//! The clock of a trace.

use super::proto::ClockSnapshot;
use super::proto::clock_snapshot::Clock;
use crate::formats::framework::tracks;
use crate::profile::Profile;

/// Clocks by the numbers of traces.
mod id {
    pub(super) const REALTIME: u32 = 1;
    pub(super) const MONOTONIC: u32 = 3;
    pub(super) const MONOTONIC_RAW: u32 = 5;
    pub(super) const BOOTTIME: u32 = 6;
}

/// The clock of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceClock(u32);

impl TraceClock {
    /// The clock of a recording. Perf's own clock is close to the monotonic one.
    pub(super) fn from_profile(profile: &Profile) -> Self {
        Self(match profile.tables.timeline.clock {
            // Clock IDs of Linux: CLOCK_REALTIME, CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME.
            Some(0) => id::REALTIME,
            Some(4) => id::MONOTONIC_RAW,
            Some(7) => id::BOOTTIME,
            _ => id::MONOTONIC,
        })
    }

    /// Its number in traces.
    pub(super) fn id(self) -> u32 {
        self.0
    }

    /// Its number in the description of an event.
    pub(super) fn perf_clock(self) -> i32 {
        match self.0 {
            id::REALTIME => 1,
            id::MONOTONIC_RAW => 3,
            id::BOOTTIME => 4,
            _ => 2,
        }
    }

    /// The clocks at the start of a recording. A trace shows times since boot, which are not recorded: those of the recording stand
    /// for them.
    pub(super) fn snapshot(self, profile: &Profile) -> ClockSnapshot {
        let start = tracks::start(profile);
        let mut clocks = vec![(id::BOOTTIME, start), (self.0, start)];
        // The recording's clock may itself be that of the boot time.
        clocks.dedup_by_key(|(id, _)| *id);
        if self.0 != id::REALTIME {
            clocks.extend(tracks::wall_clock_start(profile).map(|time| (id::REALTIME, time)));
        }
        let clocks = clocks.into_iter().map(|(id, time)| Clock { clock_id: Some(id), timestamp: Some(time) });
        ClockSnapshot { clocks: clocks.collect() }
    }
}
