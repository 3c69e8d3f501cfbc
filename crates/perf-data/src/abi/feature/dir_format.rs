//! Feature DIR_FORMAT.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Version of the directory container: `u64 version`. Since perf 5.1.
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirFormat {
    /// 0: a single file; 1: a `data.N` for each thread of perf.
    pub version: u64,
}

/// Descriptor of DIR_FORMAT.
pub const DIR_FORMAT: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::DIR_FORMAT, (5, 1))
    .with(FeatureFlags::FILE_ONLY.union(FeatureFlags::STORAGE));

roles! { DirFormat { version: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&DirFormat { version: 1 }, (), "0100000000000000", "0000000000000001");
    }
}
