//! Feature SAMPLE_TIME.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Times of the first and the last sample, both 0 if perf did not process the samples. Since perf 4.16.
///
/// ```c
/// u64 first_sample_time, last_sample_time;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleTime {
    /// Time of the first sample, in nanoseconds of the recording's clock.
    pub first_sample_time: u64,
    /// Time of the last sample, in nanoseconds of the recording's clock.
    pub last_sample_time: u64,
}

/// Descriptor of SAMPLE_TIME.
pub const SAMPLE_TIME: FeatureDescriptor =
    FeatureDescriptor::recording(FeatureId::SAMPLE_TIME, (4, 16)).with(FeatureFlags::DERIVED);

roles! { SampleTime { first_sample_time: time, last_sample_time: time } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(
            &SampleTime { first_sample_time: 1, last_sample_time: 0x200 },
            (),
            "0100000000000000 0002000000000000",
            "0000000000000001 0000000000000200",
        );
    }
}
