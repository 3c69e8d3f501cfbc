//! What is known about a recording: its events and features. Of a pipe it grows as records come.

use crate::abi::attr::Attr;
use crate::abi::bytes::Reader;
use crate::abi::feature::clock_data::ClockData;
use crate::abi::feature::string::{PerfStr, StrList};
use crate::abi::feature::{FeatureId, build_ids, event_desc};
use crate::abi::record::RecordType;
use crate::abi::record::build_id::BuildId;
use crate::abi::record::event_update::{EventUpdate, EventUpdateValue};
use crate::abi::record::{Misc, RecordContext, RecordHeader};
use crate::abi::sample_view::SampleLayout;
use crate::abi::{self, Endian};
use crate::container::image::FileImage;
use crate::container::read::{Container, Reader as ContainerReader};
use crate::stream::events::Events;
use crate::stream::raw::Raw;
use bytes::Bytes;
use std::collections::BTreeMap;

/// What is known about a recording.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Files that records come from; the first one is the recording itself.
    pub files: Vec<String>,
    /// Container that it is in.
    pub container: Container,
    /// Byte order of the recorder.
    pub endian: Endian,
    /// The events.
    pub events: Events,
    /// Feature sections.
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Everything of the recording's main file but the records, as it is.
    pub image: FileImage,
    /// Build ids that records tell (`perf inject -b` to a pipe), apart from the feature's.
    pub build_id_records: Vec<(Misc, BuildId)>,
}

impl Meta {
    /// What the container's header tells.
    pub fn new(reader: &ContainerReader) -> Self {
        let mut meta = Self {
            files: reader.files.clone(),
            container: reader.container,
            endian: reader.endian,
            events: Events::default(),
            features: reader.features.clone(),
            image: reader.image.clone(),
            build_id_records: Vec::new(),
        };
        for file_attr in &reader.attrs {
            meta.events.add(file_attr.attr.clone(), file_attr.ids.clone());
        }
        meta.name_events();
        meta
    }

    /// Takes what a record tells about the recording as a whole.
    pub fn note(&mut self, raw: &Raw<'_>) {
        let body = raw.body();
        match raw.header.kind {
            RecordType::HEADER_ATTR => self.note_attr(body),
            RecordType::HEADER_FEATURE => {
                let mut reader = Reader::new(body, self.endian);
                let Some(id) = reader.u64().and_then(|id| u32::try_from(id).ok()).map(FeatureId) else { return };
                // The mark at the end of a pipe's header is a feature without content.
                if !reader.rest().is_empty() {
                    self.features.insert(id, raw.block.bytes.slice_ref(reader.rest()));
                    if id == FeatureId::EVENT_DESC {
                        self.name_events();
                    }
                }
            }
            RecordType::HEADER_TRACING_DATA if raw.payload > 0 => {
                self.features.insert(FeatureId::TRACING_DATA, raw.block.bytes.slice_ref(raw.payload()));
            }
            // Files of perf stat are marked by a feature, which pipes do not have.
            RecordType::STAT_CONFIG if self.container == Container::Pipe => {
                self.features.entry(FeatureId::STAT).or_default();
            }
            RecordType::HEADER_BUILD_ID => {
                if let Ok((build_id, _)) = abi::parse::<BuildId>(body, self.endian, ()) {
                    self.build_id_records.push((raw.header.misc, build_id));
                }
            }
            RecordType::EVENT_UPDATE => {
                if let Ok((update, _)) = abi::parse::<EventUpdate>(body, self.endian, ())
                    && let Some(EventUpdateValue::Name(name)) = update.value
                {
                    self.events.name_by_id(update.id, &String::from_utf8_lossy(name.text()));
                }
            }
            _ => {}
        }
    }

    fn note_attr(&mut self, body: &[u8]) {
        let Some(size) = Attr::declared_size(body, self.endian) else { return };
        let Some((attr, ids)) = body.split_at_checked(size) else { return };
        let Ok(attr) = Attr::read(attr, self.endian) else { return };
        let ids = Reader::new(ids, self.endian).words(ids.len() as u64 / 8).map(|ids| ids.iter().collect());
        self.events.add(attr, ids.unwrap_or_default());
        self.name_events();
    }

    /// Gives the events the names of EVENT_DESC: by id, and by place for events without ids.
    fn name_events(&mut self) {
        let Some(section) = self.features.get(&FeatureId::EVENT_DESC) else { return };
        for (index, desc) in event_desc::read(section, self.endian).unwrap_or_default().into_iter().enumerate() {
            let name = desc.name.to_text();
            match desc.ids.first() {
                Some(&id) => self.events.name_by_id(id, &name),
                None => self.events.name_by_index(index, &name),
            }
        }
    }

    /// What must be known to read a record. One whose event is not known is read as if it had no trailer.
    pub fn context(&self, raw: &Raw<'_>) -> RecordContext {
        match self.events.of(raw) {
            Some((_, event)) => RecordContext::new(&event.attr, raw.endian),
            None => RecordContext { endian: raw.endian, layout: SampleLayout::default(), sample_id_all: false },
        }
    }

    /// A feature that is a string, such as [`FeatureId::VERSION`].
    pub fn string(&self, id: FeatureId) -> Option<String> {
        let section = self.features.get(&id)?;
        abi::parse::<PerfStr>(section, self.endian, ()).ok().map(|(text, _)| text.to_text())
    }

    /// The command line of perf: feature CMDLINE.
    pub fn cmdline(&self) -> Option<Vec<String>> {
        let section = self.features.get(&FeatureId::CMDLINE)?;
        let (list, _) = abi::parse::<StrList>(section, self.endian, ()).ok()?;
        Some(list.strings.iter().map(PerfStr::to_text).collect())
    }

    /// Feature CLOCK_DATA.
    pub fn clock_data(&self) -> Option<ClockData> {
        let section = self.features.get(&FeatureId::CLOCK_DATA)?;
        abi::parse(section, self.endian, ()).ok().map(|(data, _)| data)
    }

    /// Build ids of files: of the feature BUILD_ID, then of records.
    pub fn build_ids(&self) -> Vec<(Misc, BuildId)> {
        let section = self.features.get(&FeatureId::BUILD_ID).map(Bytes::as_ref).unwrap_or_default();
        let mut ids = build_ids::read(section, self.endian);
        ids.extend(self.build_id_records.iter().cloned());
        ids
    }
}

/// Whether a record of this type tells about the recording as a whole.
pub fn is_about_recording(header: &RecordHeader) -> bool {
    is_header(header.kind) || matches!(header.kind, RecordType::EVENT_UPDATE | RecordType::STAT_CONFIG)
}

/// Whether a record of this type tells in a pipe what a file tells in its header and sections.
pub fn is_header(kind: RecordType) -> bool {
    matches!(
        kind,
        RecordType::HEADER_ATTR
            | RecordType::HEADER_EVENT_TYPE
            | RecordType::HEADER_FEATURE
            | RecordType::HEADER_TRACING_DATA
            | RecordType::HEADER_BUILD_ID
    )
}
