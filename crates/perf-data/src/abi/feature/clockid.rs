//! Feature CLOCKID.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Resolution of the clock selected with `perf record -k`: `u64 clockid_res_ns`. Since perf 5.0.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockId {
    /// Resolution in nanoseconds.
    pub clockid_res_ns: u64,
}

/// Descriptor of CLOCKID.
pub const CLOCKID: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::CLOCKID, (5, 0));

roles! { ClockId { clockid_res_ns: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&ClockId { clockid_res_ns: 0x102 }, (), "0201000000000000", "0000000000000102");
    }
}
