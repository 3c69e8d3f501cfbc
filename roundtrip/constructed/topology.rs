//! The machine's nodes, memory and kinds of CPU.

use super::Recording;
use super::bytes::Bytes;
use super::perf::{HEADER, Perf};
use super::read::Read;
use super::recording::{Event, File, IP, TID, TIME, record};
use perfconv::abi::Endian;
use perfconv::abi::feature::{Feature, FeatureId};

const NUMA_TOPOLOGY: u32 = 14;
const MEM_TOPOLOGY: u32 = 22;
const HYBRID_TOPOLOGY: u32 = 30;

fn file(endian: Endian) -> Vec<u8> {
    let new = || Bytes::new(endian);
    let numa =
        new().u32(2).u32(0).u64(0x1234_5678).u64(0x9abc).string("0-3").u32(8).u64(0x8765).u64(0x21).string("4-7");
    let (block_size, nodes) = (0x800_0000, 2);
    let memory = new().u64(1).u64(block_size).u64(nodes);
    // The number of the highest block and 1, then a bit for each block.
    let memory = memory.u64(0).u64(4).u64(4).u64(0b1101).u64(1).u64(66).u64(66).u64s(&[1 << 63, 0b10]);
    let hybrid = new().u32(2).string("cpu_core").string("0-3").string("cpu_atom").string("4-11");
    let comm = new().u32(100).u32(101).text("numa", 8).u32(100).u32(101).u64(5);
    let mut file = File::new(endian, vec![Event::cpu_clock(IP | TID | TIME)], vec![record(3, 0, comm, endian)]);
    file.feature(NUMA_TOPOLOGY, numa);
    file.feature(MEM_TOPOLOGY, memory);
    file.feature(HYBRID_TOPOLOGY, hybrid);
    file.into_bytes()
}

fn expect(read: &Read) {
    let Feature::NumaTopology(numa) = read.feature(FeatureId::NUMA_TOPOLOGY) else { panic!("nodes") };
    let nodes = numa.nodes.iter().map(|node| (node.node, node.mem_total, node.mem_free, node.cpus.to_text()));
    let expected = [(0, 0x1234_5678, 0x9abc, "0-3".to_owned()), (8, 0x8765, 0x21, "4-7".to_owned())];
    assert_eq!(nodes.collect::<Vec<_>>(), expected);
    let Feature::MemTopology(memory) = read.feature(FeatureId::MEM_TOPOLOGY) else { panic!("memory") };
    assert_eq!((memory.version, memory.block_size_bytes), (1, 0x800_0000));
    let nodes = memory.nodes.iter().map(|node| (node.node, node.size, node.set.nr_bits, &node.set.words[..]));
    assert_eq!(nodes.collect::<Vec<_>>(), [(0, 4, 4, &[0b1101][..]), (1, 66, 66, &[1 << 63, 0b10])]);
    let Feature::HybridTopology(hybrid) = read.feature(FeatureId::HYBRID_TOPOLOGY) else { panic!("kinds of CPU") };
    let pmus: Vec<_> = hybrid.nodes.iter().map(|pmu| (pmu.pmu_name.to_text(), pmu.cpus.to_text())).collect();
    assert_eq!(pmus, [("cpu_core", "0-3"), ("cpu_atom", "4-11")].map(|(pmu, cpus)| (pmu.to_owned(), cpus.to_owned())));
}

pub fn recordings(endian: Endian) -> Vec<Recording> {
    let shown = Perf::shows(
        HEADER,
        &[
            "# node0 meminfo : total = 305419896 kB, free = 39612 kB",
            "# node0 cpu list : 0-3",
            "# node8 meminfo : total = 34661 kB, free = 33 kB",
            "# node8 cpu list : 4-7",
            "# memory nodes (nr 2, block size 0x8000000):",
            "# 0 [384M]: 0,2-3",
            "# 1 [256M]: 63,65",
            "# hybrid cpu system:",
            "# cpu_core cpu list : 0-3",
            "# cpu_atom cpu list : 4-11",
        ],
    );
    vec![Recording { name: "topology", endian, bytes: file(endian), expect, perf: shown }]
}
