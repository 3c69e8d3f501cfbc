//! Feature MEM_TOPOLOGY.

use super::FeatureId;
use super::descriptor::FeatureDescriptor;
use crate::abi::counted;
use crate::roles;
use binrw::binrw;
use serde::{Deserialize, Serialize};

/// Memory blocks of each NUMA node. Since perf 4.17.
///
/// ```c
/// u64 version, block_size_bytes, nr;
/// struct { u64 node, size; bitmap set; } nodes[nr];
/// ```
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemTopology {
    /// 1.
    pub version: u64,
    /// Size of a block in bytes.
    pub block_size_bytes: u64,
    #[br(temp)]
    #[bw(calc = nodes.len() as u64)]
    nr: u64,
    /// The nodes.
    #[br(parse_with = counted::items, args(nr))]
    pub nodes: Vec<MemoryNode>,
}

/// A node and its blocks.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryNode {
    /// Node number.
    pub node: u64,
    /// Number of bits of the set.
    pub size: u64,
    /// The present blocks.
    pub set: Bitmap,
}

/// A bitmap: `u64 nr_bits; u64 words[(nr_bits + 63) / 64]`.
#[binrw]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bitmap {
    /// Number of bits.
    pub nr_bits: u64,
    /// Bit n is bit n % 64 of word n / 64.
    #[br(parse_with = counted::u64s, args(nr_bits.div_ceil(64)))]
    pub words: Vec<u64>,
}

/// Descriptor of MEM_TOPOLOGY.
pub const MEM_TOPOLOGY: FeatureDescriptor = FeatureDescriptor::machine(FeatureId::MEM_TOPOLOGY, (4, 17));

roles! { MemTopology { version: number, block_size_bytes: number, nodes: number } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::testing::both_orders;

    #[test]
    fn bytes() {
        let set = Bitmap { nr_bits: 65, words: vec![0xff, 1] };
        both_orders(
            &MemTopology {
                version: 1,
                block_size_bytes: 0x800_0000,
                nodes: vec![MemoryNode { node: 2, size: 65, set }],
            },
            (),
            "0100000000000000 0000000800000000 0100000000000000 0200000000000000 4100000000000000 \
             4100000000000000 ff00000000000000 0100000000000000",
            "0000000000000001 0000000008000000 0000000000000001 0000000000000002 0000000000000041 \
             0000000000000041 00000000000000ff 0000000000000001",
        );
    }
}
