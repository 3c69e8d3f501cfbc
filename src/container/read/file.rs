//! The file container: a header that says where events, records and features are.

use crate::abi::attr::Attr;
use crate::abi::bytes::Reader;
use crate::abi::feature::FeatureId;
use crate::abi::header::{EventType, FeatureBits, FileHeader, Section};
use crate::abi::{self, Endian};
use crate::container::image::FileImage;
use crate::container::walk::Damage;
use crate::error::{Error, Result};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// An event of a recording: how it was opened, and the ids of its instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAttr {
    /// How it was opened.
    pub attr: Attr,
    /// One id for each CPU or thread that it was opened on.
    pub ids: Vec<u64>,
}

/// What a file holds, and where.
pub struct FileSections {
    /// The events.
    pub attrs: Vec<FileAttr>,
    /// Names of tracepoints, in old files.
    pub event_types: Vec<EventType>,
    /// The records.
    pub data: Range<usize>,
    /// The features.
    pub features: BTreeMap<FeatureId, Bytes>,
    /// Everything but the records, as it is.
    pub image: FileImage,
    /// What is missing or does not fit.
    pub damage: Vec<Damage>,
}

/// Offsets of the header's fields, for messages.
const SIZE_AT: u64 = 8;
const ATTR_SIZE_AT: u64 = 16;
const ATTRS_AT: u64 = 24;
const EVENT_TYPES_AT: u64 = 56;
/// Size of the section that follows each attr and says where its ids are.
const IDS_SIZE: usize = 16;

impl FileSections {
    /// Reads header, events and features of a file.
    ///
    /// # Errors
    /// Where there is nothing to read records with: no whole header, no sound events, no place for records.
    pub fn read(name: &str, bytes: &Bytes, endian: Endian) -> Result<Self> {
        let fail = |at, what: String| Err(Error::input(name, at, what));
        let len = bytes.len() as u64;
        let Ok(header) = FileHeader::read_from(bytes, endian) else {
            return fail(0, format!("the perf.data is cut in its header, after {len} bytes"));
        };
        if header.size != FileHeader::SIZE && header.size != FileHeader::SIZE_WITHOUT_FEATURES {
            return fail(
                SIZE_AT,
                format!("the header says that it takes {} bytes; 104 or 72 would be right", header.size),
            );
        }
        if len < header.size {
            return fail(0, format!("the perf.data is cut in its header, after {len} bytes"));
        }
        if header.attr_size < (Attr::SIZE_VER0 + IDS_SIZE) as u64 {
            let what = format!(
                "the header says that an event takes {} bytes, at least 80 are needed; was perf record ended properly?",
                header.attr_size
            );
            return fail(ATTR_SIZE_AT, what);
        }
        let (attrs, without_ids) = read_attrs(name, bytes, &header, endian)?;
        let is_whole = header.size == FileHeader::SIZE;
        let bits = bytes[FileHeader::SIZE_WITHOUT_FEATURES as usize..].first_chunk().filter(|_| is_whole);
        let bits = FeatureBits::read(bits.unwrap_or(&[0; 32]), endian);
        let is_without_records = is_without_records(bytes, &header, &bits, endian);
        if header.data.offset >= len && !is_without_records {
            return fail(header.data.offset, format!("the file is cut before its first record, after {len} bytes"));
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
            sections.note(
                name,
                at,
                "the ids of the event told here are missing: they would lie outside of the file, or be more than it",
            );
        }
        sections.read_event_types(name, bytes, &header.event_types, endian);
        if is_without_records {
            sections.data = header.data.offset as usize..header.data.offset as usize;
        } else {
            sections.find_data(name, &header, len);
        }
        sections.image.before = bytes.slice(..sections.data.start);
        sections.image.behind = bytes.slice(sections.data.end..);
        sections.image.data = sections.data.len() as u64;
        if header.data.size > 0 || is_without_records {
            sections.read_features(name, bytes, &header.data, bits, endian);
        }
        Ok(sections)
    }

    fn read_event_types(&mut self, name: &str, bytes: &Bytes, section: &Section, endian: Endian) {
        let types = slice(bytes, section).unwrap_or_default();
        let (types, rest) = types.as_chunks::<{ EventType::SIZE }>();
        if !rest.is_empty() || types.is_empty() && section.size > 0 {
            let what = format!(
                "the names of tracepoints told here take {} bytes, which are not all in the file or no multiple of {}",
                section.size,
                EventType::SIZE
            );
            self.note(name, EVENT_TYPES_AT, what);
        }
        let types = types.iter().filter_map(|bytes| abi::parse(bytes, endian, ()).ok());
        self.event_types = types.map(|(event_type, _)| event_type).collect();
    }

    fn find_data(&mut self, name: &str, header: &FileHeader, len: u64) {
        let data = header.data;
        let mut end = data.end();
        if data.size == 0 {
            end = len;
            self.note(
                name,
                data.offset,
                "perf record was killed before it finished the file: all records up to the end are read, and the features \
                 (host, command line, names of the events) are missing",
            );
        } else if end > len {
            let missing = end - len;
            let what = format!("the file is truncated: the last {missing} bytes of its records are missing");
            self.damage.push(Damage::new(name, len, what).with_unread(missing));
            end = len;
        }
        self.data = data.offset as usize..end as usize;
    }

    fn read_features(&mut self, name: &str, bytes: &Bytes, data: &Section, bits: FeatureBits, endian: Endian) {
        let table = usize::try_from(data.end()).ok().and_then(|end| bytes.get(end..));
        let Some(table) = table else { return };
        let mut table = Reader::new(table, endian);
        let mut missing = Vec::new();
        // Sections that lie in each other would be more than the file.
        let mut room = bytes.len() as u64;
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
            let what = format!("the file is cut or its feature table damaged: missing are {}", missing.join(", "));
            self.note(name, data.end(), what);
        }
    }

    fn note(&mut self, file: &str, offset: u64, what: impl Into<String>) {
        self.damage.push(Damage::new(file, offset, what));
    }
}

/// The bytes of a section; `None` where they are not all in the file.
fn slice(bytes: &Bytes, section: &Section) -> Option<Bytes> {
    let (start, end) = (usize::try_from(section.offset).ok()?, usize::try_from(section.end()).ok()?);
    (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
}

/// Whether a file that tells no size of its records has none. A recorder that was killed tells none either; then records stand
/// where the feature table should, and none of them can be taken for one: their sizes would be places far behind the file's end.
fn is_without_records(bytes: &Bytes, header: &FileHeader, bits: &FeatureBits, endian: Endian) -> bool {
    let at = header.data.offset;
    let Some(table) = usize::try_from(at).ok().and_then(|at| bytes.get(at..)).filter(|_| header.data.size == 0) else {
        return false;
    };
    let slots = bits.iter().count();
    if slots == 0 {
        // A recorder writes the events first; who learns them from records, behind these.
        return table.is_empty() || header.attrs.size > 0 && header.attrs.offset >= at;
    }
    let mut table = Reader::new(table, endian);
    let behind = at + (slots * Section::SIZE) as u64;
    (0..slots).all(|_| {
        let section = (|| Some(Section { offset: table.u64()?, size: table.u64()? }))();
        section.is_some_and(|section| section.offset >= behind && slice(bytes, &section).is_some())
    })
}

/// The events, and where in the file those are told whose ids are not in it.
fn read_attrs(name: &str, bytes: &Bytes, header: &FileHeader, endian: Endian) -> Result<(Vec<FileAttr>, Vec<u64>)> {
    let fail = |at, what: String| Error::input(name, at, what);
    let Some(section) = slice(bytes, &header.attrs) else {
        let what = format!(
            "the events should be in the {} bytes at offset {}, but the file has only {} bytes",
            header.attrs.size,
            header.attrs.offset,
            bytes.len()
        );
        return Err(fail(ATTRS_AT, what));
    };
    let stride = header.attr_size as usize;
    if !section.len().is_multiple_of(stride) {
        let what =
            format!("the events take {} bytes, which is not a multiple of {stride}, the size of each", section.len());
        return Err(fail(ATTRS_AT, what));
    }
    // Ids that are told again and again by many events would be more than the file.
    let mut room_for_ids = bytes.len() as u64;
    let (mut attrs, mut without_ids) = (Vec::with_capacity(section.len() / stride), Vec::new());
    for (index, entry) in section.chunks_exact(stride).enumerate() {
        let at = header.attrs.offset + (index * stride) as u64;
        let room = stride - IDS_SIZE;
        let declared = Attr::declared_size(entry, endian).unwrap_or(room);
        if declared > room {
            return Err(fail(at, format!("event {index} says that it takes {declared} bytes, but has only {room}")));
        }
        // Where the two sizes differ, writers disagree on where the ids are told: behind the entry's or the attr's end.
        let found = [room, declared].into_iter().find_map(|len| {
            let mut place = Reader::new(&entry[len..], endian);
            let place = Section { offset: place.u64()?, size: place.u64()? };
            let ids = slice(bytes, &place)?;
            room_for_ids = room_for_ids.checked_sub(place.size)?;
            Some((len, Reader::new(&ids, endian).words(place.size / 8)?.iter().collect()))
        });
        let (len, ids) = found.unwrap_or_else(|| {
            without_ids.push(at);
            (room, Vec::new())
        });
        let attr = Attr::read(&entry[..len], endian).map_err(|e| fail(at, format!("event {index}: {e}")))?;
        attrs.push(FileAttr { attr, ids });
    }
    Ok((attrs, without_ids))
}
