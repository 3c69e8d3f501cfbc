//! Feature CLN_SIZE.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Size of a cache line: `u32 cln_size`. Since perf 7.1.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClnSize {
    /// Size in bytes.
    pub cln_size: u32,
}

/// Descriptor of CLN_SIZE.
pub const CLN_SIZE: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::CLN_SIZE, (7, 1));

roles! { ClnSize { cln_size: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&ClnSize { cln_size: 64 }, (), "40000000", "00000040");
    }
}
