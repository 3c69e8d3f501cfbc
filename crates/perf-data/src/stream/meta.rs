//! Metadata of a recording: events and features. It grows while a pipe is read.

use crate::abi::bytes::ByteReader;
use crate::abi::feature::clock_data::ClockData;
use crate::abi::feature::group_desc::GroupDesc;
use crate::abi::feature::perf_reader::PerfReader;
use crate::abi::feature::string::{PerfStr, StrList, hiperf_command};
use crate::abi::feature::tracing_data::TracingData;
use crate::abi::feature::{FeatureContext, FeatureId, build_ids, event_desc};
use crate::abi::header::EventType;
use crate::abi::record::RecordType;
use crate::abi::record::build_id::BuildId;
use crate::abi::record::event_update::{EventUpdate, EventUpdateValue};
use crate::abi::record::header_attr::HeaderEventType;
use crate::abi::record::{Misc, RecordContext};
use crate::abi::sample::layout::SampleLayout;
use crate::abi::text::FixedStr;
use crate::abi::{self, Endian};
use crate::container::block::Block;
use crate::container::image::FileImage;
use crate::container::limits::Limits;
use crate::container::read::file::FileAttr;
use crate::container::read::{Container, ContainerReader};
use crate::container::walk::{Damage, DamageKind};
use crate::stream::event_types::EventTypes;
use crate::stream::events::Events;
use crate::stream::raw::{Gap, Raw};
use crate::stream::simpleperf_events;
use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Maximum number of features: the number of bits in the file header.
const FEATURES: u32 = 256;

/// Metadata of a recording.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Names of the files; the first is the recording itself.
    pub files: Vec<String>,
    /// The directory of the files, if the recording is a directory. Its name may be invalid UTF-8.
    pub directory: Option<PathBuf>,
    /// Container of the recording.
    pub container: Container,
    /// Byte order of the recorder.
    pub endian: Endian,
    /// The events.
    pub events: Events,
    /// Names of tracepoints other than those of EVENT_DESC, in very old recordings.
    pub event_types: EventTypes,
    /// Feature sections.
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Everything except the records of the main file, unchanged.
    pub image: FileImage,
    /// Build IDs from records (`perf inject -b` to a pipe), separate from the feature.
    pub build_id_records: Vec<(Misc, BuildId)>,
    /// Bodies of these records, to drop duplicates.
    known_build_ids: HashSet<Box<[u8]>>,
    /// How many more bytes of metadata records are accepted.
    room: u64,
    /// Names from EVENT_DESC by the first ID of the event, for events that arrive later.
    names: HashMap<u64, String>,
}

impl Meta {
    /// Metadata from the header of the container.
    pub fn new(reader: &ContainerReader) -> Self {
        let mut meta = Self {
            files: reader.files.clone(),
            directory: reader.directory.clone(),
            container: reader.container,
            endian: reader.endian,
            events: Events::default(),
            event_types: EventTypes::default(),
            features: reader.features.clone(),
            image: reader.image.clone(),
            build_id_records: Vec::new(),
            known_build_ids: HashSet::new(),
            room: reader.options.limits.about,
            names: HashMap::new(),
        };
        for file_attr in &reader.attrs {
            meta.events.add(file_attr.attr.clone(), file_attr.ids.clone());
        }
        meta.name_events();
        meta.group_events();
        reader.event_types.iter().for_each(|event_type| meta.note_event_type(*event_type));
        meta
    }

    /// Metadata of a recording that is not in a container, as if it were a file named `name`.
    pub fn synthetic(
        name: String,
        endian: Endian,
        events: impl Iterator<Item = FileAttr>,
        features: BTreeMap<FeatureId, Bytes>,
    ) -> Self {
        let meta = Self {
            files: vec![name],
            directory: None,
            container: Container::File,
            endian,
            events: Events::default(),
            event_types: EventTypes::default(),
            features: BTreeMap::new(),
            image: FileImage::default(),
            build_id_records: Vec::new(),
            known_build_ids: HashSet::new(),
            room: Limits::default().about,
            names: HashMap::new(),
        };
        meta.with(events, features, &[])
    }

    /// Copy with other events, features and tracepoint names, as known before the first record. The
    /// [image](Self::image) is unchanged.
    pub fn with(
        &self,
        events: impl Iterator<Item = FileAttr>,
        features: BTreeMap<FeatureId, Bytes>,
        event_types: &[EventType],
    ) -> Self {
        let mut meta = Self {
            events: Events::default(),
            features,
            names: HashMap::new(),
            event_types: EventTypes::default(),
            ..self.clone()
        };
        events.for_each(|event| meta.events.add(event.attr, event.ids));
        meta.name_events();
        meta.group_events();
        event_types.iter().for_each(|event_type| meta.note_event_type(*event_type));
        meta
    }

    /// Takes tracepoint formats from between records, where `perf inject` writes them in a pipe: before the record that announces
    /// them.
    pub fn note_gap(&mut self, gap: &Gap<'_>) {
        let bytes = gap.block.bytes.slice(gap.at..gap.at + gap.len);
        if self.container == Container::Pipe && bytes.starts_with(TracingData::MAGIC) {
            self.features.entry(FeatureId::TRACING_DATA).or_insert(bytes);
        }
    }

    /// Takes the metadata of a record. `None` if it cannot be decoded, or exceeds the
    /// [limit](crate::container::limits::Limits::about).
    pub fn note(&mut self, raw: &Raw<'_>) -> Option<()> {
        let noted = self.room.checked_sub(raw.body().len() as u64).and_then(|room| {
            self.room = room;
            self.take(raw)
        });
        if noted.is_none() && raw.header().kind == RecordType::HEADER_ATTR {
            self.events.miss();
        }
        noted
    }

    fn take(&mut self, raw: &Raw<'_>) -> Option<()> {
        let body = raw.body();
        match raw.header().kind {
            RecordType::HEADER_ATTR => return self.note_attr(body),
            RecordType::HEADER_EVENT_TYPE => {
                let (event_type, _) = abi::parse::<HeaderEventType>(body, self.endian, ()).ok()?;
                let name = FixedStr::new(event_type.name.text());
                self.note_event_type(EventType { event_id: event_type.event_id, name });
            }
            RecordType::HEADER_FEATURE => {
                let mut reader = ByteReader::new(body, self.endian);
                let id = reader.u64()?;
                // The end mark of a pipe's features is a feature without content.
                if !reader.rest().is_empty() {
                    self.note_feature(FeatureId(u32::try_from(id).ok().filter(|&id| id < FEATURES)?), reader.rest());
                }
            }
            RecordType::HEADER_TRACING_DATA if raw.payload_len() > 0 => {
                self.features.insert(FeatureId::TRACING_DATA, raw.block().bytes.slice_ref(raw.payload()));
            }
            // Pipes do not have the feature that marks files of perf stat.
            RecordType::STAT_CONFIG if self.container == Container::Pipe => {
                self.features.entry(FeatureId::STAT).or_default();
            }
            RecordType::HEADER_BUILD_ID => {
                let (build_id, _) = abi::parse::<BuildId>(body, self.endian, ()).ok()?;
                if self.known_build_ids.insert(body.into()) {
                    self.build_id_records.push((raw.header().misc, build_id));
                }
            }
            RecordType::EVENT_UPDATE => {
                let (update, _) = abi::parse::<EventUpdate>(body, self.endian, ()).ok()?;
                match update.value {
                    Some(EventUpdateValue::Name(name)) => {
                        self.events.name_by_id(update.id, &String::from_utf8_lossy(name.text()));
                    }
                    Some(EventUpdateValue::Unit(unit)) => {
                        self.events.unit_by_id(update.id, &String::from_utf8_lossy(unit.text()));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Some(())
    }

    fn note_feature(&mut self, id: FeatureId, bytes: &[u8]) {
        // A copy, so that a few bytes do not keep a whole block alive.
        self.features.insert(id, Bytes::copy_from_slice(bytes));
        match id {
            FeatureId::EVENT_DESC => self.name_events(),
            FeatureId::GROUP_DESC => self.group_events(),
            _ => {}
        }
    }

    fn note_event_type(&mut self, event_type: EventType) {
        if let Some(name) = self.event_types.add(event_type) {
            self.events.name_by_config(event_type.event_id, &name);
        }
    }

    fn note_attr(&mut self, body: &[u8]) -> Option<()> {
        self.events.add_attr_record(body, self.endian)?;
        let Some((event, others)) = self.events.list().split_last() else { return Some(()) };
        let (index, event_type) = (others.len(), self.event_types.missing_name(event));
        let name = event.ids.first().and_then(|id| self.names.get(id));
        if let (Some(&id), Some(name)) = (event.ids.first(), name.cloned()) {
            self.events.name_by_id(id, &name);
        }
        if let Some(name) = event_type {
            self.events.name_by_index(index, &name);
        }
        Some(())
    }

    /// Names the events from EVENT_DESC: by ID, or by index for events without IDs. simpleperf has another feature.
    fn name_events(&mut self) {
        if let Some(section) = self.features.get(&simpleperf_events::META_INFO) {
            let named = simpleperf_events::names(section).take(self.events.list().len());
            named.for_each(|(kind, config, name)| self.events.name_by_type(kind, config, name));
        }
        let Some(section) = self.features.get(&FeatureId::EVENT_DESC) else { return };
        for (index, desc) in event_desc::read(section, self.endian).unwrap_or_default().into_iter().enumerate() {
            let name = desc.name.to_text();
            match desc.ids.first() {
                Some(&id) => {
                    self.events.name_by_id(id, &name);
                    self.names.insert(id, name);
                }
                None => self.events.name_by_index(index, &name),
            }
        }
    }

    /// Groups the events by GROUP_DESC.
    fn group_events(&mut self) {
        let Some(section) = self.features.get(&FeatureId::GROUP_DESC) else { return };
        let Ok((desc, _)) = abi::parse::<GroupDesc>(section, self.endian, ()) else { return };
        // An event is in at most one group. More members than events indicate corruption.
        let mut room = self.events.list().len();
        for group in &desc.groups {
            let Some(left) = room.checked_sub(group.nr_members as usize) else { return };
            room = left;
            self.events.group(group.leader_idx as usize, group.nr_members as usize);
        }
    }

    /// A corrupt record at an offset of a block.
    pub fn damage(&self, block: &Block, at: usize, problem: String) -> Damage {
        Damage::new(DamageKind::CorruptRecord, &self.files[block.source as usize], block.offset(at), problem)
    }

    /// Context for decoding a record. A record of an unknown event is decoded without a trailer.
    pub fn context(&self, raw: &Raw<'_>) -> RecordContext {
        match self.events.find(raw) {
            Some((_, event)) => event.context(raw.endian()),
            None => RecordContext { endian: raw.endian(), layout: SampleLayout::default(), sample_id_all: false },
        }
    }

    /// Context for decoding a feature section.
    pub fn feature_context(&self) -> FeatureContext {
        FeatureContext::new(self.features.get(&FeatureId::NRCPUS).map(AsRef::as_ref), self.endian)
    }

    /// What decides whether perf accepts the features in a container.
    pub fn perf_reader(&self, container: Container) -> PerfReader {
        let events = self.events.list().len();
        PerfReader {
            // In a pipe they may come later.
            events: (events > 0).then_some(events),
            has_free_socket_ids: self
                .string(FeatureId::ARCH)
                .is_some_and(|arch| PerfReader::has_free_socket_ids(&arch)),
            is_directory: container == Container::Directory,
        }
    }

    /// A string feature, such as [`FeatureId::VERSION`].
    pub fn string(&self, id: FeatureId) -> Option<String> {
        let section = self.features.get(&id)?;
        abi::parse::<PerfStr>(section, self.endian, ()).ok().map(|(text, _)| text.to_text())
    }

    /// Major and minor version of the perf that recorded, from the feature VERSION.
    pub fn perf_version(&self) -> Option<(u32, u32)> {
        // Called for each LOST record, and the feature may be long.
        const MAX_LEN: usize = 64;
        let section = self.features.get(&FeatureId::VERSION)?;
        let mut reader = ByteReader::new(section, self.endian);
        let len = reader.u32()?;
        let version = reader.take(len as usize)?.split(|&byte| byte == 0).next()?;
        let version = String::from_utf8_lossy(&version[..version.len().min(MAX_LEN)]);
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }

    /// Whether losses of full buffers are also counted in LOST_SAMPLES, as since perf 6.1. Adding both would count them twice.
    pub fn counts_lost_samples(&self) -> bool {
        self.perf_version() >= Some((6, 1))
    }

    /// The command line of perf, from the feature CMDLINE.
    pub fn cmdline(&self) -> Option<Vec<String>> {
        let section = self.features.get(&FeatureId::CMDLINE)?;
        if let Some(command) = hiperf_command(section) {
            return Some(command.split_whitespace().map(str::to_owned).collect());
        }
        let (list, _) = abi::parse::<StrList>(section, self.endian, ()).ok()?;
        Some(list.strings.iter().map(PerfStr::to_text).collect())
    }

    /// The feature CLOCK_DATA.
    pub fn clock_data(&self) -> Option<ClockData> {
        let section = self.features.get(&FeatureId::CLOCK_DATA)?;
        abi::parse(section, self.endian, ()).ok().map(|(data, _)| data)
    }

    /// Build IDs of the feature BUILD_ID, followed by those of records.
    pub fn build_ids(&self) -> Vec<(Misc, BuildId)> {
        let section = self.features.get(&FeatureId::BUILD_ID).map(Bytes::as_ref).unwrap_or_default();
        let mut ids = build_ids::read(section, self.endian);
        ids.extend(self.build_id_records.iter().cloned());
        ids
    }
}
