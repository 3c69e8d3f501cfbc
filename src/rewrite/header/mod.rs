//! A recording's metadata, to be edited in the same way for all containers.

pub mod edits;
pub(crate) mod metadata_edit;

use binrw::BinWrite;
use bytes::Bytes;
use perf_data::abi::feature::event_desc::EventDescs;
use perf_data::abi::feature::group_desc::GroupDesc;
use perf_data::abi::feature::string::PerfStr;
use perf_data::abi::feature::{FeatureContext, FeatureId, FeatureSection, build_ids};
use perf_data::abi::header::EventType;
use perf_data::abi::record::Misc;
use perf_data::abi::record::build_id::BuildId;
use perf_data::abi::{self, Endian};
use perf_data::container::read::Container;
use perf_data::container::read::file::FileAttr;
use perf_data::container::write::encoded;
use perf_data::error::Result;
use perf_data::stream::meta::Meta;
use perf_data::stream::write::form::events;
use perf_data::stream::write::image::image;
use std::collections::BTreeMap;

/// A recording's metadata: in a file its header and feature sections, in a pipe its header records.
#[derive(Clone, Debug)]
pub struct Header {
    /// Byte order of the recorder and of the features.
    pub endian: Endian,
    /// Container that the recording is in.
    pub container: Container,
    /// The events by number; `None` if removed. New events are appended.
    pub events: Vec<Option<FileAttr>>,
    /// Feature sections, other than [`BUILD_ID`](FeatureId::BUILD_ID).
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Build IDs of files.
    pub build_ids: Vec<(Misc, BuildId)>,
    /// Whether to keep the bytes of a file's build ID table, including malformed entries, if the build IDs are unchanged.
    pub keeps_build_id_table: bool,
    /// Names of tracepoints, in very old recordings.
    pub event_types: Vec<EventType>,
}

impl Header {
    /// Takes the metadata of a recording.
    pub fn new(meta: &Meta) -> Self {
        let mut features = meta.features.clone();
        features.remove(&FeatureId::BUILD_ID);
        Self {
            endian: meta.endian,
            container: meta.container,
            events: events(meta).into_iter().map(Some).collect(),
            features,
            build_ids: meta.build_ids(),
            keeps_build_id_table: true,
            event_types: meta.event_types.list().to_vec(),
        }
    }

    /// Decodes a feature; a malformed one is opaque.
    pub fn feature(&self, id: FeatureId) -> Option<FeatureSection> {
        let nr_cpus = self.features.get(&FeatureId::NRCPUS).map(AsRef::as_ref);
        let context = FeatureContext::new(nr_cpus, self.endian);
        self.features.get(&id).map(|bytes| FeatureSection::read(id, bytes, self.endian, &context))
    }

    /// A feature that is a string, such as [`FeatureId::HOSTNAME`].
    pub fn string(&self, id: FeatureId) -> Option<String> {
        abi::parse::<PerfStr>(self.features.get(&id)?, self.endian, ()).ok().map(|(text, _)| text.to_text())
    }

    /// Adds or replaces a feature.
    ///
    /// # Errors
    /// Fails if the value does not fit in the feature.
    pub fn set<T: for<'a> BinWrite<Args<'a> = ()>>(&mut self, id: FeatureId, value: &T) -> Result<()> {
        let bytes = encoded(abi::to_bytes(value, self.endian))?;
        self.features.insert(id, bytes.into());
        Ok(())
    }

    /// Adapts EVENT_DESC and GROUP_DESC to changes of the events.
    ///
    /// # Errors
    /// Fails if a value does not fit in them.
    pub(super) fn follow_events(&mut self, before: &Self) -> Result<()> {
        if self.events == before.events {
            return Ok(());
        }
        self.follow_in_event_desc(before)?;
        let Some(section) = self.features.get(&FeatureId::GROUP_DESC) else { return Ok(()) };
        let Ok((mut desc, _)) = abi::parse::<GroupDesc>(section, self.endian, ()) else { return Ok(()) };
        let kept = |range: &[Option<FileAttr>]| range.iter().flatten().count() as u32;
        desc.groups.retain_mut(|group| {
            let (leader, members) = (group.leader_idx as usize, group.nr_members as usize);
            let Some(events) = self.events.get(leader..leader.saturating_add(members)) else { return false };
            (group.leader_idx, group.nr_members) = (kept(&self.events[..leader]), kept(events));
            group.nr_members > 1
        });
        if desc.groups.is_empty() {
            self.features.remove(&FeatureId::GROUP_DESC);
            return Ok(());
        }
        self.set(FeatureId::GROUP_DESC, &desc)
    }

    fn follow_in_event_desc(&mut self, before: &Self) -> Result<()> {
        let Some(section) = self.features.get(&FeatureId::EVENT_DESC) else { return Ok(()) };
        let Ok((mut descs, _)) = abi::parse::<EventDescs>(section, self.endian, ()) else { return Ok(()) };
        let mut numbers = BTreeMap::new();
        for (number, event) in before.events.iter().enumerate() {
            numbers.extend(event.iter().flat_map(|event| event.ids.iter().map(move |&id| (id, number))));
        }
        let mut number = 0;
        descs.events.retain_mut(|desc| {
            // Descriptions without IDs are in the order of the events.
            let event_number = desc.ids.first().map_or(Some(&number), |id| numbers.get(id)).copied();
            number += 1;
            match event_number.and_then(|number| self.events.get(number)) {
                Some(Some(event)) => {
                    desc.attr.clone_from(&event.attr);
                    desc.ids.clone_from(&event.ids);
                    true
                }
                Some(None) => false,
                None => true,
            }
        });
        // All attrs in EVENT_DESC have the same size.
        let size = descs.events.iter().map(|desc| desc.attr.stored_size()).max().unwrap_or(descs.attr_size as usize);
        descs.attr_size = size as u32;
        descs.events.iter_mut().for_each(|desc| desc.attr = desc.attr.resized(size));
        self.set(FeatureId::EVENT_DESC, &descs)
    }

    /// The metadata of a file with this header, before its first record.
    ///
    /// # Errors
    /// Fails if a file name is too long for a build ID entry.
    pub(super) fn initial_meta(&self, meta: &Meta, before: &Self) -> Result<Meta> {
        let mut features = self.features.clone();
        if self.build_ids != before.build_ids || !self.keeps_build_id_table {
            let section = encoded(build_ids::to_bytes(&self.build_ids, self.endian))?;
            features.extend((!section.is_empty()).then(|| (FeatureId::BUILD_ID, section.into())));
        } else if let Some(section) = meta.features.get(&FeatureId::BUILD_ID) {
            features.insert(FeatureId::BUILD_ID, section.clone());
        }
        let mut file_meta = meta.with(self.events.iter().flatten().cloned(), features, &self.event_types);
        let index = file_meta.features.get(&FeatureId::AUXTRACE).cloned();
        file_meta.image = image(&mut file_meta)?;
        // Records and the AUXTRACE index keep their original offsets.
        file_meta.features.extend(index.map(|index| (FeatureId::AUXTRACE, index)));
        Ok(file_meta)
    }
}
