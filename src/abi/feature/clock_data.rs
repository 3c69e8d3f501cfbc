//! Feature CLOCK_DATA.

use binrw::binrw;

/// The recording's clock and the wall clock, read at the same moment. Since perf 5.9, where a clock was chosen (`-k`).
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockData {
    /// 1.
    pub version: u32,
    /// Number of the clock, as for clock_gettime(2).
    pub clockid: u32,
    /// Nanoseconds since 1970 UTC.
    pub wall_clock_ns: u64,
    /// Nanoseconds of the recording's clock.
    pub clockid_ns: u64,
}
