//! Feature NUMA_TOPOLOGY.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use super::string::PerfStr;
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// NUMA nodes. Since perf 3.2.
///
/// ```c
/// u32 nr; struct { u32 node; u64 mem_total, mem_free; string cpus; } nodes[nr];  // packed
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaTopology {
    #[br(temp)]
    #[bw(calc = nodes.len() as u32)]
    nr: u32,
    /// The nodes.
    #[br(parse_with = counted::items, args(nr.into()))]
    pub nodes: Vec<NumaNode>,
}

/// A NUMA node.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    /// Node number.
    pub node: u32,
    /// Total memory in KiB.
    pub mem_total: u64,
    /// Free memory in KiB.
    pub mem_free: u64,
    /// CPUs, such as `0-3`.
    pub cpus: PerfStr,
}

/// Descriptor of NUMA_TOPOLOGY.
pub const NUMA_TOPOLOGY: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::NUMA_TOPOLOGY, (3, 2));

roles! { NumaTopology { nodes: fields } }

roles! { NumaNode { node: number, mem_total: number, mem_free: number, cpus: text(Topology) } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let cpus = PerfStr { bytes: b"0-3\0".to_vec() };
        both_orders(
            &NumaTopology { nodes: vec![NumaNode { node: 1, mem_total: 0x200, mem_free: 3, cpus }] },
            (),
            "01000000 01000000 0002000000000000 0300000000000000 04000000 '0-3' 00",
            "00000001 00000001 0000000000000200 0000000000000003 00000004 '0-3' 00",
        );
    }
}
