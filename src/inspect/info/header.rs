//! The header and features, in the wording of `perf report --header-only -I`.

use super::events::{fields, group_name};
use super::topology;
use super::{bpf, date};
use crate::inspect::dump::text;
use perf_data::abi::Endian;
use perf_data::abi::feature::clock_data::ClockData;
use perf_data::abi::feature::event_desc::EventDesc;
use perf_data::abi::feature::group_desc::Group;
use perf_data::abi::feature::pmu_caps::Caps;
use perf_data::abi::feature::string::{PerfStr, hiperf_command};
use perf_data::abi::feature::{Feature, FeatureId};
use perf_data::abi::header::{FileHeader, Magic};
use perf_data::abi::version::PerfVersion;
use perf_data::container::read::Container;
use perf_data::stream::meta::Meta;
use perf_symbols::symbol::stored_lines::{LINES, StoredLines};
use perf_symbols::symbol::stored_object::{STORED_OBJECTS, feature_name, stored_objects};
use std::fs;
use std::time::SystemTime;

/// All lines: those of the file header and of each feature, and the missing features.
pub fn lines(meta: &Meta) -> Vec<String> {
    let (mut lines, features) = (file_lines(meta), features(meta));
    lines.extend(features_lines(meta, &features, |_| true));
    lines.extend(missing_features(meta, |_| true));
    lines
}

/// The version of perf whose header [`perf_header`] is.
const PERF_VERSION: PerfVersion = PerfVersion(6, 1);

/// Features of which perf prints only that they are there, unless all is asked for.
const LONG_FEATURES: [FeatureId; 5] = [
    FeatureId::CPU_TOPOLOGY,
    FeatureId::NUMA_TOPOLOGY,
    FeatureId::CACHE,
    FeatureId::MEM_TOPOLOGY,
    FeatureId::HYBRID_TOPOLOGY,
];

/// The lines of the file header and of the features, as of `perf report --header`, with `-I` if all is asked for, of perf 6.1:
/// without features that it does not know.
pub fn perf_header(meta: &Meta, is_full: bool) -> (Vec<String>, Vec<String>) {
    let is_known = |id| PERF_VERSION.knows_feature(id);
    let mut features = features(meta);
    features.retain(|(id, _)| is_known(*id));
    let mut lines = features_lines(meta, &features, |id| is_full || !LONG_FEATURES.contains(&id));
    lines.extend(missing_features(meta, is_known).map(|line| line + " "));
    (file_lines(meta), lines)
}

/// The lines of features; of those that are not shown, only that they are there.
fn features_lines(meta: &Meta, features: &[(FeatureId, Feature)], is_shown: impl Fn(FeatureId) -> bool) -> Vec<String> {
    let events = features.iter().find_map(|(_, feature)| match feature {
        Feature::EventDescs(descs) => Some(&*descs.events),
        _ => None,
    });
    let types = &bpf::Types::from_features(features.iter().map(|(_, feature)| feature));
    let context = HeaderContext { events: events.unwrap_or_default(), types, endian: meta.endian };
    let lines = |(id, feature): &(FeatureId, Feature)| match is_shown(*id) {
        true => feature_lines(*id, feature, &context),
        false => vec![format!("# {id} info available, use -I to display")],
    };
    features.iter().flat_map(lines).collect()
}

/// The features that a file lacks, of those that are listed.
fn missing_features(meta: &Meta, is_listed: impl Fn(FeatureId) -> bool) -> Option<String> {
    let is_missing = |id: FeatureId| is_listed(id) && !meta.features.contains_key(&id);
    let missing = FeatureId::NAMED.iter().filter(|(id, _)| is_missing(*id));
    let missing: Vec<_> = missing.map(|(_, name)| *name).collect();
    (meta.container != Container::Pipe).then(|| format!("# missing features: {}", missing.join(" ")))
}

/// The features, decoded.
pub fn features(meta: &Meta) -> Vec<(FeatureId, Feature)> {
    let context = meta.feature_context();
    let features = meta.features.iter();
    features.map(|(&id, bytes)| (id, Feature::read(id, bytes, meta.endian, &context).0)).collect()
}

/// Modification time of the file, which perf takes as the time of the recording; `None` if it is no file.
pub fn modified_on(meta: &Meta) -> Option<SystemTime> {
    fs::metadata(&meta.files[0]).ok().filter(fs::Metadata::is_file)?.modified().ok()
}

/// [`modified_on`] in the format of RFC 3339.
pub fn captured_on(meta: &Meta) -> Option<String> {
    modified_on(meta).and_then(date::rfc3339)
}

/// The header of a file; a pipe has none.
pub fn file_header(meta: &Meta) -> Option<FileHeader> {
    FileHeader::read_from(&meta.image.before, meta.endian).ok().filter(|_| meta.container != Container::Pipe)
}

/// Version as perf numbers it: by its index in a list that begins with version 1.
pub fn version(header: &FileHeader) -> u32 {
    match header.magic {
        Magic::V1 => 0,
        Magic::V2 => 1,
    }
}

fn file_lines(meta: &Meta) -> Vec<String> {
    let captured = modified_on(meta).and_then(date::ctime);
    let mut lines = Vec::from_iter(captured.map(|date| format!("# captured on    : {date}")));
    let file = file_header(meta);
    let [offset, size, end] = data_section(file.as_ref());
    lines.push(format!("# header version : {}", file.as_ref().map_or(1, version)));
    lines.push(format!("# data offset    : {offset}"));
    lines.push(format!("# data size      : {size}"));
    lines.push(format!("# feat offset    : {end}"));
    lines
}

/// Offset, size and end of the records in a file. perf prints zeros for a pipe.
pub fn data_section(file: Option<&FileHeader>) -> [u64; 3] {
    file.map_or([0; 3], |header| [header.data.offset, header.data.size, header.data.end()])
}

/// Context for printing a feature: contents of others.
struct HeaderContext<'a> {
    events: &'a [EventDesc],
    types: &'a bpf::Types,
    endian: Endian,
}

fn feature_lines(id: FeatureId, feature: &Feature, context: &HeaderContext<'_>) -> Vec<String> {
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
            vec![format!("# cmdline : {} ", words.join(" "))]
        }
        Feature::EventDescs(descs) => descs.events.iter().map(event).collect(),
        Feature::CpuTopology(topology) => topology::cpu(topology),
        Feature::NumaTopology(topology) => topology::numa(topology),
        Feature::HybridTopology(topology) => topology::hybrid(topology),
        Feature::Caches(caches) => topology::caches(caches),
        Feature::MemTopology(memory) => topology::memory(memory),
        Feature::CpuDomainInfo(info) => topology::domains(info),
        Feature::BranchStack(_) => vec!["# contains samples with branch stack".into()],
        Feature::Auxtrace(_) => vec!["# contains AUX area data (e.g. instruction trace)".into()],
        Feature::Stat(_) => vec!["# contains stat data".into()],
        Feature::PmuMappings(mappings) => {
            let pmus = mappings.pmus.iter().map(|pmu| format!("{} = {}", pmu.name.to_text(), pmu.kind));
            vec![format!("# pmu mappings: {}", pmus.collect::<Vec<_>>().join(", "))]
        }
        Feature::GroupDesc(desc) => groups(&desc.groups, context.events),
        Feature::SampleTime(time) => {
            let (first, last) = (time.first_sample_time, time.last_sample_time);
            vec![
                format!("# time of first sample : {}", micros(first)),
                format!("# time of last sample : {}", micros(last)),
                format!("# sample duration : {:>10.3} ms", last.wrapping_sub(first) as f64 / 1e6),
            ]
        }
        Feature::ClockId(id) => vec![format!("# clockid frequency: {} MHz", id.clockid_res_ns.saturating_mul(1000))],
        Feature::ClockData(data) => clock(data),
        Feature::DirFormat(format) => vec![format!("# directory data version : {}", format.version)],
        Feature::BpfProgInfos(infos) => {
            infos.programs.iter().flat_map(|program| bpf::program(program, context.types, context.endian)).collect()
        }
        Feature::BpfBtf(btf) => btf.entries.iter().map(|entry| format!("# btf info of id {}", entry.id)).collect(),
        Feature::Compression(compression) => {
            let kind = if compression.kind.0 == 1 { "Zstd" } else { "Unknown" };
            let (level, ratio) = (compression.level, compression.ratio);
            vec![format!("# compressed : {kind}, level = {level}, ratio = {ratio}")]
        }
        Feature::CpuPmuCaps(caps) => vec![format!("# cpu pmu capabilities: {}", caps_text(caps))],
        Feature::PmuCaps(caps) => {
            let line = |name: &PerfStr, caps| format!("# {} pmu capabilities: {}", name.to_text(), caps_text(caps));
            caps.pmus.iter().map(|pmu| line(&pmu.pmu_name, &pmu.caps)).collect()
        }
        Feature::EMachine(machine) => {
            vec![format!("# e_machine : {}", machine.e_machine), format!("# e_flags : {}", machine.e_flags)]
        }
        Feature::ClnSize(size) => vec![format!("# cacheline size: {}", size.cln_size)],
        // perf prints these with other commands.
        Feature::TracingData(_) | Feature::BuildIds(_) => Vec::new(),
        Feature::Opaque(bytes) if id == FeatureId::CMDLINE && hiperf_command(bytes).is_some() => {
            vec![format!("# cmdline : {} ", hiperf_command(bytes).unwrap_or_default())]
        }
        Feature::Opaque(bytes) => vec![match id.name() {
            Some(name) => format!("# {name}: its {} bytes do not have the layout of this feature", bytes.len()),
            None => {
                stored_symbols(id, bytes).unwrap_or_else(|| format!("# feature {id}: unknown, {} bytes", bytes.len()))
            }
        }],
        // perf has no line for these.
        #[allow(unreachable_patterns, reason = "new features are printed here unless they have their own case")]
        other => field_lines(id, other),
    }
}

/// What a feature with names of functions contains; `None` if it is another one.
fn stored_symbols(id: FeatureId, bytes: &[u8]) -> Option<String> {
    let name = feature_name(id.0)?;
    if !STORED_OBJECTS.contains(&id.0) {
        return Some(format!("# feature {id} ({name}): {} bytes", bytes.len()));
    }
    let (mut files, mut functions, mut addresses, mut corrupt) = (0, 0, 0, 0);
    for object in stored_objects(id.0, bytes) {
        match object {
            Ok(object) => {
                files += 1;
                functions += object.symbols.len();
                addresses += if id.0 == LINES { StoredLines::read(&object).addresses() } else { 0 };
            }
            Err(_) => corrupt += 1,
        }
    }
    let contents = match id.0 {
        LINES => format!("lines and inlined functions of {addresses} addresses in {files} files"),
        _ => format!("names of {functions} functions in {files} files"),
    };
    let corrupt = if corrupt > 0 { format!(", {corrupt} corrupt files") } else { String::new() };
    Some(format!("# feature {id} ({name}): {contents}{corrupt}, {} bytes", bytes.len()))
}

/// Name of a feature, and a line for each of its fields.
fn field_lines(id: FeatureId, feature: &Feature) -> Vec<String> {
    let mut text = String::new();
    let is_shown = text::append(&mut text, feature, false).is_ok();
    let fields = text.lines().filter(|_| is_shown).map(|line| format!("# {line}"));
    [format!("# {id} :")].into_iter().chain(fields).collect()
}

fn one(name: &str, text: &PerfStr) -> Vec<String> {
    vec![format!("# {name} : {}", text.to_text())]
}

/// Nanoseconds as seconds with six digits, truncated.
pub(super) fn micros(nanos: u64) -> String {
    format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

fn event(desc: &EventDesc) -> String {
    let ids: Vec<String> = desc.ids.iter().map(u64::to_string).collect();
    let ids = if ids.is_empty() { String::new() } else { format!(", id = {{ {} }}", ids.join(", ")) };
    format!("# event : name = {}, {ids}, {}", desc.name.to_text(), fields(&desc.attr, " = "))
}

fn groups(groups: &[Group], events: &[EventDesc]) -> Vec<String> {
    // An event is in at most one group: groups beyond the number of events are printed without members.
    let mut room = events.len();
    let line = |desc: &Group| {
        let (first, count) = (desc.leader_idx as usize, desc.nr_members as usize);
        let members = events.get(first..first.saturating_add(count)).unwrap_or_default();
        let left = room.checked_sub(members.len());
        room = left.unwrap_or(0);
        group(desc, left.map_or(&[], |_| members))
    };
    groups.iter().map(line).collect()
}

/// `# group: name{leader,member}`.
fn group(group: &Group, members: &[EventDesc]) -> String {
    let names: Vec<String> = members.iter().map(|event| event.name.to_text()).collect();
    format!("# group: {}{{{}}}", group_name(&group.name.to_text()), names.join(","))
}

fn clock_name(clockid: u32) -> &'static str {
    match clockid {
        0 => "realtime",
        1 => "monotonic",
        4 => "monotonic_raw",
        7 => "boottime",
        11 => "tai",
        _ => "(not found)",
    }
}

fn clock(data: &ClockData) -> Vec<String> {
    let (name, wall, clock) = (clock_name(data.clockid), data.wall_clock_ns, data.clockid_ns);
    let date = date::with_micros(wall);
    let (seconds, nanos) = (clock / 1_000_000_000, clock % 1_000_000_000);
    vec![
        format!("# clockid: {name} ({})", data.clockid),
        format!("# reference time: {date} = {} (TOD) = {seconds}.{nanos:09} ({name})", micros(wall)),
    ]
}

fn caps_text(caps: &Caps) -> String {
    let caps = caps.caps.iter().map(|cap| format!("{}={}", cap.name.to_text(), cap.value.to_text()));
    let caps: Vec<String> = caps.collect();
    if caps.is_empty() { "not available".into() } else { caps.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_data::abi::attr::Attr;

    #[test]
    fn prints_at_most_as_many_group_members_as_events() {
        let attr = Attr::read(&[0; 64], Endian::Little).unwrap();
        let event = |name: &str| EventDesc { attr: attr.clone(), name: PerfStr::new(name.as_bytes()), ids: vec![] };
        let group_desc = |leader_idx, nr_members| Group { name: PerfStr::new(b"g"), leader_idx, nr_members };
        let lines = groups(&[group_desc(0, 2), group_desc(2, 1), group_desc(0, 3)], &["a", "b", "c"].map(event));
        assert_eq!(lines, ["# group: g{a,b}", "# group: g{c}", "# group: g{}"]);
    }
}
