//! Rules for single features.

use super::finding::Rule;
use super::tracepoints;
use crate::abi::Endian;
use crate::abi::feature::{Feature, FeatureContext, FeatureId, FeatureSection};

/// Checks a feature section.
pub fn check(
    id: FeatureId,
    bytes: &[u8],
    endian: Endian,
    context: &FeatureContext,
    events: usize,
    mut report: impl FnMut(Rule, String),
) {
    let section = FeatureSection::read(id, bytes, endian, context);
    if matches!(section.feature, Feature::Opaque(_)) {
        if id.name().is_none() {
            report(Rule::Unknown, format!("unknown feature of {} bytes", bytes.len()));
        } else {
            report(Rule::Undecodable, format!("its {} bytes do not have the layout of this feature", bytes.len()));
        }
    }
    if section.tail.iter().any(|&byte| byte != 0) {
        report(Rule::Tail, format!("{} bytes after its fields are not all zero", section.tail.len()));
    }
    if !section.to_bytes(endian).is_ok_and(|written| written == bytes) {
        report(Rule::NotReproduced, "re-encoding it gives different bytes".into());
    }
    if id.needs_context() && context.nr_cpus.is_none() {
        report(
            Rule::Inconsistent,
            "the feature NRCPUS, which is needed to decode it, is missing or comes later".into(),
        );
    }
    if let Feature::TracingData(data) = &section.feature {
        tracepoints::check_formats(data, &mut report);
    }
    check_versions(&section.feature, &mut report);
    check_limits(&section.feature, &mut report);
    // In a pipe the events may come later.
    if events > 0 {
        check_counts(&section.feature, events, &mut report);
    }
}

fn check_versions(feature: &Feature, report: &mut impl FnMut(Rule, String)) {
    let (version, known) = match feature {
        Feature::Caches(caches) => (caches.version.into(), 1..=1),
        Feature::MemTopology(topology) => (topology.version, 1..=1),
        Feature::ClockData(clocks) => (clocks.version.into(), 1..=1),
        Feature::DirFormat(format) => (format.version, 0..=1),
        Feature::Compression(compression) => (compression.version.into(), 0..=0),
        _ => return,
    };
    if !known.contains(&version) {
        report(Rule::Version, format!("version {version} is not supported by any perf"));
    }
}

/// Checks limits beyond which perf rejects the whole file.
fn check_limits(feature: &Feature, report: &mut impl FnMut(Rule, String)) {
    let (count, what, limit) = match feature {
        Feature::Cmdline(cmdline) => (cmdline.strings.len(), "arguments", 1 << 20),
        Feature::BpfProgInfos(infos) => {
            let largest = infos.programs.iter().map(|program| program.data.len()).max().unwrap_or(0);
            if largest > 256 << 20 {
                report(Rule::Limit, format!("a program has {largest} bytes; perf accepts at most 268435456"));
            }
            (infos.programs.len(), "programs", 131_072)
        }
        Feature::Caches(caches) => (caches.caches.len(), "caches", 32_768),
        Feature::GroupDesc(groups) => (groups.groups.len(), "groups", 32_768),
        Feature::NumaTopology(topology) => (topology.nodes.len(), "nodes", 4096),
        Feature::MemTopology(topology) => (topology.nodes.len(), "nodes", 4096),
        Feature::CpuPmuCaps(caps) => (caps.caps.len(), "capabilities", 512),
        Feature::PmuCaps(pmus) => (pmus.pmus.len(), "PMUs", 512),
        Feature::PmuMappings(mappings) => (mappings.pmus.len(), "PMUs", 4096),
        Feature::CpuDomainInfo(info) => {
            (info.cpus.iter().map(|cpu| cpu.domains.len()).max().unwrap_or(0), "domains of a CPU", 64)
        }
        _ => return,
    };
    if count > limit {
        report(Rule::Limit, format!("it has {count} {what}; perf accepts at most {limit}"));
    }
}

/// Checks counts that depend on each other.
fn check_counts(feature: &Feature, events: usize, report: &mut impl FnMut(Rule, String)) {
    match feature {
        Feature::NrCpus(cpus) if cpus.nr_cpus_online > cpus.nr_cpus_avail => {
            let what =
                format!("{} CPUs are online, but only {} are available", cpus.nr_cpus_online, cpus.nr_cpus_avail);
            report(Rule::Limit, what);
        }
        Feature::GroupDesc(groups) => {
            for group in &groups.groups {
                let end = u64::from(group.leader_idx) + u64::from(group.nr_members);
                if end > events as u64 {
                    let what =
                        format!("a group extends to event {}, but there are {events} events", end.saturating_sub(1));
                    report(Rule::Inconsistent, what);
                }
            }
        }
        Feature::EventDescs(descs) if descs.events.len() != events => {
            let what = format!("it describes {} events, but there are {events}", descs.events.len());
            report(Rule::Inconsistent, what);
        }
        _ => {}
    }
}
