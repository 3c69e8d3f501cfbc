//! Features as `perf report --header-only -I` shows them, from what is decoded here.

use perfconv::abi::Endian;
use perfconv::abi::attr::Attr;
use perfconv::abi::attr_flags::AttrFlags;
use perfconv::abi::bytes::Reader;
use perfconv::abi::feature::bpf_prog_info::{BpfArrays, BpfProg};
use perfconv::abi::feature::cpu_topology::CpuTopology;
use perfconv::abi::feature::event_desc::EventDesc;
use perfconv::abi::feature::group_desc::Group;
use perfconv::abi::feature::mem_topology::{MemTopology, MemoryNode};
use perfconv::abi::feature::pmu_caps::Caps;
use perfconv::abi::feature::string::PerfStr;
use perfconv::abi::feature::{Feature, FeatureId};
use perfconv::abi::sample_type::SampleType;

/// The lines of all features.
pub fn lines(features: &[(FeatureId, Feature)], endian: Endian) -> Vec<String> {
    let events = features.iter().find_map(|(_, feature)| match feature {
        Feature::EventDescs(descs) => Some(&descs.events[..]),
        _ => None,
    });
    features.iter().flat_map(|(_, feature)| of(feature, events.unwrap_or_default(), endian)).collect()
}

fn of(feature: &Feature, events: &[EventDesc], endian: Endian) -> Vec<String> {
    match feature {
        Feature::Hostname(text) => one("hostname", text),
        Feature::OsRelease(text) => one("os release", text),
        Feature::Version(text) => one("perf version", text),
        Feature::Arch(text) => one("arch", text),
        Feature::CpuDesc(text) => one("cpudesc", text),
        Feature::CpuId(text) => one("cpuid", text),
        Feature::NrCpus(nr) => {
            vec![format!("# nrcpus online : {}", nr.nr_cpus_online), format!("# nrcpus avail : {}", nr.nr_cpus_avail)]
        }
        Feature::TotalMem(mem) => vec![format!("# total memory : {} kB", mem.total_mem)],
        Feature::Cmdline(list) => {
            let words: Vec<String> = list.strings.iter().map(|word| word.to_text().replace('\'', "\\'")).collect();
            vec![format!("# cmdline : {}", words.join(" "))]
        }
        Feature::EventDescs(descs) => descs.events.iter().map(event).collect(),
        Feature::CpuTopology(topology) => cpu_topology(topology),
        Feature::NumaTopology(numa) => {
            let node = |(at, total, free, cpus): (u32, u64, u64, String)| {
                [
                    format!("# node{at} meminfo : total = {total} kB, free = {free} kB"),
                    format!("# node{at} cpu list : {cpus}"),
                ]
            };
            let nodes = numa.nodes.iter().map(|n| (n.node, n.mem_total, n.mem_free, n.cpus.to_text()));
            nodes.flat_map(node).collect()
        }
        Feature::BranchStack(_) => vec!["# contains samples with branch stack".into()],
        Feature::PmuMappings(mappings) => {
            let pmus = mappings.pmus.iter().map(|pmu| format!("{} = {}", pmu.name.to_text(), pmu.kind));
            vec![format!("# pmu mappings: {}", pmus.collect::<Vec<_>>().join(", "))]
        }
        Feature::GroupDesc(desc) => desc.groups.iter().map(|desc| group(desc, events)).collect(),
        Feature::Stat(_) => vec!["# contains stat data".into()],
        Feature::Caches(caches) => {
            let cache = |level: u32, of: [String; 3]| format!("# L{level} {} {} [{}]", of[0], of[1], of[2]);
            let texts = |texts: [&PerfStr; 3]| texts.map(PerfStr::to_text);
            let lines = caches.caches.iter().map(|c| cache(c.level, texts([&c.kind, &c.size, &c.map])));
            ["# CPU cache info:".into()].into_iter().chain(lines).collect()
        }
        Feature::SampleTime(time) => {
            let (first, last) = (time.first_sample_time, time.last_sample_time);
            vec![
                format!("# time of first sample : {}", micros(first)),
                format!("# time of last sample : {}", micros(last)),
                format!("# sample duration : {:.3} ms", (last - first) as f64 / 1e6),
            ]
        }
        Feature::MemTopology(topology) => mem_topology(topology),
        Feature::ClockId(id) => vec![format!("# clockid frequency: {} MHz", id.clockid_res_ns * 1000)],
        Feature::DirFormat(format) => vec![format!("# directory data version : {}", format.version)],
        Feature::BpfProgInfos(infos) => infos.programs.iter().map(|program| bpf_program(program, endian)).collect(),
        Feature::BpfBtf(btf) => btf.entries.iter().map(|entry| format!("# btf info of id {}", entry.id)).collect(),
        Feature::Compression(compression) => {
            let kind = if compression.kind.0 == 1 { "Zstd" } else { "Unknown" };
            let (level, ratio) = (compression.level, compression.ratio);
            vec![format!("# compressed : {kind}, level = {level}, ratio = {ratio}")]
        }
        Feature::CpuPmuCaps(caps) => vec![format!("# cpu pmu capabilities: {}", of_caps(caps))],
        Feature::PmuCaps(caps) => {
            let line = |name: &PerfStr, caps| format!("# {} pmu capabilities: {}", name.to_text(), of_caps(caps));
            caps.pmus.iter().map(|pmu| line(&pmu.pmu_name, &pmu.caps)).collect()
        }
        Feature::ClockData(data) => {
            let names = [(0, "realtime"), (1, "monotonic"), (4, "monotonic_raw"), (7, "boottime"), (11, "tai")];
            let id = data.clockid;
            let (_, name) = names.iter().find(|(number, _)| *number == id).expect("the clock has a name");
            let (wall, clock) = (micros(data.wall_clock_ns), data.clockid_ns);
            let (seconds, nanos) = (clock / 1_000_000_000, clock % 1_000_000_000);
            vec![
                format!("# clockid: {name} ({id})"),
                format!("# reference time: {wall} (TOD) = {seconds}.{nanos:09} ({name})"),
            ]
        }
        Feature::CpuDomainInfo(info) => {
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
        Feature::EMachine(machine) => {
            vec![format!("# e_machine : {}", machine.e_machine), format!("# e_flags : {}", machine.e_flags)]
        }
        Feature::ClnSize(size) => vec![format!("# cacheline size: {}", size.cln_size)],
        // perf shows build ids and formats of tracepoints elsewhere.
        _ => Vec::new(),
    }
}

fn one(name: &str, text: &PerfStr) -> Vec<String> {
    vec![format!("# {name} : {}", text.to_text())]
}

fn micros(nanos: u64) -> String {
    format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

fn event(desc: &EventDesc) -> String {
    let ids: Vec<String> = desc.ids.iter().map(u64::to_string).collect();
    let ids = if ids.is_empty() { String::new() } else { format!(", id = {{ {} }}", ids.join(", ")) };
    format!("# event : name = {}, {ids}, {}", desc.name.to_text(), attr(&desc.attr))
}

/// The fields of an attr that are not 0.
fn attr(attr: &Attr) -> String {
    let mut fields = Vec::new();
    let mut field = |name: &str, value: String| {
        if !["", "0", "0x0"].contains(&&value[..]) {
            fields.push(sorted_bits(&format!("{name} = {value}")));
        }
    };
    let hex = |value: u64| format!("{value:#x}");
    field("type", attr.kind.0.to_string());
    field("size", attr.size.to_string());
    field("config", hex(attr.config));
    field("{ sample_period, sample_freq }", attr.sample_period.to_string());
    // perf has no name for this bit.
    field("sample_type", names((attr.sample_type - SampleType::TRANSACTION).iter_names()));
    field("read_format", names(attr.read_format.iter_names()));
    let is_precise_ip = |flag: AttrFlags| flag.intersects(AttrFlags::PRECISE_IP_0 | AttrFlags::PRECISE_IP_1);
    let (before, behind): (Vec<_>, Vec<_>) = (attr.flags.iter_names())
        .filter(|(_, flag)| !is_precise_ip(*flag))
        .partition(|(_, flag)| flag.bits() < AttrFlags::PRECISE_IP_0.bits());
    before.iter().for_each(|(name, _)| field(&name.to_lowercase(), "1".into()));
    field("precise_ip", attr.flags.precise_ip().to_string());
    behind.iter().for_each(|(name, _)| field(&name.to_lowercase(), "1".into()));
    field("{ wakeup_events, wakeup_watermark }", attr.wakeup_events.to_string());
    field("bp_type", attr.bp_type.to_string());
    field("{ bp_addr, config1 }", hex(attr.bp_addr));
    field("{ bp_len, config2 }", hex(attr.bp_len));
    field("branch_sample_type", names(attr.branch_sample_type.iter_names()));
    field("sample_regs_user", hex(attr.sample_regs_user));
    field("sample_stack_user", attr.sample_stack_user.to_string());
    field("clockid", attr.clockid.to_string());
    field("sample_regs_intr", hex(attr.sample_regs_intr));
    field("aux_watermark", attr.aux_watermark.to_string());
    field("sample_max_stack", attr.sample_max_stack.to_string());
    field("aux_sample_size", attr.aux_sample_size.to_string());
    field("sig_data", attr.sig_data.to_string());
    fields.join(", ")
}

fn names<T>(flags: impl Iterator<Item = (&'static str, T)>) -> String {
    flags.map(|(name, _)| name).collect::<Vec<_>>().join("|")
}

/// A field with its bits in the order of their names.
pub fn sorted_bits(field: &str) -> String {
    match field.split_once(" = ") {
        Some((name, bits)) if bits.contains('|') => {
            let mut bits: Vec<&str> = bits.split('|').collect();
            bits.sort_unstable();
            format!("{name} = {}", bits.join("|"))
        }
        _ => field.into(),
    }
}

fn cpu_topology(topology: &CpuTopology) -> Vec<String> {
    let mut lines = Vec::new();
    let mut sets = |name: &str, sets: &[PerfStr]| {
        lines.extend(sets.iter().map(|set| format!("# sibling {name} : {}", set.to_text())));
    };
    sets("sockets", &topology.cores.strings);
    if let Some(dies) = &topology.dies {
        sets("dies", &dies.dies.strings);
    }
    sets("threads", &topology.threads.strings);
    for (at, cpu) in topology.cpus.iter().enumerate() {
        let die = topology.dies.as_ref().map(|dies| format!(" Die ID {},", dies.die_ids[at])).unwrap_or_default();
        lines.push(format!("# CPU {at}: Core ID {},{die} Socket ID {}", cpu.core_id, cpu.socket_id));
    }
    if topology.cpus.is_empty() {
        lines.push("# Core ID and Socket ID information is not available".into());
    }
    lines
}

/// `# group: name{leader,member}`.
fn group(group: &Group, events: &[EventDesc]) -> String {
    let (first, count) = (group.leader_idx as usize, group.nr_members as usize);
    let names: Vec<String> = events[first..first + count].iter().map(|event| event.name.to_text()).collect();
    let name = group.name.to_text();
    let name = if name == "{anon_group}" { "" } else { &name };
    format!("# group: {name}{{{}}}", names.join(","))
}

fn mem_topology(topology: &MemTopology) -> Vec<String> {
    let node = |node: &MemoryNode| {
        let blocks = (0..node.set.nr_bits).filter(|bit| node.set.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1);
        let blocks: Vec<u32> = blocks.map(|bit| bit as u32).collect();
        let size = blocks.len() as u64 * topology.block_size_bytes;
        format!("# {} [{}G]: {}", node.node, size >> 30, super::dumped::cpus(blocks))
    };
    let (count, size) = (topology.nodes.len(), topology.block_size_bytes);
    let title = format!("# memory nodes (nr {count}, block size 0x{size:x}):");
    [title].into_iter().chain(topology.nodes.iter().map(node)).collect()
}

fn of_caps(caps: &Caps) -> String {
    let caps = caps.caps.iter().map(|cap| format!("{}={}", cap.name.to_text(), cap.value.to_text()));
    let caps: Vec<String> = caps.collect();
    if caps.is_empty() { "not available".into() } else { caps.join(", ") }
}

/// A program of one function.
fn bpf_program(program: &BpfProg, endian: Endian) -> String {
    let array = |which| Reader::new(program.array(which).expect("the array is there"), endian);
    let address = array(BpfArrays::JITED_KSYMS).u64().expect("there is a function");
    let size = array(BpfArrays::JITED_FUNC_LENS).u32().expect("there is a function");
    format!("# bpf_prog_info {}: addr {address:#x} size {size}", program.info.id)
}
