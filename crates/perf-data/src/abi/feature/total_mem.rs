//! Feature TOTAL_MEM.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Memory of the machine: `u64 total_mem`. Since perf 3.2.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalMem {
    /// Memory in KiB.
    pub total_mem: u64,
}

/// Descriptor of TOTAL_MEM.
pub const TOTAL_MEM: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::TOTAL_MEM, (3, 2));

roles! { TotalMem { total_mem: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&TotalMem { total_mem: 0x1234 }, (), "3412000000000000", "0000000000001234");
    }
}
