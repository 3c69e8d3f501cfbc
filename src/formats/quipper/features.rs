//! Converts the content of feature sections to messages.

use super::proto::PerfDataProto;
use super::proto::perf_data_proto as proto;
use super::text::md5_prefix;
use perf_data::abi::feature::string::{PerfStr, StrList};
use perf_data::abi::feature::{Feature, FeatureId, build_ids, event_desc};
use perf_data::abi::header::FeatureBits;
use perf_data::abi::record::Misc;
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::{self, Endian};
use perf_data::container::read::Container;
use perf_data::container::read::file::FileAttr;
use perf_data::stream::meta::Meta;
use proto::string_metadata::StringAndMd5sumPrefix;
use proto::{PerfBuildId, PerfEventType, StringMetadata};
use std::collections::BTreeSet;

/// The features that the schema models, as bits of the header's bitmap.
const MODELLED: u64 = 0x4003_fffe;
/// Number of features in the schema: those in the first word of the bitmap.
pub(super) const FEATURES: u32 = 64;
/// Offset of the bitmap in the file header.
const BITS_AT: usize = 72;
/// Limit for the CPUs of a CPU list: eight times the most that Linux supports (`CONFIG_NR_CPUS`).
const MAX_CPUS: u32 = 1 << 16;

/// The events of a recording: from the feature EVENT_DESC, or else from the header.
pub(super) fn events(meta: &Meta) -> Vec<FileAttr> {
    let mut events = Vec::new();
    if let Some(section) = meta.features.get(&FeatureId::EVENT_DESC) {
        let descs = event_desc::read(section, meta.endian).unwrap_or_default();
        events.extend(descs.into_iter().map(|desc| FileAttr { attr: desc.attr, ids: desc.ids }));
    }
    if events.is_empty() || meta.container == Container::Pipe {
        // A pipe also has records for its events; each event is listed once.
        let first_ids: BTreeSet<_> = events.iter().filter_map(|event| event.ids.first().copied()).collect();
        let configs: BTreeSet<_> = events.iter().map(|event| event.attr.config).collect();
        let is_new = |event: &FileAttr| match event.ids.first() {
            Some(id) => !first_ids.contains(id),
            None => !configs.contains(&event.attr.config),
        };
        let listed = meta.events.list().iter();
        let listed = listed.map(|event| FileAttr { attr: event.attr.clone(), ids: event.ids.clone() });
        events.extend(listed.filter(is_new).collect::<Vec<_>>());
    }
    events
}

/// Describes all features that the schema models.
pub(super) fn describe(meta: &Meta, message: &mut PerfDataProto) {
    describe_names(meta, message);
    let context = meta.feature_context();
    let mut texts = StringMetadata::default();
    for (&id, bytes) in &meta.features {
        if let Some(text) = string_field(id, &mut texts) {
            *text = string(bytes, meta.endian);
            continue;
        }
        let (feature, _) = Feature::read(id, bytes, meta.endian, &context);
        match feature {
            Feature::Cmdline(list) => describe_cmdline(&list, &mut texts),
            feature => describe_feature(&feature, message),
        }
    }
    let build_ids = meta.features.get(&FeatureId::BUILD_ID).map(|section| build_ids::read(section, meta.endian));
    message.build_ids = build_ids.iter().flatten().map(|(misc, id)| build_id(*misc, id)).collect();
    message.tracing_data = meta
        .features
        .get(&FeatureId::TRACING_DATA)
        .map(|data| proto::PerfTracingMetadata { tracing_data: Some(data.to_vec()), tracing_data_md5_prefix: None });
    message.string_metadata = (texts != StringMetadata::default()).then_some(texts);
    message.metadata_mask = vec![mask(meta, message)];
}

/// The first word of the feature bitmap: from a file's header, or of the features that a pipe contains.
fn mask(meta: &Meta, message: &PerfDataProto) -> u64 {
    let bit = |id: FeatureId| 1 << id.0;
    let named = if message.event_types.is_empty() { 0 } else { bit(FeatureId::EVENT_DESC) };
    if meta.container != Container::Pipe {
        let bits = meta.image.before.get(BITS_AT..).and_then(|bits| bits.first_chunk::<32>());
        let bits = bits.map(|bits| FeatureBits::read(bits, meta.endian).iter().filter(|&bit| bit < 64));
        return bits.map_or(0, |bits| bits.fold(0, |mask, bit| mask | 1 << bit)) | named;
    }
    let present = meta.features.keys().filter(|id| id.0 < 64).fold(0, |mask, &id| mask | bit(id));
    let build_ids = if meta.build_id_records.is_empty() { 0 } else { bit(FeatureId::BUILD_ID) };
    (present & MODELLED) | build_ids | named
}

/// Describes the names of events: from the feature EVENT_DESC, or else from the event types of old recordings.
fn describe_names(meta: &Meta, message: &mut PerfDataProto) {
    let named = |id, name: &[u8]| PerfEventType {
        id: Some(id),
        name: Some(name.to_vec()),
        name_md5_prefix: Some(md5_prefix(name)),
    };
    let section = meta.features.get(&FeatureId::EVENT_DESC);
    let descs = section.and_then(|section| event_desc::read(section, meta.endian)).unwrap_or_default();
    message.event_types = descs.iter().map(|desc| named(desc.attr.config, desc.name.text())).collect();
    if message.event_types.is_empty() {
        let types = meta.event_types.list().iter();
        message.event_types = types.map(|event_type| named(event_type.event_id, event_type.name.text())).collect();
    }
}

fn describe_cmdline(list: &StrList, texts: &mut StringMetadata) {
    let tokens: Vec<_> = list.strings.iter().map(PerfStr::text).collect();
    texts.perf_command_line_token = tokens.iter().map(|token| with_sum(token)).collect();
    texts.perf_command_line_whole = Some(with_sum(&tokens.join(&b' ')));
}

fn describe_feature(feature: &Feature, message: &mut PerfDataProto) {
    match feature {
        Feature::NrCpus(cpus) => message.uint32_metadata.push(proto::PerfUint32Metadata {
            r#type: Some(FeatureId::NRCPUS.0),
            data: vec![cpus.nr_cpus_avail, cpus.nr_cpus_online],
        }),
        Feature::TotalMem(mem) => message
            .uint64_metadata
            .push(proto::PerfUint64Metadata { r#type: Some(FeatureId::TOTAL_MEM.0), data: vec![mem.total_mem] }),
        Feature::CpuTopology(topology) => {
            let texts = |list: &StrList| list.strings.iter().map(|text| text.text().to_vec()).collect::<Vec<_>>();
            let sums = |list: &StrList| list.strings.iter().map(|text| md5_prefix(text.text())).collect();
            let cpus = topology.cpus.iter().map(|cpu| proto::perf_cpu_topology_metadata::Cpu {
                core_id: Some(cpu.core_id),
                socket_id: Some(cpu.socket_id),
            });
            message.cpu_topology = Some(proto::PerfCpuTopologyMetadata {
                core_siblings: texts(&topology.cores),
                core_siblings_md5_prefix: sums(&topology.cores),
                thread_siblings: texts(&topology.threads),
                thread_siblings_md5_prefix: sums(&topology.threads),
                available_cpus: cpus.collect(),
            });
        }
        Feature::NumaTopology(topology) => {
            let nodes = topology.nodes.iter().map(|node| proto::PerfNodeTopologyMetadata {
                id: Some(node.node),
                total_memory: Some(node.mem_total),
                free_memory: Some(node.mem_free),
                cpu_list: Some(node.cpus.text().to_vec()),
                cpu_list_md5_prefix: Some(md5_prefix(node.cpus.text())),
            });
            message.numa_topology = nodes.collect();
        }
        Feature::PmuMappings(mappings) => {
            let pmus = mappings.pmus.iter().map(|pmu| proto::PerfPmuMappingsMetadata {
                r#type: Some(pmu.kind),
                name: Some(pmu.name.text().to_vec()),
                name_md5_prefix: Some(md5_prefix(pmu.name.text())),
            });
            message.pmu_mappings = pmus.collect();
        }
        Feature::GroupDesc(desc) => {
            let groups = desc.groups.iter().map(|group| proto::PerfGroupDescMetadata {
                name: Some(group.name.text().to_vec()),
                name_md5_prefix: Some(md5_prefix(group.name.text())),
                leader_idx: Some(group.leader_idx),
                num_members: Some(group.nr_members),
            });
            message.group_desc = groups.collect();
        }
        Feature::HybridTopology(topology) => {
            // A short text can list many CPUs, so that the limit is for all nodes together.
            let mut room = MAX_CPUS as usize;
            let nodes = topology.nodes.iter().map(|node| proto::PerfHybridTopologyMetadata {
                pmu_name: Some(node.pmu_name.text().to_vec()),
                pmu_name_md5_prefix: Some(md5_prefix(node.pmu_name.text())),
                cpus: Some(node.cpus.text().to_vec()),
                cpu_list: cpu_list(node.cpus.text(), &mut room),
            });
            message.hybrid_topology = nodes.collect();
        }
        _ => {}
    }
}

/// Parses a CPU list such as `0-3,7`, up to `room` CPUs.
fn cpu_list(text: &[u8], room: &mut usize) -> Vec<u32> {
    let text = String::from_utf8_lossy(text);
    let ranges = text.split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        (last < MAX_CPUS).then_some(first..=last)
    });
    let list: Vec<_> = ranges.flatten().take(*room).collect();
    *room -= list.len();
    list
}

/// The field of a feature that consists of one string.
fn string_field(id: FeatureId, texts: &mut StringMetadata) -> Option<&mut Option<StringAndMd5sumPrefix>> {
    match id {
        FeatureId::HOSTNAME => Some(&mut texts.hostname),
        FeatureId::OSRELEASE => Some(&mut texts.kernel_version),
        FeatureId::VERSION => Some(&mut texts.perf_version),
        FeatureId::ARCH => Some(&mut texts.architecture),
        FeatureId::CPUDESC => Some(&mut texts.cpu_description),
        FeatureId::CPUID => Some(&mut texts.cpu_id),
        _ => None,
    }
}

/// Decodes the string of a section. An empty section is an empty string: perf on ARM writes CPUDESC like that.
fn string(section: &[u8], endian: Endian) -> Option<StringAndMd5sumPrefix> {
    if section.is_empty() {
        return Some(with_sum(&[]));
    }
    let (text, _) = abi::parse::<PerfStr>(section, endian, ()).ok()?;
    Some(with_sum(text.text()))
}

fn with_sum(text: &[u8]) -> StringAndMd5sumPrefix {
    StringAndMd5sumPrefix { value: Some(text.to_vec()), value_md5_prefix: Some(md5_prefix(text)) }
}

pub(super) fn build_id(misc: Misc, build_id: &BuildId) -> PerfBuildId {
    let name = build_id.filename.text();
    PerfBuildId {
        misc: Some(misc.bits().into()),
        pid: Some(build_id.pid as u32),
        build_id_hash: Some(without_zeros(&build_id.build_id).to_vec()),
        filename: Some(name.to_vec()),
        filename_md5_prefix: Some(md5_prefix(name)),
        size: misc.contains(Misc::BUILD_ID_SIZE).then_some(build_id.size.into()),
        is_injected: None,
    }
}

/// Strips groups of 4 zeros from the end of a build ID.
pub(super) fn without_zeros(mut build_id: &[u8]) -> &[u8] {
    while let Some(shorter) = build_id.strip_suffix(&[0; 4]) {
        build_id = shorter;
    }
    build_id
}
