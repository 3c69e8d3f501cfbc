//! Feature CLOCK_DATA.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// A reading of the recording's clock and the wall clock at the same time. Since perf 5.9, with `perf record -k`.
///
/// ```c
/// u32 version, clockid; u64 wall_clock_ns, clockid_ns;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockData {
    /// 1.
    pub version: u32,
    /// Clock, as for clock_gettime(2).
    pub clockid: u32,
    /// Wall clock, in nanoseconds since 1970-01-01 UTC.
    pub wall_clock_ns: u64,
    /// Recording's clock, in nanoseconds.
    pub clockid_ns: u64,
}

/// Descriptor of CLOCK_DATA.
pub const CLOCK_DATA: FeatureDescriptor =
    FeatureDescriptor::wall_clock(FeatureId::CLOCK_DATA, (5, 9)).with(FeatureFlags::DERIVED);

roles! { ClockData { version: number, clockid: number, wall_clock_ns: number, clockid_ns: time } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &ClockData { version: 1, clockid: 4, wall_clock_ns: 0x1122, clockid_ns: 0x33 },
            (),
            "01000000 04000000 2211000000000000 3300000000000000",
            "00000001 00000004 0000000000001122 0000000000000033",
        );
    }
}
