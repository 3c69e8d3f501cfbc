//! Feature HYBRID_TOPOLOGY.

use super::FeatureId;
use super::descriptor::{FeatureDescriptor, FeatureFlags};
use super::string::PerfStr;
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// CPUs of each core PMU on hybrid systems. Since perf 5.14.
///
/// ```c
/// u32 nr; struct { string pmu_name, cpus; } nodes[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HybridTopology {
    #[br(temp)]
    #[bw(calc = nodes.len() as u32)]
    nr: u32,
    /// The PMUs.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub nodes: Vec<HybridNode>,
}

/// A core PMU.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HybridNode {
    /// Name, such as `cpu_atom`.
    pub pmu_name: PerfStr,
    /// CPUs, such as `4-7`.
    pub cpus: PerfStr,
}

/// Descriptor of HYBRID_TOPOLOGY.
pub const HYBRID_TOPOLOGY: FeatureDescriptor =
    FeatureDescriptor::machine(FeatureId::HYBRID_TOPOLOGY, (5, 14)).with(FeatureFlags::FILE_ONLY);

roles! { HybridTopology { nodes: fields } }

roles! { HybridNode { pmu_name: text(Pmu), cpus: text(Topology) } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let text = |text: &[u8]| PerfStr { bytes: text.to_vec() };
        both_orders(
            &HybridTopology { nodes: vec![HybridNode { pmu_name: text(b"cpu_atom"), cpus: text(b"4-7") }] },
            (),
            "01000000 08000000 'cpu_atom' 03000000 '4-7'",
            "00000001 00000008 'cpu_atom' 00000003 '4-7'",
        );
    }
}
