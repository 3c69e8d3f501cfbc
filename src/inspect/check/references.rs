//! Rules for references from records to events and CPUs.

use super::finding::Rule;
use perf_data::abi;
use perf_data::abi::feature::FeatureId;
use perf_data::abi::feature::nr_cpus::NrCpus;
use perf_data::abi::record::Body;
use perf_data::abi::record::id_index::IdIndex;
use perf_data::abi::sample::Sample;
use perf_data::stream::meta::Meta;

/// Checks that what a record refers to exists.
pub(super) fn check(body: &Body, meta: &Meta, mut report: impl FnMut(Rule, String)) {
    match body {
        Body::IdIndex(index) => check_ids(index, meta, report),
        Body::Sample(sample) => {
            if let Some((cpu, cpus)) = cpu_beyond(sample, meta) {
                report(Rule::Inconsistent, format!("its CPU is {cpu}, but NRCPUS gives {cpus} CPUs"));
            }
        }
        _ => {}
    }
}

/// Checks the IDs of an ID_INDEX record: perf stops at an ID that no event has.
fn check_ids(index: &IdIndex, meta: &Meta, mut report: impl FnMut(Rule, String)) {
    let mut unknown = index.entries.iter().filter(|entry| meta.events.by_id(entry.id).is_none());
    if let Some(first) = unknown.next() {
        let more = unknown.count();
        let others = if more > 0 { format!(", and so do {more} more") } else { String::new() };
        report(Rule::Inconsistent, format!("ID {:#x} belongs to no event{others}", first.id));
    }
}

/// The CPU of a sample and the number of CPUs, if the CPU is out of range.
fn cpu_beyond(sample: &Sample, meta: &Meta) -> Option<(u32, u32)> {
    let (cpu, _) = sample.cpu?;
    let (cpus, _) = abi::parse::<NrCpus>(meta.features.get(&FeatureId::NRCPUS)?, meta.endian, ()).ok()?;
    (cpu >= cpus.nr_cpus_avail).then_some((cpu, cpus.nr_cpus_avail))
}
