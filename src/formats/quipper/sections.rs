//! Encodes feature sections from messages, as perf writes them.

use super::proto::PerfDataProto;
use super::proto::perf_data_proto::string_metadata::StringAndMd5sumPrefix;
use super::proto::perf_data_proto::{PerfBuildId, PerfCpuTopologyMetadata};
use binrw::BinWrite;
use perf_data::abi;
use perf_data::abi::Endian;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::build_ids::{BuildIdContent, BuildIdEntry, BuildIds};
use perf_data::abi::feature::cpu_topology::{CpuPlace, CpuTopology};
use perf_data::abi::feature::event_desc::{EventDesc, EventDescs};
use perf_data::abi::feature::group_desc::{Group, GroupDesc};
use perf_data::abi::feature::hybrid_topology::{HybridNode, HybridTopology};
use perf_data::abi::feature::numa_topology::{NumaNode, NumaTopology};
use perf_data::abi::feature::pmu_mappings::{PmuMapping, PmuMappings};
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::record::{Misc, RecordType};
use perf_data::abi::text::PaddedStr;
use perf_data::container::read::file::FileAttr;

/// File names of build IDs are padded to multiples of this size.
const NAME_ALIGN: usize = 64;

/// Encodes the section that messages describe; empty if they describe none.
pub(super) fn section(id: FeatureId, message: &PerfDataProto, events: &[FileAttr], endian: Endian) -> Vec<u8> {
    let texts = message.string_metadata.as_ref();
    let text = |get: fn(&super::proto::perf_data_proto::StringMetadata) -> &Option<StringAndMd5sumPrefix>| {
        texts.and_then(|texts| get(texts).as_ref()).map(|text| bytes(&PerfStr::new(text.value()), endian))
    };
    let section = match id {
        FeatureId::TRACING_DATA => message.tracing_data.as_ref().map(|data| data.tracing_data().to_vec()),
        FeatureId::BUILD_ID => Some(build_ids(&message.build_ids, endian)),
        FeatureId::HOSTNAME => text(|texts| &texts.hostname),
        FeatureId::OSRELEASE => text(|texts| &texts.kernel_version),
        FeatureId::VERSION => text(|texts| &texts.perf_version),
        FeatureId::ARCH => text(|texts| &texts.architecture),
        FeatureId::CPUDESC => text(|texts| &texts.cpu_description),
        FeatureId::CPUID => text(|texts| &texts.cpu_id),
        FeatureId::NRCPUS => {
            let numbers = message.uint32_metadata.iter().find(|numbers| numbers.r#type() == id.0);
            numbers.map(|numbers| bytes(&numbers.data, endian))
        }
        FeatureId::TOTAL_MEM => {
            let numbers = message.uint64_metadata.iter().find(|numbers| numbers.r#type() == id.0);
            numbers.map(|numbers| bytes(&numbers.data, endian))
        }
        FeatureId::CMDLINE => {
            let tokens = texts.map(|texts| &texts.perf_command_line_token[..]).filter(|tokens| !tokens.is_empty());
            tokens.map(|tokens| bytes(&list(tokens.iter().map(|token| token.value())), endian))
        }
        FeatureId::EVENT_DESC => event_desc(message, events, endian),
        FeatureId::CPU_TOPOLOGY => message.cpu_topology.as_ref().map(|topology| cpu_topology(topology, endian)),
        FeatureId::NUMA_TOPOLOGY if !message.numa_topology.is_empty() => {
            let nodes = message.numa_topology.iter().map(|node| NumaNode {
                node: node.id(),
                mem_total: node.total_memory(),
                mem_free: node.free_memory(),
                cpus: PerfStr::new(node.cpu_list()),
            });
            Some(bytes(&NumaTopology { nodes: nodes.collect() }, endian))
        }
        FeatureId::PMU_MAPPINGS if !message.pmu_mappings.is_empty() => {
            let pmus = message.pmu_mappings.iter();
            let pmus = pmus.map(|pmu| PmuMapping { kind: pmu.r#type(), name: PerfStr::new(pmu.name()) });
            Some(bytes(&PmuMappings { pmus: pmus.collect() }, endian))
        }
        FeatureId::GROUP_DESC if !message.group_desc.is_empty() => {
            let groups = message.group_desc.iter().map(|group| Group {
                name: PerfStr::new(group.name()),
                leader_idx: group.leader_idx(),
                nr_members: group.num_members(),
            });
            Some(bytes(&GroupDesc { groups: groups.collect() }, endian))
        }
        FeatureId::HYBRID_TOPOLOGY if !message.hybrid_topology.is_empty() => {
            let nodes = message
                .hybrid_topology
                .iter()
                .map(|node| HybridNode { pmu_name: PerfStr::new(node.pmu_name()), cpus: PerfStr::new(node.cpus()) });
            Some(bytes(&HybridTopology { nodes: nodes.collect() }, endian))
        }
        _ => None,
    };
    section.unwrap_or_default()
}

fn bytes<T: for<'a> BinWrite<Args<'a> = ()>>(value: &T, endian: Endian) -> Vec<u8> {
    // Encoding to memory fails only where a string exceeds its length field.
    abi::to_bytes(value, endian).unwrap_or_default()
}

fn list<'a>(texts: impl Iterator<Item = &'a [u8]>) -> StrList {
    StrList { strings: texts.map(PerfStr::new).collect() }
}

/// Encodes EVENT_DESC, if there is a name for each event.
fn event_desc(message: &PerfDataProto, events: &[FileAttr], endian: Endian) -> Option<Vec<u8>> {
    if events.is_empty() || message.event_types.len() != events.len() {
        return None;
    }
    let named = events.iter().zip(&message.event_types);
    let descs = named.map(|(event, name)| EventDesc {
        attr: event.attr.clone(),
        name: PerfStr::new(name.name()),
        ids: event.ids.clone(),
    });
    let attr_size = events.first()?.attr.to_bytes(endian).ok()?.len() as u32;
    Some(bytes(&EventDescs { attr_size, events: descs.collect() }, endian))
}

fn cpu_topology(topology: &PerfCpuTopologyMetadata, endian: Endian) -> Vec<u8> {
    let cpus = topology.available_cpus.iter();
    let cpus = cpus.map(|cpu| CpuPlace { core_id: cpu.core_id(), socket_id: cpu.socket_id() });
    let topology = CpuTopology {
        cores: list(topology.core_siblings.iter().map(Vec::as_slice)),
        threads: list(topology.thread_siblings.iter().map(Vec::as_slice)),
        cpus: cpus.collect(),
        dies: None,
    };
    bytes(&topology, endian)
}

fn build_ids(messages: &[PerfBuildId], endian: Endian) -> Vec<u8> {
    // Build IDs of mappings are stored in their records only.
    let is_mapped = |message: &&PerfBuildId| message.misc() & u32::from(Misc::MMAP_BUILD_ID.bits()) != 0;
    let entries = messages.iter().filter(|message| !is_mapped(message)).map(|message| {
        let mut build_id = [0; 20];
        let len = message.build_id_hash().len().min(build_id.len());
        build_id[..len].copy_from_slice(&message.build_id_hash()[..len]);
        let content = BuildId {
            pid: message.pid() as i32,
            build_id,
            size: message.size() as u8,
            reserved_1: 0,
            reserved_2: 0,
            filename: PaddedStr::new(message.filename(), NAME_ALIGN),
        };
        let misc = Misc::from_bits_retain(message.misc() as u16);
        BuildIdEntry { kind: RecordType(0), misc, content: BuildIdContent::BuildId(content) }
    });
    bytes(&BuildIds { entries: entries.collect() }, endian)
}
