//! Call chains that hiperf, the profiler of OpenHarmony, stores once for all samples: a sample ends in the ID of its stack.

use hashbrown::HashMap;
use perf_data::abi::Endian;
use perf_data::abi::bytes::{ByteReader, Integer};
use perf_data::abi::feature::FeatureId;
use perf_data::abi::record::RecordType;
use perf_data::abi::sample::view::SampleView;
use perf_data::stream::meta::Meta;
use perf_data::stream::raw::Raw;
use perf_symbols::symbol::hiperf::STACK_TABLE;

/// The feature [`STACK_TABLE`]: for each process a tree of addresses, whose nodes refer to their callers.
///
/// ```c
/// u32 process_count; struct { u32 pid, table_size, node_count; struct { u32 index; u64 node; } nodes[node_count]; } processes[];
/// // node: bits 0 to 39: address; 40 to 62: index of the caller, 0 if there is none; 63: whether the address is in the kernel
/// // ID of a stack: bits 0 to 22: index of its innermost node; 23 to 63: number of addresses
/// ```
#[derive(Debug, Default)]
pub(crate) struct UniqueStacks {
    /// Nodes by process and index.
    nodes: HashMap<(u32, u32), u64>,
    /// The latest chain, in the byte order of the recording.
    chain: Vec<u8>,
}

const ADDRESS_BITS: u32 = 40;
const INDEX_BITS: u32 = 23;
/// Bits of kernel addresses that nodes lack.
const KERNEL: u64 = u64::MAX << ADDRESS_BITS;
/// Maximum number of frames of a chain, four times that of hiperf: callers can form a cycle.
const MAX_FRAMES: u64 = 1024;

impl UniqueStacks {
    /// Reads the stacks of a recording; `None` if it has none.
    pub(crate) fn read(meta: &Meta) -> Option<Self> {
        let section = meta.features.get(&FeatureId(STACK_TABLE))?;
        let mut stacks = Self::default();
        // Nodes before the place where the section is corrupt are used.
        let _ = stacks.read_nodes(&mut ByteReader::new(section, meta.endian));
        Some(stacks)
    }

    fn read_nodes(&mut self, section: &mut ByteReader<'_>) -> Option<()> {
        for _ in 0..section.u32()? {
            let (pid, _, count) = (section.u32()?, section.u32()?, section.u32()?);
            for _ in 0..count {
                let index = section.u32()?;
                self.nodes.insert((pid, index), section.u64()?);
            }
        }
        Some(())
    }

    /// The sample with its call chain; `None` if it does not end in the ID of a stack.
    pub(crate) fn with_call_chain<'a>(&'a mut self, meta: &Meta, raw: &Raw<'a>) -> Option<Raw<'a>> {
        let (_, event) = meta.events.find(raw).filter(|_| raw.header().kind == RecordType::SAMPLE)?;
        let view = SampleView::read(raw.body(), &event.layout, raw.endian()).ok()?;
        if !view.callchain?.is_empty() {
            return None;
        }
        let (pid, _) = view.task?;
        let id = ByteReader::new(view.tail, raw.endian()).u64()?;
        self.fill_chain(pid, id, raw.endian());
        let count = self.chain.len() as u64 / 8;
        let words = ByteReader::new(&self.chain, raw.endian()).words(count).filter(|_| count > 0)?;
        Some(raw.with_call_chain(words))
    }

    /// Sets the chain to the stack of a process with this ID.
    fn fill_chain(&mut self, pid: u32, id: u64, endian: Endian) {
        self.chain.clear();
        let (mut index, frames) = (id & !(u64::MAX << INDEX_BITS), id >> INDEX_BITS);
        for _ in 0..frames.min(MAX_FRAMES) {
            let Some(&node) = self.nodes.get(&(pid, index as u32)) else { break };
            let is_kernel = node >> 63 != 0;
            let address = node & !KERNEL | if is_kernel { KERNEL } else { 0 };
            self.chain.extend(address.to_bytes(endian));
            index = node << 1 >> (ADDRESS_BITS + 1);
            if index == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(processes: &[(u32, &[(u32, u64)])]) -> UniqueStacks {
        let mut section = (processes.len() as u32).to_le_bytes().to_vec();
        for (pid, nodes) in processes {
            section.extend([*pid, 0, nodes.len() as u32].into_iter().flat_map(u32::to_le_bytes));
            for (index, node) in *nodes {
                section.extend(index.to_le_bytes());
                section.extend(node.to_le_bytes());
            }
        }
        let mut stacks = UniqueStacks::default();
        assert_eq!(stacks.read_nodes(&mut ByteReader::new(&section, Endian::Little)), Some(()));
        stacks
    }

    fn chain(stacks: &mut UniqueStacks, pid: u32, index: u64, frames: u64) -> Vec<u64> {
        stacks.fill_chain(pid, frames << INDEX_BITS | index, Endian::Little);
        let (words, _) = stacks.chain.as_chunks();
        words.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }

    #[test]
    fn nodes_refer_to_their_callers() {
        let in_kernel = 1 << 63 | 2 << ADDRESS_BITS | 0x12;
        let nodes: &[_] = &[(1, 0x10), (2, 1 << ADDRESS_BITS | 0x11), (3, in_kernel)];
        let mut stacks = stacks(&[(7, nodes), (8, &[(3, 0x20)])]);
        assert_eq!(chain(&mut stacks, 7, 3, 3), [KERNEL | 0x12, 0x11, 0x10]);
        assert_eq!(chain(&mut stacks, 7, 3, 1), [KERNEL | 0x12]);
        assert_eq!(chain(&mut stacks, 8, 3, 9), [0x20]);
        assert_eq!(chain(&mut stacks, 9, 3, 9), [0; 0]);
    }

    #[test]
    fn callers_that_form_a_cycle_end() {
        let mut stacks = stacks(&[(7, &[(1, 1 << ADDRESS_BITS | 0x10)])]);
        assert_eq!(chain(&mut stacks, 7, 1, 1 << 40).len() as u64, MAX_FRAMES);
    }
}
