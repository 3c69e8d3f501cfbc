//! The file container: a header that locates the events, records and features.

use super::file_bytes::FileBytes;
use crate::abi::attr::Attr;
use crate::abi::bytes::ByteReader;
use crate::abi::feature::FeatureId;
use crate::abi::header::{EventType, FeatureBits, FileHeader, Section};
use crate::abi::{self, Endian};
use crate::container::image::FileImage;
use crate::container::walk::{Damage, DamageKind};
use crate::error::{Error, Result};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// An event of a recording: its attr and the IDs of its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAttr {
    /// The attr that the event was opened with.
    pub attr: Attr,
    /// One ID for each CPU or thread the event was opened on.
    pub ids: Vec<u64>,
}

/// The sections of a file.
pub struct FileSections {
    /// The events.
    pub attrs: Vec<FileAttr>,
    /// Names of tracepoints, in files of old perf versions.
    pub event_types: Vec<EventType>,
    /// Range of the records.
    pub data: Range<u64>,
    /// The features.
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Everything except the records, unchanged.
    pub image: FileImage,
    /// Missing or inconsistent parts.
    pub damage: Vec<Damage>,
}

/// Offsets of the header's fields, for messages.
const SIZE_AT: u64 = 8;
const ATTR_SIZE_AT: u64 = 16;
const ATTRS_AT: u64 = 24;
const EVENT_TYPES_AT: u64 = 56;
/// Size of the section that follows each attr and locates its IDs.
const IDS_SIZE: usize = 16;

impl FileSections {
    /// Reads the header, events and features of a file.
    ///
    /// # Errors
    /// If no records can be read: the header is truncated, the events are invalid, or the data section is outside the file.
    pub fn read(name: &str, bytes: &FileBytes, endian: Endian) -> Result<Self> {
        let fail = |at, problem: String| Err(Error::input(name, at, problem));
        let len = bytes.size();
        let start = bytes.start(FileHeader::SIZE).map_err(Error::io(name, "cannot read"))?;
        let Ok(header) = FileHeader::read_from(&start, endian) else {
            return fail(0, format!("the header is truncated after {len} bytes"));
        };
        if header.size != FileHeader::SIZE && header.size != FileHeader::SIZE_WITHOUT_FEATURES {
            return fail(SIZE_AT, format!("header size is {} bytes; expected 104 or 72", header.size));
        }
        if len < header.size {
            return fail(0, format!("the header is truncated after {len} bytes"));
        }
        if header.attr_size < (Attr::SIZE_VER0 + IDS_SIZE) as u64 {
            let problem = format!(
                "attr size is {} bytes, but must be at least 80; perf record may have been interrupted",
                header.attr_size
            );
            return fail(ATTR_SIZE_AT, problem);
        }
        let (attrs, without_ids) = read_attrs(name, bytes, &header, endian)?;
        let has_features = header.size == FileHeader::SIZE;
        let bits = start[FileHeader::SIZE_WITHOUT_FEATURES as usize..].first_chunk().filter(|_| has_features);
        let bits = FeatureBits::read(bits.unwrap_or(&[0; 32]), endian);
        let is_without_records = is_without_records(bytes, &header, &bits, endian);
        if header.data.offset >= len && !is_without_records {
            return fail(header.data.offset, format!("truncated before the first record, after {len} bytes"));
        }
        let mut sections = Self {
            attrs,
            event_types: Vec::new(),
            data: 0..0,
            features: BTreeMap::new(),
            image: FileImage::default(),
            damage: Vec::new(),
        };
        for at in without_ids {
            sections.missing(
                name,
                at,
                "the IDs of this event are missing: their section is outside the file or overlaps others",
            );
        }
        sections.read_event_types(name, bytes, &header.event_types, endian);
        if is_without_records {
            sections.data = header.data.offset..header.data.offset;
        } else {
            sections.find_data(name, &header, len);
        }
        let part = |range: Range<u64>| {
            let at = range.start;
            bytes.slice(range).ok_or_else(|| Error::input(name, at, "cannot be read".to_owned()))
        };
        sections.image.before = part(0..sections.data.start)?;
        sections.image.behind = part(sections.data.end..len)?;
        sections.image.data = sections.data.end - sections.data.start;
        if header.data.size > 0 || is_without_records {
            sections.read_features(name, bytes, &header.data, bits, endian);
        }
        Ok(sections)
    }

    fn read_event_types(&mut self, name: &str, bytes: &FileBytes, section: &Section, endian: Endian) {
        let types = slice(bytes, section).unwrap_or_default();
        let (types, rest) = types.as_chunks::<{ EventType::SIZE }>();
        if !rest.is_empty() || types.is_empty() && section.size > 0 {
            let problem = format!(
                "the {} bytes of tracepoint names are not all in the file or not a multiple of {}",
                section.size,
                EventType::SIZE
            );
            self.missing(name, EVENT_TYPES_AT, problem);
        }
        let types = types.iter().filter_map(|bytes| abi::parse(bytes, endian, ()).ok());
        self.event_types = types.map(|(event_type, _)| event_type).collect();
    }

    fn find_data(&mut self, name: &str, header: &FileHeader, len: u64) {
        let data = header.data;
        let mut end = data.end();
        if data.size == 0 {
            end = len;
            let problem = "perf record was interrupted before it finished the file; reading all records up to the end, without \
                        features (host name, command line, event names)";
            self.damage.push(Damage::new(DamageKind::Interrupted, name, data.offset, problem));
        } else if end > len {
            let missing = end - len;
            let problem = format!("truncated: the last {missing} bytes of the records are missing");
            self.damage.push(Damage::new(DamageKind::Truncated, name, len, problem).with_unread(missing));
            end = len;
        }
        self.data = data.offset..end;
    }

    fn read_features(&mut self, name: &str, bytes: &FileBytes, data: &Section, bits: FeatureBits, endian: Endian) {
        let Some(table) = feature_table(bytes, data.end(), &bits) else { return };
        let mut table = ByteReader::new(&table, endian);
        let mut missing = Vec::new();
        // Overlapping sections could add up to more than the file.
        let mut room = bytes.size();
        for bit in bits.iter() {
            let id = FeatureId(bit);
            let section = (|| Some(Section { offset: table.u64()?, size: table.u64()? }))();
            let fits = |section: &Section| {
                room = room.checked_sub(section.size)?;
                slice(bytes, section)
            };
            match section.as_ref().and_then(fits) {
                Some(feature) => drop(self.features.insert(id, feature)),
                None => missing.push(id.to_string()),
            }
        }
        if !missing.is_empty() {
            let problem = format!(
                "the file is truncated or its feature table is corrupt; missing features: {}",
                missing.join(", ")
            );
            self.missing(name, data.end(), problem);
        }
    }

    fn missing(&mut self, file: &str, offset: u64, problem: impl Into<String>) {
        self.damage.push(Damage::new(DamageKind::MissingSection, file, offset, problem));
    }
}

/// The bytes of a section; `None` if they are not all in the file.
fn slice(bytes: &FileBytes, section: &Section) -> Option<Bytes> {
    bytes.slice(section.offset..section.end())
}

/// The table of sections of these features, as far as it is in the file; `None` if it begins outside.
fn feature_table(bytes: &FileBytes, at: u64, bits: &FeatureBits) -> Option<Bytes> {
    let size = (bits.iter().count() * Section::SIZE) as u64;
    bytes.slice(at..at.saturating_add(size).min(bytes.size()))
}

/// Whether a file with a data size of 0 really contains no records. An interrupted recorder also leaves 0 there, but then
/// records follow instead of the feature table, and their first words, read as section offsets, lie beyond the end of the file.
fn is_without_records(bytes: &FileBytes, header: &FileHeader, bits: &FeatureBits, endian: Endian) -> bool {
    let at = header.data.offset;
    if header.data.size > 0 || at > bytes.size() {
        return false;
    }
    let slots = bits.iter().count();
    if slots == 0 {
        // Recorders write the events before the records. Only a writer that learns them from the records puts them after.
        return at == bytes.size() || header.attrs.size > 0 && header.attrs.offset >= at;
    }
    let Some(table) = feature_table(bytes, at, bits) else { return false };
    let mut table = ByteReader::new(&table, endian);
    let behind = at + (slots * Section::SIZE) as u64;
    (0..slots).all(|_| {
        let section = (|| Some(Section { offset: table.u64()?, size: table.u64()? }))();
        section.is_some_and(|section| section.offset >= behind && slice(bytes, &section).is_some())
    })
}

/// The events, and the offsets of those whose IDs are not in the file.
fn read_attrs(name: &str, bytes: &FileBytes, header: &FileHeader, endian: Endian) -> Result<(Vec<FileAttr>, Vec<u64>)> {
    let fail = |at, problem: String| Error::input(name, at, problem);
    let Some(section) = slice(bytes, &header.attrs) else {
        let problem = format!(
            "the attrs section ({} bytes at offset {:#x}) is outside the file of {} bytes",
            header.attrs.size,
            header.attrs.offset,
            bytes.size()
        );
        return Err(fail(ATTRS_AT, problem));
    };
    let stride = header.attr_size as usize;
    if !section.len().is_multiple_of(stride) {
        let problem = format!(
            "the attrs section is {} bytes, which is not a multiple of the entry size, {stride}",
            section.len()
        );
        return Err(fail(ATTRS_AT, problem));
    }
    // Events that share their ID sections could add up to more than the file.
    let mut room_for_ids = bytes.size();
    let (mut attrs, mut without_ids) = (Vec::with_capacity(section.len() / stride), Vec::new());
    for (index, entry) in section.chunks_exact(stride).enumerate() {
        let at = header.attrs.offset + (index * stride) as u64;
        let room = stride - IDS_SIZE;
        let declared = Attr::declared_size(entry, endian).unwrap_or(room);
        if declared > room {
            let problem =
                format!("attr of event {index} has size {declared}, but its entry has room for only {room} bytes");
            return Err(fail(at, problem));
        }
        // If the two sizes differ, writers disagree on the location of the ID section: after the entry or after the attr.
        let ids = [room, declared].into_iter().find_map(|len| {
            let mut ids_section = ByteReader::new(&entry[len..], endian);
            let ids_section = Section { offset: ids_section.u64()?, size: ids_section.u64()? };
            let ids = slice(bytes, &ids_section)?;
            room_for_ids = room_for_ids.checked_sub(ids_section.size)?;
            Some((len, ByteReader::new(&ids, endian).words(ids_section.size / 8)?.iter().collect()))
        });
        let (len, ids) = ids.unwrap_or_else(|| {
            without_ids.push(at);
            (room, Vec::new())
        });
        let attr = Attr::read(&entry[..len], endian).map_err(|e| fail(at, format!("event {index}: {e}")))?;
        attrs.push(FileAttr { attr, ids });
    }
    Ok((attrs, without_ids))
}
