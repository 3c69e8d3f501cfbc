//! Sockets of CPUs, as the recording has them.

use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::cpu_topology::CpuTopology;
use perf_data::stream::meta::Meta;

/// The sockets of CPUs.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// By CPU; `None` until it is needed.
    by_cpu: Option<Vec<u32>>,
}

impl Sockets {
    /// The socket of a CPU; `None` if the recording does not have it.
    pub(super) fn socket(&mut self, meta: &Meta, cpu: u32) -> Option<u32> {
        self.by_cpu.get_or_insert_with(|| sockets(meta)).get(cpu as usize).copied()
    }
}

fn sockets(meta: &Meta) -> Vec<u32> {
    let cpus = meta.feature_context().nr_cpus.map(|cpus| cpus.nr_cpus_avail);
    let topology = meta.features.get(&FeatureId::CPU_TOPOLOGY);
    let topology = topology.and_then(|section| abi::parse::<CpuTopology>(section, meta.endian, (cpus,)).ok());
    topology.map_or(Vec::new(), |(topology, _)| topology.cpus.iter().map(|cpu| cpu.socket_id).collect())
}
