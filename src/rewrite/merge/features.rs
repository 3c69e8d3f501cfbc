//! Merges features: those that are equal in all recordings that have them are kept, others can be taken from one recording.

use super::clock::wall_clock_data;
use super::events::{Merged, endian};
use super::formats;
use super::kernel;
use super::member::Member;
use super::options::MergeOptions;
use super::remap::{RecordRemapper, TooLarge};
use crate::rewrite::embedded_symbols::objects::EmbeddedObjects;
use crate::rewrite::embedded_symbols::parts::with_processes;
use binrw::BinWrite;
use bytes::Bytes;
use hashbrown::HashMap;
use perf_data::abi;
use perf_data::abi::Endian;
use perf_data::abi::feature::build_ids;
use perf_data::abi::feature::descriptor::FeatureFlags;
use perf_data::abi::feature::numa_topology::NumaTopology;
use perf_data::abi::feature::sample_time::SampleTime;
use perf_data::abi::feature::{Feature, FeatureId, FeatureSection};
use perf_data::abi::record::Misc;
use perf_data::abi::record::build_id::BuildId;
use perf_data::container::write::encoded;
use perf_data::error::{Error, Result};
use perf_symbols::symbol::stored_lines::LINES;
use perf_symbols::symbol::stored_object::FILE2;
use std::collections::{BTreeMap, BTreeSet};

/// The merged features, and notes about them.
#[derive(Debug, Default)]
pub(crate) struct MergedFeatures {
    /// The feature sections.
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Features that are not merged: those generated from the merged data, and those of the writer.
const GENERATED: FeatureFlags = FeatureFlags::DERIVED.union(FeatureFlags::STORAGE);

/// Merges the features of recordings, whose records and features `remappers` remap.
///
/// # Errors
/// Fails if tracepoint formats conflict, a process ID is too large, or a value does not fit in its feature.
pub(crate) fn merge(
    members: &[Member],
    remappers: &[RecordRemapper],
    merged: &Merged,
    shifts: &[u64],
    options: &MergeOptions,
) -> Result<MergedFeatures> {
    let endian = endian(members);
    let mut result = MergedFeatures::default();
    let ids: BTreeSet<_> = members.iter().flat_map(|member| member.meta.features.keys().copied()).collect();
    let (mut differing, mut unchanged) = (Vec::new(), Vec::new());
    let is_generated = |id: &FeatureId| id.has(GENERATED) || [FILE2, LINES].contains(&id.0);
    for id in ids.into_iter().filter(|id| !is_generated(id)) {
        let (mut sections, mut is_unchanged) = (Vec::new(), false);
        for (number, (member, remapper)) in members.iter().zip(remappers).enumerate() {
            let Some(section) = member.meta.features.get(&id) else { continue };
            let remapped = remapped(id, section, member, remapper)?;
            is_unchanged |= remapped.is_none();
            sections.push((number, remapped.unwrap_or_else(|| section.clone())));
        }
        let Some((_, first)) = sections.first() else { continue };
        let chosen = sections.iter().find(|(number, _)| options.features_from == Some(*number));
        let is_common = sections.iter().all(|(_, section)| is_alike(id, first, section, endian));
        match chosen.or(sections.first().filter(|_| is_common)) {
            Some((_, section)) => {
                result.features.insert(id, section.clone());
                unchanged.extend(is_unchanged.then_some(id));
            }
            None => differing.push(id),
        }
    }
    if differing.contains(&FeatureId::NRCPUS) {
        // They are decoded with the number of CPUs.
        differing.extend(result.features.keys().filter(|id| id.needs_context()));
        result.features.retain(|id, _| !id.needs_context());
    }
    let names = |ids: &[FeatureId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !differing.is_empty() {
        let note = format!(
            "these features differ and are dropped: {}; use --features-from to keep those of one recording",
            names(&differing)
        );
        result.notes.push(note);
    }
    if !unchanged.is_empty() {
        result.notes.push(format!(
            "these features cannot be decoded; any process IDs, times or event IDs in them are unchanged: {}",
            names(&unchanged)
        ));
    }
    result.generate(members, merged, shifts, options, endian)?;
    result.embedded_symbols(members, remappers, options)?;
    Ok(result)
}

/// A feature section of a recording with the processes, times and event IDs of the result; `None` if it cannot be decoded but may
/// have to be changed.
fn remapped(id: FeatureId, bytes: &Bytes, member: &Member, remapper: &RecordRemapper) -> Result<Option<Bytes>> {
    if remapper.is_same() {
        return Ok(Some(bytes.clone()));
    }
    let endian = member.meta.endian;
    let recorded = FeatureSection::read(id, bytes, endian, &member.meta.feature_context());
    if matches!(recorded.feature, Feature::Opaque(_)) {
        return Ok(None);
    }
    let mut section = recorded.clone();
    let too_large = |task: TooLarge| Error::incompatible(format!("{}: the feature {id}: {task}", member.name));
    remapper.feature(&mut section).map_err(too_large)?;
    if section == recorded {
        return Ok(Some(bytes.clone()));
    }
    encoded(section.to_bytes(endian)).map(|bytes| Some(bytes.into()))
}

/// The numbers of the recordings in the order in which their features are preferred.
fn precedence(members: &[Member], options: &MergeOptions) -> Vec<usize> {
    let mut order: Vec<_> = (0..members.len()).collect();
    if let Some(chosen) = options.features_from {
        order.remove(chosen);
        order.insert(0, chosen);
    }
    order
}

/// Whether two sections are equal, ignoring the free memory in NUMA_TOPOLOGY.
fn is_alike(id: FeatureId, one: &Bytes, other: &Bytes, endian: Endian) -> bool {
    if one == other || id != FeatureId::NUMA_TOPOLOGY {
        return one == other;
    }
    let nodes = |bytes: &Bytes| {
        let (mut topology, _) = abi::parse::<NumaTopology>(bytes, endian, ()).ok()?;
        topology.nodes.iter_mut().for_each(|node| node.mem_free = 0);
        Some(topology)
    };
    nodes(one).is_some_and(|one| nodes(other) == Some(one))
}

impl MergedFeatures {
    fn set<T: for<'a> BinWrite<Args<'a> = ()>>(&mut self, id: FeatureId, value: &T, endian: Endian) -> Result<()> {
        self.features.insert(id, encoded(abi::to_bytes(value, endian))?.into());
        Ok(())
    }

    /// Generates features from the merged data.
    fn generate(
        &mut self,
        members: &[Member],
        merged: &Merged,
        shifts: &[u64],
        options: &MergeOptions,
        endian: Endian,
    ) -> Result<()> {
        if let Some(desc) = merged.event_desc() {
            self.set(FeatureId::EVENT_DESC, &desc, endian)?;
        }
        if let Some(desc) = merged.group_desc() {
            self.set(FeatureId::GROUP_DESC, &desc, endian)?;
        }
        if members.iter().any(|member| member.meta.features.contains_key(&FeatureId::SAMPLE_TIME)) {
            let times =
                || members.iter().zip(shifts).filter_map(|(member, &shift)| Some((member.scan.samples?, shift)));
            let first_sample_time = times().map(|((first, _), shift)| first.wrapping_add(shift)).min().unwrap_or(0);
            let last_sample_time = times().map(|((_, last), shift)| last.wrapping_add(shift)).max().unwrap_or(0);
            self.set(FeatureId::SAMPLE_TIME, &SampleTime { first_sample_time, last_sample_time }, endian)?;
        }
        // CLOCK_DATA differs between recordings of the same clock: each samples the clocks at its own start.
        let clock_data = members.iter().find_map(|member| member.meta.features.get(&FeatureId::CLOCK_DATA));
        if options.align_wall {
            self.set(FeatureId::CLOCK_DATA, &wall_clock_data(members), endian)?;
        } else if let Some(clock_data) = clock_data {
            self.features.insert(FeatureId::CLOCK_DATA, clock_data.clone());
        }
        self.tracing_data(members)?;
        let build_ids = self.build_ids(members, options);
        if !build_ids.is_empty() {
            let section = encoded(build_ids::to_bytes(&build_ids, endian))?;
            self.features.insert(FeatureId::BUILD_ID, section.into());
        }
        Ok(())
    }

    fn tracing_data(&mut self, members: &[Member]) -> Result<()> {
        let has = |member: &&Member| member.meta.features.contains_key(&FeatureId::TRACING_DATA);
        let having: Vec<_> = members.iter().filter(has).collect();
        let sections: Vec<_> =
            having.iter().map(|member| member.meta.features[&FeatureId::TRACING_DATA].clone()).collect();
        let Some(first) = having.first() else { return Ok(()) };
        match formats::merged(&sections)? {
            Some(section) => drop(self.features.insert(FeatureId::TRACING_DATA, section)),
            None => {
                let others: Vec<_> = having[1..].iter().map(|member| member.name.as_str()).collect();
                return Err(Error::incompatible(format!(
                    "{} and {} have different formats or IDs of the same tracepoints, as different kernels do",
                    first.name,
                    others.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// Joins the names of functions of all recordings; for conflicts, those of the chosen or else the first recording are kept.
    fn embedded_symbols(
        &mut self,
        members: &[Member],
        remappers: &[RecordRemapper],
        options: &MergeOptions,
    ) -> Result<()> {
        let (mut objects, mut conflicts, mut lines) = (EmbeddedObjects::default(), 0, Vec::new());
        for number in precedence(members, options) {
            let Member { meta, name, .. } = &members[number];
            let section = |id| {
                let moved = |section: &Bytes| with_processes(id, section, |pid| remappers[number].task(pid));
                let moved = meta.features.get(&FeatureId(id)).map(moved).transpose();
                moved.map_err(|task| Error::incompatible(format!("{name}: names of functions: {task}")))
            };
            if let Some(section) = section(FILE2)? {
                conflicts += objects.join(EmbeddedObjects::read(&section));
            }
            // Readers join its objects.
            lines.extend(section(LINES)?.filter(|section| !lines.contains(section)));
        }
        let section = objects.encode();
        if !section.is_empty() {
            self.features.insert(FeatureId(FILE2), section.into());
        }
        if !lines.is_empty() {
            self.features.insert(FeatureId(LINES), lines.concat().into());
        }
        if conflicts > 0 {
            self.notes.push(format!("{conflicts} stored functions have several names, of which the first is kept"));
        }
        Ok(())
    }

    /// The build IDs of all recordings; for conflicts, that of the chosen or else the first recording.
    fn build_ids(&mut self, members: &[Member], options: &MergeOptions) -> Vec<(Misc, BuildId)> {
        let mut ids_by_file: HashMap<_, Vec<u8>> = HashMap::new();
        let (mut all, mut differing) = (Vec::new(), BTreeSet::new());
        for number in precedence(members, options) {
            for entry in members[number].meta.build_ids() {
                if kernel::has_build_id(&entry) && options.kernel_from.is_some_and(|chosen| chosen != number) {
                    continue;
                }
                let (misc, build_id) = &entry;
                let id = build_id.id(*misc).to_vec();
                let file = (misc.cpu_mode().0, build_id.pid, build_id.filename.text().to_vec());
                match ids_by_file.get(&file) {
                    Some(other) if *other != id => {
                        differing.insert(String::from_utf8_lossy(&file.2).into_owned());
                    }
                    Some(_) => {}
                    None => {
                        ids_by_file.insert(file, id);
                        all.push(entry);
                    }
                }
            }
        }
        if !differing.is_empty() {
            let count = differing.len();
            let named: Vec<_> = differing.into_iter().take(5).collect();
            let more = if count > named.len() { ", ..." } else { "" };
            self.notes.push(format!(
                "{count} files have several build IDs, of which the first is kept: {}{more}",
                named.join(", ")
            ));
        }
        all
    }
}
