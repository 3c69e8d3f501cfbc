//! CPUs, memory and caches, in the wording of `perf report --header-only -I`.

use super::number_ranges::format_ranges;
use perf_data::abi::feature::cache::Caches;
use perf_data::abi::feature::cpu_domain_info::CpuDomainInfo;
use perf_data::abi::feature::cpu_topology::CpuTopology;
use perf_data::abi::feature::hybrid_topology::HybridTopology;
use perf_data::abi::feature::mem_topology::{MemTopology, MemoryNode};
use perf_data::abi::feature::numa_topology::NumaTopology;
use perf_data::abi::feature::string::PerfStr;

pub(super) fn cpu(topology: &CpuTopology) -> Vec<String> {
    let mut lines = Vec::new();
    let mut sets = |name: &str, sets: &[PerfStr]| {
        lines.extend(sets.iter().map(|set| format!("# sibling {name} : {}", set.to_text())));
    };
    sets("sockets", &topology.cores.strings);
    if let Some(dies) = &topology.dies {
        sets("dies   ", &dies.dies.strings);
    }
    sets("threads", &topology.threads.strings);
    for (at, cpu) in topology.cpus.iter().enumerate() {
        let die = topology.dies.as_ref().and_then(|dies| dies.die_ids.get(at));
        let die = die.map(|die| format!(" Die ID {die},")).unwrap_or_default();
        lines.push(format!("# CPU {at}: Core ID {},{die} Socket ID {}", cpu.core_id, cpu.socket_id));
    }
    if topology.cpus.is_empty() {
        lines.push("# Core ID and Socket ID information is not available".into());
    }
    lines
}

pub(super) fn numa(topology: &NumaTopology) -> Vec<String> {
    let mut lines = Vec::new();
    for node in &topology.nodes {
        let (number, total, free) = (node.node, node.mem_total, node.mem_free);
        lines.push(format!("# node{number} meminfo  : total = {total} kB, free = {free} kB"));
        lines.push(format!("# node{number} cpu list : {}", node.cpus.to_text()));
    }
    lines
}

pub(super) fn hybrid(topology: &HybridTopology) -> Vec<String> {
    let nodes = topology.nodes.iter();
    let lines = nodes.map(|node| format!("# {} cpu list : {}", node.pmu_name.to_text(), node.cpus.to_text()));
    ["# hybrid cpu system:".into()].into_iter().chain(lines).collect()
}

pub(super) fn caches(caches: &Caches) -> Vec<String> {
    let lines = caches.caches.iter().map(|cache| {
        let [kind, size, map] = [&cache.kind, &cache.size, &cache.map].map(PerfStr::to_text);
        format!("#  L{} {kind:<15} {size:>8} [{map}]", cache.level)
    });
    ["# CPU cache info:".into()].into_iter().chain(lines).collect()
}

pub(super) fn memory(topology: &MemTopology) -> Vec<String> {
    let node = |node: &MemoryNode| {
        let (words, nr_bits) = (&node.set.words, node.set.nr_bits);
        let has = |bit: &u64| words.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1);
        let blocks: Vec<u64> = (0..nr_bits.min(64 * words.len() as u64)).filter(has).collect();
        let size = (blocks.len() as u64).saturating_mul(topology.block_size_bytes);
        format!("#  {:>3} [{}]: {}", node.node, bytes(size), format_ranges(blocks))
    };
    let (count, size) = (topology.nodes.len(), topology.block_size_bytes);
    let title = format!("# memory nodes (nr {count}, block size {size:#x}):");
    [title].into_iter().chain(topology.nodes.iter().map(node)).collect()
}

/// Size in the largest unit of which there are at least two.
fn bytes(mut size: u64) -> String {
    let mut units = "BKMGTPE".chars();
    let mut unit = units.next().unwrap_or('B');
    while size / 1024 > 1 {
        let Some(larger) = units.next() else { break };
        (size, unit) = (size / 1024, larger);
    }
    format!("{size}{unit}")
}

pub(super) fn domains(info: &CpuDomainInfo) -> Vec<String> {
    let mut lines = vec![
        format!("# schedstat version : {}", info.schedstat_version),
        format!("# Maximum sched domains : {}", info.max_sched_domains),
    ];
    for cpu in &info.cpus {
        lines.push(format!("# cpu : {}", cpu.cpu));
        lines.push(format!("# nr_domains : {}", cpu.domains.len()));
        for domain in &cpu.domains {
            lines.push(format!("# Domain : {}", domain.domain));
            lines.extend(domain.dname.iter().map(|name| format!("# Domain name : {}", name.to_text())));
            lines.push(format!("# Domain cpu map : {}", domain.cpumask.to_text()));
            lines.push(format!("# Domain cpu list : {}", domain.cpulist.to_text()));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_use_the_largest_unit_of_which_there_are_two() {
        let sizes = [0, 1024, 2048, 3 << 29, 24 << 30, u64::MAX].map(bytes);
        assert_eq!(sizes, ["0B", "1024B", "2K", "1536M", "24G", "15E"]);
    }
}
