//! What a recording tells of itself, to be edited: the same whatever the container.

pub mod edited;
#[cfg(feature = "rewrite")]
pub mod edits;

use crate::abi::feature::event_desc::EventDescs;
use crate::abi::feature::group_desc::GroupDesc;
use crate::abi::feature::string::PerfStr;
use crate::abi::feature::{FeatureContext, FeatureId, FeatureSection, build_ids};
use crate::abi::header::EventType;
use crate::abi::record::Misc;
use crate::abi::record::build_id::BuildId;
use crate::abi::{self, Endian};
use crate::container::read::Container;
use crate::container::read::file::FileAttr;
use crate::container::write::encoded;
use crate::error::Result;
use crate::stream::meta::Meta;
use crate::stream::write::form::events;
use crate::stream::write::image::image;
use binrw::BinWrite;
use bytes::Bytes;
use std::collections::BTreeMap;

/// What a recording tells of itself: in a file in its header and sections, in a pipe in records.
#[derive(Clone, Debug)]
pub struct Header {
    /// Byte order of the recorder, in which features are.
    pub endian: Endian,
    /// Container that the recording is in.
    pub container: Container,
    /// The events, by their number; `None` where one goes. New ones come last.
    pub events: Vec<Option<FileAttr>>,
    /// Feature sections, other than [`BUILD_ID`](FeatureId::BUILD_ID).
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Build ids of files.
    pub build_ids: Vec<(Misc, BuildId)>,
    /// Whether the table of a file's build ids stays as it is where these are the same, with what cannot be read of it.
    pub keeps_build_id_table: bool,
    /// Names of tracepoints, in very old recordings.
    pub event_types: Vec<EventType>,
}

impl Header {
    /// What is known of a recording.
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

    /// A feature by its parts; what does not fit its definition is opaque.
    pub fn feature(&self, id: FeatureId) -> Option<FeatureSection> {
        let nr_cpus = self.features.get(&FeatureId::NRCPUS).map(AsRef::as_ref);
        let context = FeatureContext::new(nr_cpus, self.endian);
        self.features.get(&id).map(|bytes| FeatureSection::read(id, bytes, self.endian, &context))
    }

    /// A feature that is a string, such as [`FeatureId::HOSTNAME`].
    pub fn string(&self, id: FeatureId) -> Option<String> {
        abi::parse::<PerfStr>(self.features.get(&id)?, self.endian, ()).ok().map(|(text, _)| text.to_text())
    }

    /// Adds a feature, or replaces it.
    ///
    /// # Errors
    /// Where the value has no place in it.
    pub fn set<T: for<'a> BinWrite<Args<'a> = ()>>(&mut self, id: FeatureId, value: &T) -> Result<()> {
        let bytes = encoded(abi::to_bytes(value, self.endian))?;
        self.features.insert(id, bytes.into());
        Ok(())
    }

    /// What EVENT_DESC and GROUP_DESC tell of events follows these.
    ///
    /// # Errors
    /// Where a value has no place in them.
    pub(super) fn follow_events(&mut self, before: &Self) -> Result<()> {
        if self.events == before.events {
            return Ok(());
        }
        self.follow_in_event_desc(before)?;
        let Some(section) = self.features.get(&FeatureId::GROUP_DESC) else { return Ok(()) };
        let Ok((mut desc, _)) = abi::parse::<GroupDesc>(section, self.endian, ()) else { return Ok(()) };
        let left = |range: &[Option<FileAttr>]| range.iter().flatten().count() as u32;
        desc.groups.retain_mut(|group| {
            let (leader, members) = (group.leader_idx as usize, group.nr_members as usize);
            let Some(events) = self.events.get(leader..leader.saturating_add(members)) else { return false };
            (group.leader_idx, group.nr_members) = (left(&self.events[..leader]), left(events));
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
            let number_of = desc.ids.first().map_or(Some(&number), |id| numbers.get(id)).copied();
            number += 1;
            match number_of.and_then(|number| self.events.get(number)) {
                Some(Some(event)) => {
                    desc.attr.clone_from(&event.attr);
                    desc.ids.clone_from(&event.ids);
                    true
                }
                Some(None) => false,
                None => true,
            }
        });
        // All attrs take the same room there.
        let size = descs.events.iter().map(|desc| desc.attr.stored_size()).max().unwrap_or(descs.attr_size as usize);
        descs.attr_size = size as u32;
        descs.events.iter_mut().for_each(|desc| desc.attr = desc.attr.resized(size));
        self.set(FeatureId::EVENT_DESC, &descs)
    }

    /// What is then known of a recording whose header and sections tell this, before its first record.
    ///
    /// # Errors
    /// Where a build id's name is longer than its entry can tell.
    pub(super) fn known(&self, meta: &Meta, before: &Self) -> Result<Meta> {
        let mut features = self.features.clone();
        if self.build_ids != before.build_ids || !self.keeps_build_id_table {
            let section = encoded(build_ids::to_bytes(&self.build_ids, self.endian))?;
            features.extend((!section.is_empty()).then(|| (FeatureId::BUILD_ID, section.into())));
        } else if let Some(section) = meta.features.get(&FeatureId::BUILD_ID) {
            features.insert(FeatureId::BUILD_ID, section.clone());
        }
        let mut known = meta.with(self.events.iter().flatten().cloned(), features, &self.event_types);
        let index = known.features.get(&FeatureId::AUXTRACE).cloned();
        known.image = image(&mut known)?;
        // Records are still told to be where they were, and so are those of the index.
        known.features.extend(index.map(|index| (FeatureId::AUXTRACE, index)));
        Ok(known)
    }
}
