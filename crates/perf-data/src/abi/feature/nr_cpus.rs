//! Feature NRCPUS.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Numbers of CPUs. Since perf 3.2.
///
/// ```c
/// u32 nr_cpus_avail, nr_cpus_online;
/// ```
#[binrw]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NrCpus {
    /// Number of available CPUs.
    pub nr_cpus_avail: u32,
    /// Number of online CPUs.
    pub nr_cpus_online: u32,
}

/// Descriptor of NRCPUS.
pub const NRCPUS: FeatureDescriptor = FeatureDescriptor::recording(FeatureId::NRCPUS, (3, 2));

roles! { NrCpus { nr_cpus_avail: number, nr_cpus_online: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        both_orders(&NrCpus { nr_cpus_avail: 8, nr_cpus_online: 4 }, (), "08000000 04000000", "00000008 00000004");
    }
}
